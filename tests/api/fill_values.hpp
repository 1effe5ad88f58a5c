// Fields with fill values, on some ranks, for the tests of relative bounds.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace api_test {

inline constexpr float kFill = 1e20f;

// Between 260 and 300 and some, rank by rank; every `every`-th value is a fill value (0: none).
inline std::vector<float> filled(int rank, std::size_t count, std::size_t every) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = every > 0 && i % every == 0
               ? kFill
               : static_cast<float>(280 + 20 * std::sin(1e-3 * static_cast<double>(i)) + 0.1 * rank);
  return x;
}

struct Ends {
  double lo = INFINITY, hi = -INFINITY;
  std::uint64_t ignored = 0;  // values that are not below the threshold
  double width() const { return hi - lo; }
};

// Range of all ranks' values below `threshold`.
inline Ends ends_of(const std::vector<std::vector<float>>& all, double threshold = 1e15) {
  Ends e;
  for (const auto& x : all)
    for (const float v : x)
      if (std::fabs(double{v}) < threshold)
        e.lo = std::min(e.lo, double{v}), e.hi = std::max(e.hi, double{v});
      else
        ++e.ignored;
  return e;
}

// Sea-surface temperatures, 1e20 on land; empty where the file is not there.
inline std::vector<float> sea_surface() {
  const char* directory = std::getenv("STRETTO_DATA_DIR");
  std::ifstream in(std::string(directory != nullptr ? directory : ".") + "/ostia_sst_54x18x432.f32", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<float> x(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), x.size() * sizeof(float), reinterpret_cast<char*>(x.data()));
  return x;
}

// Checks a sum of the ranks' values: fill values are exact if any rank has one, all else is within `each` per rank, and
// rounding.
inline void expect_sum(const std::vector<float>& y, const std::vector<std::vector<float>>& all, double each) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    double exact = 0;
    bool missing = false;
    for (const auto& x : all) {
      exact += x[i];
      missing = missing || std::fabs(x[i]) >= 1e15f;
    }
    if (missing)
      ASSERT_EQ(y[i], static_cast<float>(exact)) << i;
    else
      ASSERT_LE(std::fabs(y[i] - exact), each * static_cast<double>(all.size()) + half_ulp(y[i])) << i;
  }
}

}  // namespace api_test
