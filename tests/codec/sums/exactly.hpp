// Comparisons in exact arithmetic, independent of the library's own.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace stretto::codec {

// |x - y| <= eps, exactly, for finite x and y and eps > 0. The difference is s + t exactly (Knuth's two-sum, in a type
// that cannot overflow), with s the nearest number: so it exceeds eps if s does, and if s equals eps the sign of t
// decides.
template <class T>
bool within(T x, T y, double eps) {
  using W = std::conditional_t<sizeof(T) == 4, double, long double>;
  const volatile W a = x, b = -static_cast<W>(y);
  const volatile W s = a + b;
  const volatile W part = s - a;
  const volatile W rest = s - part;
  const W t = (a - rest) + (b - part);
  const W size = s < 0 ? -s : s, low = s < 0 ? -t : t;
  return size < eps || (size == eps && low <= 0);
}

template <class T>
bool same_bits(T x, T y) {
  return std::memcmp(&x, &y, sizeof x) == 0;
}

// An exact sum of numbers m * 2^e: fixed point from 2^-1280 on, each limb of 32 bits in 64, so that carries can be
// delayed.
class Exact {
 public:
  void add(double v, bool negate = false) {
    int e = 0;
    const double m = std::frexp(negate ? -v : v, &e);
    add_scaled(static_cast<std::int64_t>(std::ldexp(m, 53)), e - 53);
  }
  // += m * 2^e with |m| <= 2^62, e >= -1280.
  void add_scaled(std::int64_t m, int e) {
    const bool negative = m < 0;
    const auto u = negative ? 0 - static_cast<std::uint64_t>(m) : static_cast<std::uint64_t>(m);
    const int at = (e + 1280) / 32, by = (e + 1280) % 32;
    const std::uint64_t low = (u & 0xffffffff) << by, high = (u >> 32) << by;
    const std::int64_t parts[3] = {static_cast<std::int64_t>(low & 0xffffffff),
                                   static_cast<std::int64_t>((low >> 32) + (high & 0xffffffff)),
                                   static_cast<std::int64_t>(high >> 32)};
    for (int i = 0; i < 3; ++i) limb_[static_cast<std::size_t>(at + i)] += negative ? -parts[i] : parts[i];
  }
  // -1, 0 or 1.
  int sign() {
    std::int64_t carry = 0;
    for (auto& l : limb_) {
      l += carry;
      carry = l >> 32;
      l &= 0xffffffff;
    }
    limb_.back() += carry * (std::int64_t{1} << 32);
    if (limb_.back() < 0) return -1;
    for (const auto l : limb_)
      if (l) return 1;
    return 0;
  }
  Exact operator-() const {
    Exact r;
    for (std::size_t i = 0; i < limb_.size(); ++i) r.limb_[i] = -limb_[i];
    return r;
  }
  Exact& operator+=(const Exact& b) {
    for (std::size_t i = 0; i < limb_.size(); ++i) limb_[i] += b.limb_[i];
    return *this;
  }

 private:
  std::array<std::int64_t, 80> limb_{};
};

// Adds half a unit in the last place of y.
template <class T>
void add_half_ulp(Exact& sum, T y) {
  int e = 0;
  std::frexp(y, &e);
  constexpr int lowest = std::numeric_limits<T>::min_exponent;
  sum.add_scaled(1, (y == 0 || e < lowest ? lowest : e) - std::numeric_limits<T>::digits - 1);
}

// Half an ulp of a mean, which reaches float32 through float64: there the half grows by its 2^-29th.
template <class T>
void add_half_ulp_of_mean(Exact& sum, T y) {
  add_half_ulp(sum, y);
  if (sizeof(T) == 4) add_half_ulp(sum, static_cast<double>(y));
}

}  // namespace stretto::codec
