// The scalar reference for single values (docs/format.md, sections 4 and 5).
#pragma once

#include <cmath>
#include <cstdint>

#include "codec/numbers/grid.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {

inline float dequantise(std::int64_t q, const Grid<float>& g) noexcept {
  return static_cast<float>(static_cast<double>(q) * g.width);
}
inline double dequantise(std::int64_t q, const Grid<double>& g) noexcept { return static_cast<double>(q) * g.width; }

// The exact x - q*w, rounded once.
inline float residue(float x, std::int64_t q, const Grid<float>& g) noexcept {
  return static_cast<float>(static_cast<double>(x) - static_cast<double>(q) * g.width);
}
inline double residue(double x, std::int64_t q, const Grid<double>& g) noexcept {
  return std::fma(-static_cast<double>(q), g.width, x);
}

// x is within the bound of q*w and of the decoded value, which is finite in the caller's type.
template <class T>
bool good(T x, std::int64_t q, const Grid<T>& g) noexcept {
  const T y = dequantise(q, g);
  return std::fabs(residue(x, q, g)) <= g.eps_e && std::fabs(x - y) <= g.eps_y && std::fabs(y) <= g.largest;
}

// By the format's arithmetic; false if there is none.
inline bool nearest_code(float x, const Grid<float>& g, std::int64_t* q) noexcept {
  const double product = static_cast<double>(x) * static_cast<double>(g.r);
  if (std::fabs(product) < 0x1p21) {
    *q = static_cast<std::int64_t>(std::nearbyint(product));
    return true;
  }
  if (!(std::fabs(static_cast<double>(x) * g.R) < 0x1p32)) return false;
  const double n = std::fma(static_cast<double>(x), g.R, 0x1.8p52) - 0x1.8p52;
  *q = static_cast<std::int64_t>(n);
  return std::fabs(n) <= static_cast<double>(kNarrowLimit);
}
inline bool nearest_code(double x, const Grid<double>& g, std::int64_t* q) noexcept {
  if (!(std::fabs(x * g.r) < 0x1p51)) return false;
  *q = static_cast<std::int64_t>(std::fma(x, g.r, 0x1.8p52) - 0x1.8p52);
  return true;
}

template <class T>
bool quantise(T x, const Grid<T>& g, std::int64_t* q) noexcept {
  if (!nearest_code(x, g, q)) return false;
  if (good(x, *q, g)) return true;
  *q += residue(x, *q, g) < 0 ? -1 : 1;
  if constexpr (sizeof(T) == 4) {
    if (*q > static_cast<std::int64_t>(kNarrowLimit) || *q < -static_cast<std::int64_t>(kNarrowLimit)) return false;
  }
  return good(x, *q, g);
}

}  // namespace stretto::codec
