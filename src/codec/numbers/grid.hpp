// The grid of a stream: its width and the thresholds that decide whether a code is good (docs/format.md, section 5).
#pragma once

#include "codec/codec.hpp"

namespace stretto::codec {

// For T float or double. Integers use a grid of width 1 and no thresholds.
template <class T>
struct Grid {
  double eps = 0, width = 0;
  T w = 0;                 // width
  T r = 0;                 // 1 / width, rounded
  double R = 0;            // 1 / width, rounded to float64
  T eps_y = 0;             // |x - y| rounded must not exceed this for the exact difference to be within eps
  T eps_e = 0;             // threshold for |x - q w|, with room for the rounding of sums
  T largest = 0;           // |y| beyond it is infinite in the caller's type
  double finite_code = 0;  // codes whose magnitude is at most this decode to finite numbers
  // Codes up to this magnitude are good without a check (0: none). With h the margin by which w is less than 2 eps: |x
  // - y| <= w/2 + 2 |q| w u, u = 2^-24 or 2^-53, which is below eps (1 - 2^-15) as long as |q| <= (h - 2^-14) / (4 u)
  // and |y| <= largest.
  double safe_code = 0;    // float32: at most 8,191, so that second differences fit 16 bits
  double safe_code32 = 0;  // without that limit: at most 2^21 - 1 for float32, 2^31 - 1 for float64
};

// Width for bound eps; `magnitude` as in Options.
double grid_width(Type t, double eps, double magnitude) noexcept;

// The grid of a stream of values of type t with this bound and width.
template <class T>
Grid<T> make_grid(Type t, double eps, double width) noexcept;

}  // namespace stretto::codec
