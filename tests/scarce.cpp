#include "scarce.hpp"

#include <cerrno>
#include <cstdlib>
#include <new>

namespace stretto::tests {
namespace {

thread_local long left = -1;  // allocations until one fails; negative: none does
thread_local bool counts = false, failed = false;

// True if this allocation must fail.
bool fails() noexcept {
  if (!counts || left < 0 || left-- != 0) return false;
  failed = true;
  return true;
}

void* allocate(std::size_t bytes) noexcept { return fails() ? nullptr : std::malloc(bytes > 0 ? bytes : 1); }

}  // namespace

Scarce::Scarce(long n) noexcept {
  left = n;
  counts = true;
  failed = false;
}
Scarce::~Scarce() { counts = false; }
bool Scarce::struck() const noexcept { return failed; }

Plenty::Plenty() noexcept : before_(counts) { counts = false; }
Plenty::~Plenty() { counts = before_; }

}  // namespace stretto::tests

void* operator new(std::size_t bytes) {
  if (void* p = stretto::tests::allocate(bytes)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return stretto::tests::allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return stretto::tests::allocate(bytes); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }

#ifndef STRETTO_SANITIZED  // sanitizers bring their own
extern "C" {
void* __libc_memalign(std::size_t, std::size_t);

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return stretto::tests::fails() ? nullptr : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** at, std::size_t alignment, std::size_t bytes) noexcept {
  void* const found = stretto::tests::fails() ? nullptr : __libc_memalign(alignment, bytes);
  if (found == nullptr) return ENOMEM;
  *at = found;
  return 0;
}
}
#endif
