#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace stretto::codec {

__extension__ using Unsigned128 = unsigned __int128;

inline int leading_zeros(Unsigned128 v) noexcept {
  const auto high = static_cast<std::uint64_t>(v >> 64);
  return high ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(v));
}

// v * 2^exponent / n, rounded once to float64, ties to even. `more`: the true value exceeds v by a fraction of one; v's
// leading bit is then set.
inline double quotient(Unsigned128 v, bool more, int exponent, std::uint32_t n) noexcept {
  if (v == 0) return 0;
  const int zeros = leading_zeros(v), lead = std::countl_zero(std::uint64_t{n});
  v <<= zeros;
  const std::uint64_t divisor = std::uint64_t{n} << lead;
  const auto q = static_cast<std::uint64_t>((v >> 1) / divisor);
  exponent += lead + 1 - zeros;
  const int drop = std::max(11 - std::countl_zero(q), -1074 - exponent);
  if (drop > 64) return 0;
  std::uint64_t kept = drop == 64 ? 0 : q >> drop;
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  more = more || (v & 1) || Unsigned128{q} * divisor != v >> 1 || (q & (half - 1));
  if ((q & half) && (more || (kept & 1))) ++kept;
  return std::ldexp(static_cast<double>(kept), exponent + drop);
}

// No part of a quotient overflows or is denormal.
constexpr bool is_usual_width(double width) noexcept { return width > 0x1p-900 && width < 0x1p992; }

// code * width / n, rounded once.
class CodeMean {
 public:
  CodeMean(double width, std::uint32_t n) noexcept
      : width_(width), n_(n), divisor_(n), inverse_(1 / divisor_), usual_(is_usual_width(width)) {
    factor_ = static_cast<std::uint64_t>(std::ldexp(std::frexp(width, &exponent_), 53));
    exponent_ -= 53;
  }
  double operator()(std::int64_t code) const noexcept {
    const bool negative = code < 0;
    const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(code) : static_cast<std::uint64_t>(code);
    if (usual_ && size <= std::uint64_t{1} << 53) {
      const double q = static_cast<double>(code), v = q * width_, near = v * inverse_;
      const double rest = (std::fma(-near, divisor_, v) + std::fma(q, width_, -v)) * inverse_;
      // `rest` has a relative error below 2^-50. The slow path decides open roundings, as at halves.
      const double low = near + rest * (1 - 0x1p-50), high = near + rest * (1 + 0x1p-50);
      if (low == high) return low;
    }
    const double v = quotient(Unsigned128{size} * factor_, false, exponent_, n_);
    return negative ? -v : v;
  }

 private:
  double width_;
  std::uint32_t n_;
  double divisor_, inverse_;
  bool usual_;
  int exponent_ = 0;
  std::uint64_t factor_ = 0;  // width = factor_ * 2^exponent_
};

}  // namespace stretto::codec
