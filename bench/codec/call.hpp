// Codec calls for benchmarks: a failure becomes an exception with a description, and the bound is checked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/core.h>

#include "codec/codec.hpp"

namespace stretto::bench {

inline void require(Status s, const char* doing) {
  if (s != Status::ok) throw std::runtime_error(fmt::format("{}: {}: {}", doing, name(s), message()));
}

// Largest |x - y|; 0 if y is x bit for bit (verbatim values, NaN included), and infinite if only one of them is NaN.
// The difference is rounded, which is monotone: it exceeds a bound only if the exact difference does.
template <class T>
double worst_error(std::span<const T> x, std::span<const T> y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(&x[i], &y[i], sizeof(T)) == 0) continue;
    const double e = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    worst = std::max(worst, std::isnan(e) ? std::numeric_limits<double>::infinity() : e);
  }
  return worst;
}

}  // namespace stretto::bench
