// The eps of a part with a bound of its own; equal on all ranks, and in Python.
#pragma once

#include <cmath>
#include <limits>

#include "base/float_environment.hpp"

namespace stretto::select {

// In a call whose largest bound has this eps: (eps / largest) * bound * (1 - 2^-50), or where that is subnormal the next
// smaller number, so that no rounding exceeds the bound. 0: the bound leaves nothing.
[[gnu::noinline]] inline double eps_of_part(double eps, double largest, double bound) noexcept {
  const FloatEnvironment environment;
  if (!(bound < largest)) return eps;
  const double e = eps / largest * bound * (1 - 0x1p-50);
  return e > 0 && e < std::numeric_limits<double>::min() ? std::nextafter(e, 0.0) : e;
}

}  // namespace stretto::select
