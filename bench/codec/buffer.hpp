// Memory for benchmarks: aligned to 2 MiB, in huge pages if available, and touched before any timing.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>

namespace stretto::bench {

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(p_); }

  // Grows to at least `bytes`, which loses the contents.
  void reserve(std::size_t bytes) {
    if (bytes <= bytes_) return;
    constexpr std::size_t page = std::size_t{2} << 20U;
    std::free(p_);
    bytes_ = (bytes + page - 1) / page * page;
    p_ = std::aligned_alloc(page, bytes_);
    if (p_ == nullptr) {
      bytes_ = 0;
      throw std::bad_alloc();
    }
    madvise(p_, bytes_, MADV_HUGEPAGE);
    std::memset(p_, 1, bytes_);
  }

  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(p_), bytes_}; }
  template <class T>
  T* as() const {
    return static_cast<T*>(p_);
  }

 private:
  void* p_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace stretto::bench
