// XPMEM, if this machine has it: a kernel module that maps another process's memory, used through its library libxpmem, which is
// loaded at run time. A process exposes its whole address space once; peers attach ranges of it, which stay attached and are found
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace stretto::node {

class Xpmem {
 public:
  // Null, and *why says so, where there is no library of this name, no module, or no right to use it.
  static std::unique_ptr<Xpmem> load(const char* library, std::string* why);
  ~Xpmem();

  std::int64_t segment() const noexcept { return segment_; }  // of this process, for its peers

  // Peers, in order; each segment is opened. False, and *why says so, if one cannot be.
  bool open(const std::vector<std::int64_t>& segments, std::string* why);

  // Where this range of a peer is here, attached if it was not; null when it cannot be attached. Of attachments only
  // the limit() used last are kept, so what reach() returned is valid until as many other ranges have been reached.
  // Attachments need no invalidation by us: where a peer gives memory back, the module takes its pages out of all
  // attachments. A later access gets what the peer has at these addresses by then.
  std::byte* reach(int peer, std::uint64_t address, std::size_t bytes) noexcept;

  std::size_t attached() const noexcept { return attachments_.size(); }

  // A few ranges of every peer.
  std::size_t limit() const noexcept { return 64 + 4 * permits_.size(); }

 private:
  struct Calls;
  struct Attachment {
    int peer;
    std::uint64_t first, end;  // the peer's addresses, whole pages
    std::byte* here;
  };
  Xpmem() = default;

  std::unique_ptr<Calls> calls_;
  std::int64_t segment_ = -1;
  std::vector<std::int64_t> permits_;  // by peer
  std::list<Attachment> attachments_;  // used last first
};

}  // namespace stretto::node
