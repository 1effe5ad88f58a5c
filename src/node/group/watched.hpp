#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "node/arena/anonymous.hpp"
#include "node/memory/handle.hpp"

namespace stretto::node {

// Watched by a pidfd, shared by all groups. If the program closed it, the process' state is unknown, and the number is
// the program's.
class WatchedProcess {
 public:
  explicit WatchedProcess(Descriptor process) noexcept;
  WatchedProcess(const WatchedProcess&) = delete;
  WatchedProcess& operator=(const WatchedProcess&) = delete;
  ~WatchedProcess();
  bool has_ended() const noexcept;  // also true before it is reaped

 private:
  bool still_ours() const noexcept;

  Descriptor process_;
  arena::Identity which_;
};

// `token` is the process' process_token(). Null if it cannot be watched: before Linux 5.3, out of memory, or beyond a
// quarter of the soft RLIMIT_NOFILE. Waits for it end by their limit alone.
std::shared_ptr<const WatchedProcess> watch_process(pid_t pid, const Token& token) noexcept;

struct Peer {
  int rank;
  pid_t pid;
  std::shared_ptr<const WatchedProcess> process;  // not null
};

// "rank 1 (process 4711) has ended" for each. Thread safe.
std::string ended(const std::vector<Peer>& peers);

}  // namespace stretto::node
