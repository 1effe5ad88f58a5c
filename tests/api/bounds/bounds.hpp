// Waves of all ranks, what their sums are, and how far a result is from it, for the tests of bounds.
#pragma once

#include <algorithm>
#include <vector>

#include "../ranks.hpp"

namespace api_test {

inline constexpr std::size_t kN = 30000;

inline double exact_sum(int ranks, std::size_t i) {
  double s = 0;
  for (int r = 0; r < ranks; ++r) s += wave(r, i + 1)[i];
  return s;
}

// Sums of all ranks' waves in double: exact beside the bounds tested here.
inline std::vector<double> exact_sums(int ranks) {
  std::vector<double> s(kN, 0.0);
  for (int r = 0; r < ranks; ++r) {
    const auto x = wave(r, kN);
    for (std::size_t i = 0; i < kN; ++i) s[i] += x[i];
  }
  return s;
}

template <class Exact>
double worst(const std::vector<float>& y, const Exact& exact) {
  double w = 0;
  for (std::size_t i = 0; i < y.size(); ++i) w = std::max(w, std::fabs(double{y[i]} - exact[i]) - half_ulp(y[i]));
  return w;
}

}  // namespace api_test
