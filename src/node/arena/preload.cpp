// libstretto_arena.so (arena.hpp). Preloaded, it serves large allocations from the arena. C++ new comes through malloc.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "node/arena/region.hpp"

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

using stretto::node::arena::bytes_from;
using stretto::node::arena::Interface;
using stretto::node::arena::Region;
using stretto::node::arena::SettingError;
using stretto::node::arena::Statistics;

// Allocations during the arena's creation use the C library. initial-exec: the first access allocates nothing.
[[gnu::tls_model("initial-exec")]] thread_local bool inside = false;

void complain(const SettingError& about) noexcept {
  if (*about.text != '\0') dprintf(STDERR_FILENO, "stretto arena: %s\n", about.text);
}

Region& arena() noexcept {
  static Region& made = []() -> Region& {
    Region& r = Region::mine();
    complain(r.setting_error());
    return r;
  }();
  return made;
}

size_t smallest() noexcept {
  static const size_t bytes = [] {
    inside = true;
    SettingError wrong;
    const auto asked = static_cast<size_t>(bytes_from("STRETTO_ARENA_MIN", 65536, &wrong));
    complain(wrong);
    inside = false;
    return std::max<size_t>(asked, 4096);
  }();
  return bytes;
}

void* from_arena(size_t bytes, size_t alignment, size_t* zeroed = nullptr) noexcept {
  if (bytes < 4096 || inside || bytes < smallest()) return nullptr;
  inside = true;
  void* at = arena().allocate(bytes, alignment, zeroed);
  inside = false;
  return at;
}

bool is_ours(const void* at) noexcept {
  const Region* made = Region::made();
  return made != nullptr && made->owns(at);
}

void* aligned(size_t alignment, size_t bytes) noexcept {
  if (void* at = from_arena(bytes, std::max<size_t>(alignment, 1))) return at;
  return __libc_memalign(alignment, bytes);
}

bool power_of_two(size_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

[[gnu::destructor]] void report() {
  const char* wanted = secure_getenv("STRETTO_ARENA_REPORT");
  if (wanted == nullptr || strcmp(wanted, "1") != 0) return;
  const Statistics s = Region::made() != nullptr ? Region::made()->statistics() : Statistics{};
  dprintf(STDERR_FILENO,
          "stretto arena: process %d, %llu allocations, %llu refused, %llu bytes in use, %llu at most, of %llu\n",
          static_cast<int>(getpid()), static_cast<unsigned long long>(s.allocations),
          static_cast<unsigned long long>(s.refused), static_cast<unsigned long long>(s.used),
          static_cast<unsigned long long>(s.peak), static_cast<unsigned long long>(s.bound));
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] const Interface* stretto_arena_interface() {
  return &stretto::node::arena::interface_of_mine();
}

[[gnu::visibility("default")]] void* malloc(size_t bytes) {
  if (void* at = from_arena(bytes, 1)) return at;
  return __libc_malloc(bytes);
}

[[gnu::visibility("default")]] void free(void* at) {
  const int before = errno;
  if (is_ours(at))
    Region::mine().release(at);
  else
    __libc_free(at);
  errno = before;
}

[[gnu::visibility("default")]] void* calloc(size_t count, size_t size) {
  size_t bytes = 0, zeroed = 0;
  if (!__builtin_mul_overflow(count, size, &bytes)) {
    if (void* at = from_arena(bytes, 1, &zeroed)) {
      // Only memory used before needs clearing.
      const size_t whole = (bytes + stretto::node::arena::Heap::kUnit - 1) / stretto::node::arena::Heap::kUnit *
                           stretto::node::arena::Heap::kUnit;
      memset(at, 0, std::min(bytes, whole - zeroed));
      return at;
    }
  }
  return __libc_calloc(count, size);
}

[[gnu::visibility("default")]] void* realloc(void* at, size_t bytes) {
  if (at == nullptr) return malloc(bytes);
  if (!is_ours(at)) return __libc_realloc(at, bytes);  // a block that began in the C library stays there
  if (bytes == 0) {
    free(at);
    return nullptr;
  }
  if (bytes >= smallest() && Region::mine().resize(at, bytes)) return at;
  void* moved = malloc(bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, at, std::min(bytes, Region::mine().usable(at)));
  free(at);
  return moved;
}

[[gnu::visibility("default")]] void* memalign(size_t alignment, size_t bytes) { return aligned(alignment, bytes); }

[[gnu::visibility("default")]] void* aligned_alloc(size_t alignment, size_t bytes) {
  if (!power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return aligned(alignment, bytes);
}

[[gnu::visibility("default")]] int posix_memalign(void** at, size_t alignment, size_t bytes) {
  if (!power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  void* found = aligned(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *at = found;
  return 0;
}

[[gnu::visibility("default")]] void* valloc(size_t bytes) {
  return aligned(static_cast<size_t>(sysconf(_SC_PAGESIZE)), bytes);
}

[[gnu::visibility("default")]] size_t malloc_usable_size(void* at) {
  if (is_ours(at)) return Region::mine().usable(at);
  using Function = size_t (*)(void*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return next != nullptr ? next(at) : 0;
}
}
