// Counts allocations: a program that includes this header (in one file) replaces malloc, which operator new and every
// library use. For glibc, and not under sanitizers, which replace malloc themselves.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>

inline std::atomic<bool> allocations_count{false};
inline std::atomic<std::size_t> allocations_seen{0};

inline void allocation() noexcept {
  if (allocations_count.load(std::memory_order_relaxed)) allocations_seen.fetch_add(1, std::memory_order_relaxed);
}

// How often anything was allocated, by any thread, while f() ran.
template <class F>
std::size_t allocations_of(F&& f) {
  allocations_seen = 0;
  allocations_count = true;
  f();
  allocations_count = false;
  return allocations_seen;
}

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) noexcept {
  allocation();
  return __libc_malloc(n);
}

void* calloc(std::size_t n, std::size_t size) noexcept {
  allocation();
  return __libc_calloc(n, size);
}

void* realloc(void* p, std::size_t n) noexcept {
  allocation();
  return __libc_realloc(p, n);
}

void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  allocation();
  return __libc_memalign(alignment, n);
}

int posix_memalign(void** p, std::size_t alignment, std::size_t n) noexcept {
  allocation();
  *p = __libc_memalign(alignment, n);
  return *p ? 0 : ENOMEM;
}
}
