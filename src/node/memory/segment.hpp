// Memory shared by all ranks of a group: a memfd of rank 0, sealed against resizing. Threads of one process share the
// mapping, and need no file. A forked child does not inherit it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/forks.hpp"
#include "base/status.hpp"
#include "node/memory/handle.hpp"

namespace stretto::node {

class Mapping {
 public:
  Mapping(void* at, std::size_t bytes) noexcept;
  // Out of memory: unmaps the range and returns null.
  static std::shared_ptr<Mapping> own(void* at, std::size_t bytes) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  std::byte* data() const noexcept { return at_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* at_;
  std::size_t bytes_;
  unsigned generation_;
};

// Travels among the facts that ranks exchange before they map the segment.
struct SegmentOffer {
  Token process{};
  Offer memory;                // rank 0's; without a descriptor, `error` tells why
  std::int32_t error = 0;      // errno
  std::uintptr_t mapping = 0;  // in rank 0's process
};

// Zero bytes, page aligned, on every rank.
class SegmentMaker {
 public:
  // Rank 0 makes the memory. A failure is this rank's alone.
  Status offer(const Exchange& exchange, std::size_t bytes, SegmentOffer* mine) noexcept;

  // Collective, after the exchange of offers. `first`: rank 0's.
  Status map(Exchange& exchange, SegmentOffer first, Passing passing, std::shared_ptr<Mapping>* segment) noexcept;

 private:
  Status map_memory(int fd) noexcept;

  std::size_t bytes_ = 0;
  Token process_{};
  Descriptor memory_;  // rank 0's
  std::shared_ptr<Mapping> segment_;
};

// An anonymous file, sealed against resizing. Empty with errno.
Descriptor make_memory(const char* name, std::size_t bytes) noexcept;

// Random identity of a process, unique across containers; a forked child draws its own.
Status process_token(Token* token) noexcept;

}  // namespace stretto::node
