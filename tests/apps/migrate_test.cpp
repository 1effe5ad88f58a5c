#include "rtm/migrate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "rtm/velocity.hpp"

namespace stretto::stacking::rtm {
namespace {

struct Place {
  int z = 0;
  int x = 0;
};

Place strongest(const Field& f) {
  Place best;
  for (int z = 0; z < f.nz; ++z) {
    for (int x = 0; x < f.nx; ++x) {
      if (std::abs(f.at(z, x)) > std::abs(f.at(best.z, best.x))) best = {z, x};
    }
  }
  return best;
}

Field sum_of_shots(const Field& truth, const Field& smooth, const Survey& s) {
  Field sum(truth.nz, truth.nx);
  for (int shot = 0; shot < s.shots; ++shot) {
    const Field one = migrate_shot(truth, smooth, s, shot);
    for (std::size_t i = 0; i < sum.v.size(); ++i) sum.v[i] += one.v[i];
  }
  return sum;
}

TEST(Migrate, APointScattererIsImagedAtItsPlace) {
  const Field smooth(90, 120, 2000.0F);
  for (const Place at : {Place{45, 60}, Place{55, 48}}) {
    Field truth = smooth;
    truth.at(at.z, at.x) = 2600.0F;
    const Survey s = plan(truth, 3);
    const Place seen = strongest(sum_of_shots(truth, smooth, s));
    EXPECT_NEAR(seen.z, at.z, 2) << "scatterer at row " << at.z << ", column " << at.x;
    EXPECT_NEAR(seen.x, at.x, 2) << "scatterer at row " << at.z << ", column " << at.x;
  }
}

TEST(Migrate, AFlatReflectorIsImagedAtItsDepthInMiddleColumns) {
  Field truth(90, 140, 2000.0F);
  for (int z = 50; z < 90; ++z) {
    for (int x = 0; x < 140; ++x) truth.at(z, x) = 2300.0F;
  }
  const Field smooth = smooth_slowness(truth, 5, 3, 0);
  const Field image = sum_of_shots(truth, smooth, plan(truth, 5));
  for (int x = 45; x <= 95; x += 10) {
    int best = 20;
    for (int z = 20; z < 88; ++z) {
      if (std::abs(image.at(z, x)) > std::abs(image.at(best, x))) best = z;
    }
    EXPECT_NEAR(best, 50, 3) << "column " << x;
  }
}

TEST(Migrate, NothingToReflectGivesNoImage) {
  const Field still(60, 80, 2000.0F);
  const Field image = migrate_shot(still, still, plan(still, 2), 0);
  for (const float v : image.v) ASSERT_EQ(v, 0.0F);
}

TEST(Migrate, IsTheSameEveryTimeAndTicksTenTimes) {
  const Field truth = layered_faulted_model(64, 80);
  const Field smooth = smooth_slowness(truth, 3, 2, water_rows(64));
  const Survey s = plan(truth, 2);
  std::vector<int> ticks;
  const Field a = migrate_shot(truth, smooth, s, 1, [&](int t) { ticks.push_back(t); });
  const Field b = migrate_shot(truth, smooth, s, 1);
  EXPECT_EQ(a.v, b.v);
  EXPECT_EQ(ticks, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  double energy = 0;
  for (const float v : a.v) energy += v * v;
  EXPECT_GT(energy, 0.0);
  EXPECT_TRUE(std::isfinite(energy));
}

TEST(Migrate, LaplacianOfAPlaneIsZeroAndOfAPeakIsPositive) {
  Field f(9, 9);
  for (int z = 0; z < 9; ++z) {
    for (int x = 0; x < 9; ++x) f.at(z, x) = static_cast<float>(2 * z - 3 * x);
  }
  for (const float v : negative_laplacian(f).v) ASSERT_EQ(v, 0.0F);
  f.at(4, 4) += 1.0F;
  EXPECT_EQ(negative_laplacian(f).at(4, 4), 4.0F);
}

TEST(Survey, ShotsAreSpreadEvenlyWithinTheModel) {
  Survey s;
  s.shots = 4;
  EXPECT_EQ(shot_column(s, 80, 0), 10);
  EXPECT_EQ(shot_column(s, 80, 1), 30);
  EXPECT_EQ(shot_column(s, 80, 3), 70);
  s.shots = 100;
  EXPECT_GE(shot_column(s, 7, 0), 0);
  EXPECT_LE(shot_column(s, 7, 99), 6);
}

TEST(Survey, RickerPeaksAtItsDelayAndBeginsNearZero) {
  EXPECT_DOUBLE_EQ(ricker(25, ricker_delay(25)), 1.0);
  EXPECT_LT(std::abs(ricker(25, 0)), 1e-4);
}

TEST(Survey, RecordingsLastUntilTheDeepestReflectionIsBack) {
  const Field m = layered_faulted_model(128, 128);
  const Survey s = plan(m, 1);
  double down = 0;
  for (int z = 0; z < 128; ++z) down += s.dx / m.at(z, 64);
  EXPECT_GT(s.steps * s.dt, 2 * down + ricker_delay(s.peak_hz));
  EXPECT_EQ(record(m, s, 0).nz, s.steps);
}

}  // namespace
}  // namespace stretto::stacking::rtm
