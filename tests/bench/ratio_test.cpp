// The target ratios of the codec, on real fields if available (STRETTO_DATA_DIR), and always on synthetic ones. Ratios
// do not depend on time, so a test can check them.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/codec/ratio_measure.hpp"
#include "bench/codec/ratio_published.hpp"
#include "timing/data.hpp"

namespace stretto::bench {
namespace {

constexpr double kOfBest = 0.98, kOfNewest = 1.04, kOfPlain = 0.9, kOfTwiceFloat32 = 0.98, kOfZeros = 1000;

double bound(std::size_t b) { return std::strtod(kRatioBounds[b], nullptr); }

// The directory of the real fields; empty where there is none.
std::string data() {
  const char* folder = std::getenv("STRETTO_DATA_DIR");
  return folder && std::filesystem::is_directory(folder) ? folder : "";
}

// As measure(), and the bound holds.
template <class T>
double ratio_of(const std::vector<T>& x, double eps) {
  const Measured m = measure<T>(x, eps);
  EXPECT_LE(m.error_over_bound, 1);
  return m.ratio;
}

// Fills in place, beside the same field with 0 there.
void expect_fills_to_spoil_nothing(const timing::Field<float>& field) {
  const std::vector<float> plain = timing::without_gaps(field.values);
  for (std::size_t b = 0; b < kRatioBounds.size(); ++b) {
    SCOPED_TRACE(field.name + " " + kRatioBounds[b]);
    const double eps = bound(b) * timing::range_of<float>(plain);
    EXPECT_GE(ratio_of(field.values, eps), kOfPlain * ratio_of(plain, eps));
  }
}

void expect_float64_to_halve(const timing::Field<double>& field) {
  const std::vector<double> plain = timing::without_gaps(field.values);
  const std::vector<float> rounded(plain.begin(), plain.end());
  for (std::size_t b = 0; b < kRatioBounds.size(); ++b) {
    SCOPED_TRACE(field.name + " " + kRatioBounds[b]);
    const double eps = bound(b) * timing::range_of<double>(plain);
    EXPECT_GE(ratio_of(plain, eps), kOfTwiceFloat32 * 2 * ratio_of(rounded, eps));
  }
}

TEST(Ratio, RealFieldsAreNearTheBestPublishedFormatsRatio) {
  if (data().empty()) GTEST_SKIP() << "no real fields: STRETTO_DATA_DIR names no directory";
  double log_ours[kRatioBounds.size()] = {}, log_newest[kRatioBounds.size()] = {};
  int compared = 0;
  for (const timing::Field<float>& field : timing::fields<float>(data())) {
    if (!published(field.name, 0)) continue;
    ++compared;
    const std::vector<float> plain = timing::without_gaps(field.values);
    const double range = timing::range_of<float>(plain);
    for (std::size_t b = 0; b < kRatioBounds.size(); ++b) {
      SCOPED_TRACE(field.name + " " + kRatioBounds[b]);
      const Published peers = *published(field.name, b);
      const double ratio = ratio_of(plain, bound(b) * range);
      EXPECT_GE(ratio, kOfBest * peers.best());
      log_ours[b] += std::log(ratio);
      log_newest[b] += std::log(peers.tiles256);
    }
  }
  if (compared == 0) GTEST_SKIP() << data() << " has none of the fields that ratios are published of";
  for (std::size_t b = 0; b < kRatioBounds.size(); ++b)
    EXPECT_GE(std::exp((log_ours[b] - log_newest[b]) / compared), kOfNewest) << kRatioBounds[b];
}

TEST(Ratio, OfRealFieldsIsNotSpoiltByTheirFills) {
  if (data().empty()) GTEST_SKIP() << "no real fields: STRETTO_DATA_DIR names no directory";
  for (const timing::Field<float>& field : timing::fields<float>(data()))
    if (timing::has_gaps<float>(field.values)) expect_fills_to_spoil_nothing(field);
}

TEST(Ratio, OfRealFieldsInFloat64IsTwiceThatInFloat32) {
  if (data().empty()) GTEST_SKIP() << "no real fields: STRETTO_DATA_DIR names no directory";
  for (const timing::Field<double>& field : timing::fields<double>(data())) expect_float64_to_halve(field);
}

TEST(Ratio, OfComputedFieldsIsNotSpoiltByFillsOrNaN) {
  int with_gaps = 0;
  for (timing::Field<float>& field : timing::fields<float>("")) {
    if (!timing::has_gaps<float>(field.values)) continue;
    ++with_gaps;
    expect_fills_to_spoil_nothing(field);
    for (float& x : field.values)
      if (!timing::is_data(x)) x = std::numeric_limits<float>::quiet_NaN();
    expect_fills_to_spoil_nothing(field);
  }
  EXPECT_GT(with_gaps, 0);
}

TEST(Ratio, OfComputedFieldsInFloat64IsTwiceThatInFloat32) {
  for (const timing::Field<double>& field : timing::fields<double>("")) expect_float64_to_halve(field);
}

TEST(Ratio, OfZerosIsBeyondAThousand) {
  EXPECT_GT(ratio_of(std::vector<float>(8'000'000), 1e-3), kOfZeros);
  EXPECT_GT(ratio_of(std::vector<double>(4'000'000), 1e-3), kOfZeros);
}

}  // namespace
}  // namespace stretto::bench
