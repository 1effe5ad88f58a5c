// The bound of a decoded value, in exact arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "../codec/sums/exactly.hpp"
#include "codec/codec.hpp"
#include "codec/numbers/half.hpp"

namespace stretto::codec {

inline float widened(Type t, std::uint16_t h) { return t == Type::f16 ? widen_f16(h) : widen_bf16(h); }

// True if a decoded value keeps the bound, plus half a unit in the last place for halves. Integers have no bound.
template <class T>
bool kept(Type, T x, T y, double eps) {
  if constexpr (std::is_integral_v<T>)
    return false;
  else
    return std::isfinite(x) && std::isfinite(y) && within(x, y, eps);
}
inline bool kept(Type t, std::uint16_t x, std::uint16_t y, double eps) {
  const double a = static_cast<double>(widened(t, x)), b = static_cast<double>(widened(t, y));
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  const int last = t == Type::f16 ? 11 : 8,
            least = t == Type::f16 ? -25 : -134;  // half a unit of 1, and of the least number
  const double unit = std::ldexp(1, std::max(least, b == 0 ? least : std::ilogb(b) - last));
  return std::fabs(a - b) <= (eps + unit) * (1 + 0x1p-50);  // in float64, which rounds the difference of bfloat16
}

}  // namespace stretto::codec
