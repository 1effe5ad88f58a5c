// The lowest bit of a byte comes first.
#pragma once

#include "codec/dense/layout.hpp"

namespace stretto::codec::dense {

// Touches up to 8 bytes behind the result of finish().
class BitWriter {
 public:
  explicit BitWriter(std::uint8_t* p) noexcept : begin_(p), p_(p) {}
  // v < 2^n, n at most 32.
  void put(std::uint64_t v, int n) noexcept {
    held_ |= v << bits_;
    bits_ += n;
    store(p_, held_);
    p_ += bits_ / 8;
    held_ >>= bits_ & ~7;
    bits_ &= 7;
  }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(p_ - begin_) + (bits_ > 0); }
  // Fills the last byte with zeros.
  std::size_t finish() noexcept {
    store(p_, held_);
    return bytes();
  }
  // Public for kernels that keep these in registers.
  std::uint8_t* begin_;
  std::uint8_t* p_;
  std::uint64_t held_ = 0;
  int bits_ = 0;
};

// Bits behind the end read as 0, and finish() is 0.
class BitReader {
 public:
  BitReader(const std::uint8_t* p, const std::uint8_t* end) noexcept
      : p_(p), size_(8 * static_cast<std::uint64_t>(end - p)) {}
  // n at most 32.
  std::uint32_t take(int n) noexcept {
    std::uint64_t v = 0;
    const std::uint64_t last = (at_ + static_cast<std::uint64_t>(n) + 7) / 8;
    for (std::uint64_t i = at_ / 8, shift = 0; i < last && 8 * i < size_; ++i, shift += 8)
      v |= std::uint64_t{p_[i]} << shift;
    v >>= at_ % 8;
    at_ += static_cast<std::uint64_t>(n);
    return static_cast<std::uint32_t>(v & ((std::uint64_t{1} << n) - 1));
  }
  // 0: there were not as many.
  std::size_t finish() const noexcept { return at_ <= size_ ? static_cast<std::size_t>((at_ + 7) / 8) : 0; }

 private:
  const std::uint8_t* p_;
  std::uint64_t size_, at_ = 0;
};

}  // namespace stretto::codec::dense
