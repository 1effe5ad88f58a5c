// Exact sums of verbatim values, after Kulisch's long accumulator: fixed-point numbers wide enough for 2^32 values of
// any size make addition associative.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/stream/format.hpp"

namespace stretto::codec {

template <class T>
class ExactSum {
 public:
  // Units of 2^-kScale; kWords words of magnitude in a stream.
  static constexpr int kScale = sizeof(T) == 4 ? 149 : 1074;
  static constexpr int kWords = sizeof(T) == 4 ? 11 : 69;
  static constexpr std::size_t kMaxBytes = 4 + 4 * kWords;

  ExactSum() noexcept { clear(); }
  void clear() noexcept;
  void add(T x, bool negate = false) noexcept;
  void add_code(std::int64_t code, double width) noexcept;
  void multiply(std::int32_t k) noexcept;

  // In stored form. read_add() returns the bytes read, 0 if malformed or longer than `available`.
  std::size_t read_add(const std::uint8_t* p, std::size_t available, bool negate = false) noexcept;
  std::size_t write(std::uint8_t* out) const noexcept;  // at most kMaxBytes

  int sign() const noexcept;
  std::uint32_t flags() const noexcept { return flags_; }
  T value() const noexcept;
  // Rounded to float64, then to T.
  T mean(std::uint32_t divisor) const noexcept;

 private:
  void add_shifted(std::uint64_t magnitude, int shift, bool negative) noexcept;
  bool magnitude(std::uint32_t* words) const noexcept;  // true if negative
  double rounded(int bits) const noexcept;

  std::uint32_t word_[kWords + 1];
  std::uint32_t flags_;
};

extern template class ExactSum<float>;
extern template class ExactSum<double>;

// 0 if malformed or longer than `available`.
std::size_t exact_sum_bytes(const std::uint8_t* p, std::size_t available, int max_words) noexcept;

}  // namespace stretto::codec
