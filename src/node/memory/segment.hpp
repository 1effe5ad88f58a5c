// Memory shared by all ranks of a group: a memfd of rank 0, sealed against resizing. Threads of one process share the
// mapping. A forked child does not inherit it.
#pragma once

#include <cstddef>
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

// Collective. `bytes` zero bytes, page aligned, on every rank.
Status make_segment(Exchange& exchange, std::size_t bytes, Passing passing, std::shared_ptr<Mapping>* segment) noexcept;

// An anonymous file, sealed against resizing. Empty with errno.
Descriptor make_memory(const char* name, std::size_t bytes) noexcept;

// Random identity of a process, unique across containers; a forked child draws its own.
Status process_token(Token* token) noexcept;

}  // namespace stretto::node
