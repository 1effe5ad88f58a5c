// Processes whose end this one wants to learn of: a descriptor each, shared by all groups that the process is a peer in.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "node/arena/anonymous.hpp"
#include "node/memory/handle.hpp"

namespace stretto::node {

// A process that is watched by a pidfd. Where the program closed that, and maybe gave its number to a file of its own, nothing is known of
// the process any more, and the number is the program's.
class Watched {
 public:
  explicit Watched(Descriptor process) noexcept;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched();
  bool has_ended() const noexcept;  // also while it waits to be reaped

 private:
  bool still_ours() const noexcept;

  Descriptor process_;
  arena::Identity which_;
};

// `token` is the process's process_token(). Null where it cannot be watched: before Linux 5.3, without memory for it, or where these descriptors
// would be more than a quarter of those that this process may open (the soft RLIMIT_NOFILE): the rest are the program's. A wait for such a
// process has its limit alone.
std::shared_ptr<const Watched> watch_process(pid_t pid, const Token& token) noexcept;

struct Peer {
  int rank;
  pid_t pid;
  std::shared_ptr<const Watched> process;  // not null
};

// "rank 1 (process 4711) has ended" of each that has. By any thread.
std::string ended(const std::vector<Peer>& peers);

}  // namespace stretto::node
