// A stream's grid and thresholds (docs/format.md, section 5).
#pragma once

#include <bit>
#include <cstdint>

#include "codec/codec.hpp"

namespace stretto::codec {

// Integers use width 1 and no thresholds.
template <class T>
struct Grid {
  double eps = 0, width = 0;
  T w = 0;
  T r = 0;
  double R = 0;
  T eps_y = 0;             // limit of rounded |x - y|, so that the exact difference is within eps
  T eps_e = 0;             // limit of |x - q w|, with room for the rounding of sums
  T largest = 0;           // larger |y| are infinite in the caller's type
  double finite_code = 0;  // codes up to this magnitude decode to finite numbers
  // Codes up to this magnitude are good without a check (0: none). Let w be below 2 eps by the margin h, and u = 2^-24
  // or 2^-53. |x - y| <= w/2 + 2 |q| w u is below eps (1 - 2^-15) if |q| <= (h - 2^-14) / (4 u) and |y| <= largest.
  double safe_code = 0;    // float32: at most 8,191, so that second differences fit 16 bits
  double safe_code32 = 0;  // at most 2^21 - 1 for float32, 2^31 - 1 for float64
  // fixed or dense: by whose costs the order of prediction is chosen.
  Coding orders = Coding::fixed;
};

// width / n is exact in T: a mean over n contributions has the codes of their sum on the finer grid.
template <class T>
bool divides_exactly(double width, std::uint32_t n) noexcept {
  const double finer = width / n;
  return std::has_single_bit(n) && finer * n == width && static_cast<double>(static_cast<T>(finer)) == finer;
}

double grid_width(Type t, double eps, double magnitude) noexcept;

template <class T>
Grid<T> make_grid(Type t, double eps, double width) noexcept;

}  // namespace stretto::codec
