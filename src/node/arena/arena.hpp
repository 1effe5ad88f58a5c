// The process' arena (docs/node.md, "The arena"): memory for large allocations in one memfd, which a peer maps once.
// Made on first use. Before fork() returns in the parent, the child gets a copy of all allocations, and an arena that
// allocates nothing new.
#pragma once

#include <cstddef>
#include <cstdint>

#include "node/arena/anonymous.hpp"

namespace stretto::node::arena {

struct View {
  std::byte* base = nullptr;
  std::size_t bytes = 0;  // 0: no arena, or a forked child
};

struct File {
  // Owned by the caller. -1: no arena, or the program closed the descriptor; existing mappings stay valid.
  int fd = -1;
  Identity which;
};

struct Statistics {
  std::uint64_t allocations = 0;
  std::uint64_t refused = 0;
  std::uint64_t used = 0;
  std::uint64_t peak = 0;
  std::uint64_t bound = 0;
};

View view() noexcept;
File file() noexcept;
const char* remark() noexcept;  // why there is no arena, or an error in a setting; "" if neither

// `alignment` is a power of two. Null: no room. *zeroed: at least so many bytes at the allocation's end were never used
// and are zero.
void* allocate(std::size_t bytes, std::size_t alignment, std::size_t* zeroed = nullptr) noexcept;
bool owns(const void* at) noexcept;
void release(void* at) noexcept;
std::size_t usable(const void* at) noexcept;
bool resize(void* at, std::size_t bytes) noexcept;  // in place; false if the allocation must move
Statistics statistics() noexcept;

// Exported by libstretto_arena.so as stretto_arena_interface.
struct Interface {
  View (*view)() noexcept;
  File (*file)() noexcept;
  const char* (*remark)() noexcept;
  void* (*allocate)(std::size_t, std::size_t, std::size_t*) noexcept;
  bool (*owns)(const void*) noexcept;
  void (*release)(void*) noexcept;
  std::size_t (*usable)(const void*) noexcept;
  bool (*resize)(void*, std::size_t) noexcept;
  Statistics (*statistics)() noexcept;
};

}  // namespace stretto::node::arena
