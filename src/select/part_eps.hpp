#pragma once

#include <cmath>
#include <limits>

#include "base/float_environment.hpp"

namespace stretto::select {

// A part's eps in a call whose largest bound has eps `eps`: (eps / largest) * bound * (1 - 2^-50), or if subnormal the
// next smaller number, so that no rounding exceeds the bound. Equal on all ranks and in Python. 0: the bound leaves
// nothing.
[[gnu::noinline]] inline double eps_of_part(double eps, double largest, double bound) noexcept {
  const FloatEnvironment environment;
  if (!(bound < largest)) return eps;
  const double e = eps / largest * bound * (1 - 0x1p-50);
  return e > 0 && e < std::numeric_limits<double>::min() ? std::nextafter(e, 0.0) : e;
}

}  // namespace stretto::select
