#include "rtm/velocity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace stretto::stacking::rtm {
namespace {

TEST(Velocity, ModelIsWaterOverManyLayersWithinItsLimits) {
  const Field m = layered_faulted_model(128, 256);
  for (int z = 0; z < water_rows(128); ++z) {
    for (int x = 0; x < 256; ++x) ASSERT_EQ(m.at(z, x), 1500.0F);
  }
  EXPECT_NE(m.at(water_rows(128), 128), 1500.0F);
  const auto [lo, hi] = std::minmax_element(m.v.begin(), m.v.end());
  EXPECT_EQ(*lo, 1500.0F);
  EXPECT_LE(*hi, 4200.0F);
  EXPECT_GE(std::set<float>(m.v.begin(), m.v.end()).size(), 12U);
}

TEST(Velocity, ModelIsCutByTwoFaults) {
  // Across a fault, which its dip makes a few columns wide, a layer moves by 15 rows or more; folds move it by two.
  const Field m = layered_faulted_model(256, 512);
  const auto depth_of = [&](int x) {
    int z = 255;
    while (z > 0 && m.at(z, x) != 3050.0F) --z;
    return z;
  };
  int faults = 0;
  bool inside = false;
  for (int x = 6; x < 512; ++x) {
    const bool jumps = std::abs(depth_of(x) - depth_of(x - 6)) > 8;
    if (jumps && !inside) ++faults;
    inside = jumps;
  }
  EXPECT_EQ(faults, 2);
}

TEST(Velocity, ModelOfTheSameSizeIsTheSame) {
  EXPECT_EQ(layered_faulted_model(64, 96).v, layered_faulted_model(64, 96).v);
}

TEST(Velocity, SmoothingKeepsConstantsVerticalTravelTimeAndWater) {
  const Field constant(40, 40, 2222.0F);
  const Field still = smooth_slowness(constant, 4, 2, 0);
  for (const float v : still.v) ASSERT_NEAR(v, 2222.0F, 0.01F);

  const Field m = layered_faulted_model(128, 200);
  const Field s = smooth_slowness(m, 5, 3, water_rows(128));
  for (int z = 0; z < water_rows(128); ++z) {
    for (int x = 0; x < 200; ++x) ASSERT_EQ(s.at(z, x), m.at(z, x));
  }
  double before = 0, after = 0, roughest = 0;
  for (int z = 0; z < 128; ++z) {
    before += 1.0 / m.at(z, 60);
    after += 1.0 / s.at(z, 60);
    if (z > water_rows(128) + 1) roughest = std::max(roughest, std::abs(1.0 * s.at(z, 60) - s.at(z - 1, 60)));
  }
  EXPECT_NEAR(after, before, 0.01 * before);
  EXPECT_LT(roughest, 60.0);  // the layers differ by 200 m/s and more
}

}  // namespace
}  // namespace stretto::stacking::rtm
