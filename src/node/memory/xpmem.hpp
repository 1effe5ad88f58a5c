// XPMEM: a kernel module that maps another process' memory, used through libxpmem. A process exposes its whole address
// space once. Peers attach ranges of it.
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
  // Null, with the reason: no library, no module, or no right to use it.
  static std::unique_ptr<Xpmem> load(const char* library, std::string* why);
  ~Xpmem();

  std::int64_t segment() const noexcept { return segment_; }

  // In rank order. False, with the reason: one fails.
  bool open(const std::vector<std::int64_t>& segments, std::string* why);

  // Local address of a peer's range, attached if needed; null if that fails. Keeps the limit() last used attachments: a
  // result is valid until as many other ranges have been reached. When a peer unmaps memory, the module removes its
  // pages, and later accesses see the new memory.
  std::byte* reach(int peer, std::uint64_t address, std::size_t bytes) noexcept;

  std::size_t attached() const noexcept { return attachments_.size(); }

  // a few per peer
  std::size_t limit() const noexcept { return 64 + 4 * permits_.size(); }

 private:
  struct Calls;
  struct Attachment {
    int peer;
    std::uint64_t first, end;
    std::byte* here;
  };
  Xpmem() = default;

  std::unique_ptr<Calls> calls_;
  std::int64_t segment_ = -1;
  std::vector<std::int64_t> permits_;
  std::list<Attachment> attachments_;  // most recently used first
};

}  // namespace stretto::node
