#include "codec/numbers/grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/numbers/half.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace {

double hair(double eps, double magnitude, double unit) noexcept {
  const double wanted = magnitude > 0 ? std::min(0.25, magnitude / eps * unit) : 0;
  return std::max(0x1p-9, wanted);
}

// v > 0
double round_down(double v, int bits) noexcept {
  int e = 0;
  const double m = std::frexp(v, &e);
  return std::ldexp(std::floor(std::ldexp(m, bits)), e - bits);
}

float largest_float_at_most(double v) noexcept {
  if (v >= std::numeric_limits<float>::max()) return std::numeric_limits<float>::max();
  const float f = static_cast<float>(v);
  return static_cast<double>(f) > v ? std::nextafterf(f, 0.0f) : f;
}

}  // namespace

double grid_width(Type t, double eps, double magnitude) noexcept {
  if (is_integer(t)) return 1;
  const bool wide = t == Type::f64;
  const double h = hair(eps, magnitude, wide ? 0x1p-51 : 0x1p-22);
  const double half = eps * (1 - h);
  if (wide) return std::clamp(half > 0x1p1021 ? 0x1p1022 : 2 * half, 0x1p-1022, 0x1p1022);
  return std::clamp(round_down(half, 22), 0x1p-127, 0x1p125) * 2;
}

template <>
Grid<float> make_grid<float>(Type t, double eps, double width) noexcept {
  Grid<float> g;
  g.largest = t == Type::f16 ? kLargestToF16 : t == Type::bf16 ? kLargestToBf16 : std::numeric_limits<float>::max();
  g.eps = eps;
  g.width = width;
  g.w = static_cast<float>(width);
  g.r = static_cast<float>(1 / width);
  g.R = 1 / width;
  g.eps_y = std::nextafterf(largest_float_at_most(eps), 0.0f);
  g.eps_e = largest_float_at_most(eps * (1 - 0x1p-16));
  // A foreign stream may have another margin. The proof needs 22 significant bits.
  const double h = 1 - width / eps / 2;
  // The quotient's error is far below half a unit in the last place of the product.
  g.finite_code = std::floor(static_cast<double>(g.largest) / width);
  if (h > 0x1p-14 && eps < 0x1p126 && round_down(width, 22) == width)
    g.safe_code32 = std::floor(std::min({0x1p21 - 1, (std::min(h, 0.25) - 0x1p-14) * 0x1p22, g.finite_code}));
  g.safe_code = std::min(8191.0, g.safe_code32);
  return g;
}

template <>
Grid<double> make_grid<double>(Type, double eps, double width) noexcept {
  Grid<double> g;
  g.largest = std::numeric_limits<double>::max();
  g.finite_code = std::floor(g.largest / width);
  g.eps = eps;
  g.width = g.w = width;
  g.r = g.R = 1 / width;
  g.eps_y = std::nextafter(eps, 0.0);
  g.eps_e = eps * (1 - 0x1p-16);
  const double h = 1 - width / eps / 2;
  if (h > 0x1p-14 && width > 0x1p-960 && width < 0x1p960)
    g.safe_code32 = std::floor(std::min(double{0x7fffffff}, (std::min(h, 0.25) - 0x1p-14) * 0x1p51));
  g.safe_code = g.safe_code32;
  return g;
}

}  // namespace stretto::codec
