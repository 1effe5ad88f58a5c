// One piece of memory that all ranks of a group see: anonymous, so that nothing is left in any file system by any death.
//
// Between processes it is a memfd of rank 0, sealed against resizing, which every other rank maps; ranks that are threads of
// one process simply share the mapping. A forked child does not inherit it.
#pragma once

#include <cstddef>
#include <memory>

#include "base/forks.hpp"
#include "base/status.hpp"
#include "node/memory/handle.hpp"

namespace stretto::node {

class Mapping {
 public:
  // Owns what mmap gave; it is not there in a forked child.
  Mapping(void* at, std::size_t bytes) noexcept;
  // The same, shared; null, and unmapped, where there is no memory for it.
  static std::shared_ptr<Mapping> own(void* at, std::size_t bytes) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();
  std::byte* data() const noexcept { return at_; }
  std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* at_;
  std::size_t bytes_;
  unsigned generation_;  // of the process that has it
};

// Collective. The same zeroed memory of `bytes` bytes on every rank; page aligned.
Status make_segment(Exchange& exchange, std::size_t bytes, Passing passing, std::shared_ptr<Mapping>* segment) noexcept;

// An anonymous file of this length that can be mapped, sealed against resizing; empty, with errno, on failure.
Descriptor make_memory(const char* name, std::size_t bytes) noexcept;

// Tells processes apart, also between containers: random, drawn once a process (and once more in a forked child). Fails as random_token().
Status process_token(Token* token) noexcept;

}  // namespace stretto::node
