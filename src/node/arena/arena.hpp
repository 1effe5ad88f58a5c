// The arena of this process: memory for large allocations that lies in one memfd, so that a peer which maps that file once sees all
// of it.
//
// A process has one, made when it is first asked for: that of libstretto_arena.so where it is preloaded (then all large allocations
// of the program lie there), otherwise our own, for buffers that a program asks for. It is bounded; when it is full allocate() says
// so and the caller turns to the system. No file has a name, so nothing is left by any death of the process.
//
// fork: the child gets its own copy of what is allocated, made before fork() returns in the parent, and an arena that gives nothing
// new: what either writes afterwards the other never sees, as with any memory. (vfork and posix_spawn copy nothing.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "node/arena/anonymous.hpp"

namespace stretto::node::arena {

struct View {
  std::byte* base = nullptr;
  std::size_t bytes = 0;  // 0: there is none, or this is a forked child
};

// What a peer maps.
struct File {
  int fd =
      -1;  // the caller closes it; -1: there is none, or the program closed ours, and who has it mapped goes on alone
  Identity which;  // of the arena, in either case
};

struct Statistics {
  std::uint64_t allocations = 0;  // served so far
  std::uint64_t refused = 0;      // because the arena was full or there is none
  std::uint64_t used = 0;         // bytes now
  std::uint64_t peak = 0;
  std::uint64_t bound = 0;
};

View view() noexcept;
File file() noexcept;
const char* remark() noexcept;  // why there is none, or what was wrong with a setting of it; "" otherwise

// `alignment`: a power of two. Null when there is no room. *zeroed: at least so many bytes from the end of the allocation were
// never used and are zero.
void* allocate(std::size_t bytes, std::size_t alignment, std::size_t* zeroed = nullptr) noexcept;
bool owns(const void* at) noexcept;
void release(void* at) noexcept;
std::size_t usable(const void* at) noexcept;        // bytes of the allocation that starts there
bool resize(void* at, std::size_t bytes) noexcept;  // where it is; false when it must move
Statistics statistics() noexcept;

// The functions above as libstretto_arena.so offers them to the library, by the name stretto_arena_interface.
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
