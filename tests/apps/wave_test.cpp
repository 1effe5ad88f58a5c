#include "rtm/wave.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "rtm/survey.hpp"

namespace stretto::stacking::rtm {
namespace {

constexpr double kDx = 10.0;
constexpr double kV0 = 2000.0;
const double kTimeStep = 0.9 * Wave::kCourantLimit * kDx / kV0;
constexpr double kFrequency = 20.0;

Wave run(int nz, int nx, int z, int x, int steps) {
  Wave wave(Field(nz, nx, static_cast<float>(kV0)), kDx, kTimeStep);
  for (int t = 0; t < steps; ++t) {
    wave.inject(z, x, ricker(kFrequency, t * kTimeStep));
    wave.step();
  }
  return wave;
}

// The time at which a trace peaks in magnitude, by a parabola through its largest sample.
double peak_time(const std::vector<double>& trace) {
  const auto at =
      std::max_element(trace.begin(), trace.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  const auto i = static_cast<std::size_t>(at - trace.begin());
  const double a = trace[i - 1], b = trace[i], c = trace[i + 1];
  return (static_cast<double>(i) + 0.5 * (a - c) / (a - 2 * b + c)) * kTimeStep;
}

TEST(Wave, TravelsAtTheVelocityOfTheModel) {
  Wave wave(Field(81, 161, static_cast<float>(kV0)), kDx, kTimeStep);
  constexpr int near = 50, far = 120;  // columns from the source at 10
  std::vector<double> at_near, at_far;
  for (int t = 0; t < 700; ++t) {
    wave.inject(40, 10, ricker(kFrequency, t * kTimeStep));
    wave.step();
    at_near.push_back(wave.at(40, near));
    at_far.push_back(wave.at(40, far));
  }
  // Leapfrog runs fast by (w dt)^2 / 24: 0.4 % at the peak frequency, more above it.
  const double expected = (far - near) * kDx / kV0;  // 0.35 s
  EXPECT_NEAR(peak_time(at_far) - peak_time(at_near), expected, 0.01 * expected);
}

TEST(Wave, SpreadsAlikeInAllDirectionsThatTheGridTreatsAlike) {
  const Wave wave = run(101, 101, 50, 50, 150);
  for (int d = 1; d <= 45; ++d) {
    for (int e = 0; e <= 45; ++e) {
      ASSERT_FLOAT_EQ(wave.at(50 + d, 50 + e), wave.at(50 - d, 50 + e)) << d << ' ' << e;
      ASSERT_FLOAT_EQ(wave.at(50 + d, 50 + e), wave.at(50 + e, 50 + d)) << d << ' ' << e;
    }
  }
  EXPECT_NE(wave.at(70, 50), 0.0F);
}

TEST(Wave, LeavesThroughEverySideAndDoesNotComeBack) {
  Wave wave = run(80, 120, 40, 60, 60);
  const double emitted = wave.energy();
  ASSERT_GT(emitted, 0.0);
  for (int t = 0; t < 900; ++t) wave.step();
  EXPECT_LT(wave.energy(), 1e-4 * emitted);
}

TEST(Wave, KeepsItsEnergyWhileItIsInsideTheModel) {
  Wave wave = run(160, 160, 80, 80, 110);
  const double emitted = wave.energy();
  for (int t = 0; t < 60; ++t) wave.step();
  EXPECT_NEAR(wave.energy(), emitted, 0.03 * emitted);
}

TEST(Wave, IsReciprocalInSourceAndReceiver) {
  Field layered(70, 90, 1800.0F);
  for (int z = 35; z < 70; ++z) std::fill_n(layered.row(z), 90, 2500.0F);
  const double step = 0.9 * Wave::kCourantLimit * kDx / 2500.0;
  const auto heard = [&](int sz, int sx, int rz, int rx) {
    Wave wave(layered, kDx, step);
    std::vector<double> trace;
    for (int t = 0; t < 350; ++t) {
      wave.inject(sz, sx, ricker(kFrequency, t * step));
      wave.step();
      trace.push_back(wave.at(rz, rx));
    }
    return trace;
  };
  // Injection is scaled by (v dt / dx)^2 at the source, so both points lie in the upper layer.
  const auto there = heard(5, 10, 20, 80);
  const auto back = heard(20, 80, 5, 10);
  double strongest = 0;
  for (const double v : there) strongest = std::max(strongest, std::abs(v));
  for (std::size_t i = 0; i < there.size(); ++i) ASSERT_NEAR(there[i], back[i], 1e-4 * strongest) << i;
}

TEST(Wave, IsStableAtItsCourantLimitOverManySteps) {
  Wave wave(Field(60, 60, 3000.0F), kDx, Wave::kCourantLimit * kDx / 3000.0);
  wave.inject(30, 30, 1.0);
  for (int t = 0; t < 3000; ++t) wave.step();
  EXPECT_LT(std::abs(wave.at(30, 30)), 1.0);  // false for NaN too
}

}  // namespace
}  // namespace stretto::stacking::rtm
