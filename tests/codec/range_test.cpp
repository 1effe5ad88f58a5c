#include <cmath>

#include "inputs.hpp"
#include "sums/exactly.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

template <class T>
class Range : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Range, Floats);

TYPED_TEST(Range, IsThatOfTheFiniteValues) {
  for (const auto& in : inputs<TypeParam>()) {
    double low = INFINITY, high = -INFINITY;
    for (const auto v : in.x)
      if (std::isfinite(v)) {
        low = std::fmin(low, static_cast<double>(v));
        high = std::fmax(high, static_cast<double>(v));
      }
    for (const Isa isa : isas())
      for (const int width : {1, 3}) {
        const Parallel parallel = threads(width);
        Options o = with(isa);
        o.parallel = &parallel;
        double lo = 0, hi = 0;
        ASSERT_EQ(value_range(type_of<TypeParam>(), in.x.data(), in.x.size(), &lo, &hi, o), Status::ok) << message();
        EXPECT_EQ(lo, low) << in.name << ", " << name(isa);
        EXPECT_EQ(hi, high) << in.name << ", " << name(isa);
      }
  }
}

TYPED_TEST(Range, ABoundRelativeToItHolds) {
  for (const auto& x : summands<TypeParam>(3000, 1e-3, 4, 8))
    for (const double rel : {1e-2, 1e-3, 1e-5}) {
      double lo = 0, hi = 0;
      ASSERT_EQ(value_range(type_of<TypeParam>(), x.data(), x.size(), &lo, &hi), Status::ok);
      if (hi == lo) continue;
      const double eps = rel * (hi - lo);
      const auto y = decoded<TypeParam>(compressed(x, eps));
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(within(x[i], y[i], eps)) << i;
    }
}

// Large values inside, in front, at the end and in whole groups; each magnitude at the threshold, beside the next
// smaller number.
TYPED_TEST(Range, BelowAThresholdLeavesOutAndCountsWhatReachesIt) {
  using T = TypeParam;
  const T threshold = static_cast<T>(1e15), below = std::nextafter(threshold, T{0});
  for (const std::size_t n : {1u, 7u, 1024u, 5000u})
    for (const T large : {threshold, -threshold, static_cast<T>(-1e20), std::numeric_limits<T>::max()})
      for (const std::size_t step : {1u, 2u, 3u, 1030u}) {
        std::vector<T> x(n);
        Ranges expected;
        for (std::size_t i = 0; i < n; ++i) {
          x[i] = i % step == 0  ? large
                 : i % 7 == 4   ? below
                 : i % 7 == 5   ? T{NAN}
                 : i % 100 == 6 ? std::numeric_limits<T>::infinity()
                                : static_cast<T>(i) - 40;
          const Interval one{static_cast<double>(x[i]), static_cast<double>(x[i])};
          if (!std::isfinite(x[i])) continue;
          expected.all.merge(one);
          if (std::fabs(x[i]) < threshold)
            expected.below.merge(one);
          else
            ++expected.ignored;
        }
        for (const Isa isa : isas())
          for (const int width : {1, 3}) {
            const Parallel parallel = threads(width);
            Options o = with(isa);
            o.parallel = &parallel;
            Ranges found;
            ASSERT_EQ(value_ranges(type_of<T>(), x.data(), n, static_cast<double>(threshold), &found, o), Status::ok);
            EXPECT_EQ(found.all.lo, expected.all.lo) << name(isa) << ", " << n << ", step " << step;
            EXPECT_EQ(found.all.hi, expected.all.hi) << name(isa) << ", " << n << ", step " << step;
            EXPECT_EQ(found.below.lo, expected.below.lo) << name(isa) << ", " << n << ", step " << step;
            EXPECT_EQ(found.below.hi, expected.below.hi) << name(isa) << ", " << n << ", step " << step;
            EXPECT_EQ(found.ignored, expected.ignored) << name(isa) << ", " << n << ", step " << step;
          }
      }
}

// A double between two floats: the lower one is below it, the upper one reaches it.
TEST(Range, BelowAThresholdIsComparedExactly) {
  const auto ignored = [](const std::vector<float>& x, double above) {
    Ranges found;
    EXPECT_EQ(value_ranges(Type::f32, x.data(), x.size(), above, &found), Status::ok) << message();
    EXPECT_EQ(found.below.empty(), found.ignored == x.size());
    return found.ignored;
  };
  const float one = 1, next = std::nextafter(one, 2.0f), most = std::numeric_limits<float>::max();
  const float least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ignored({one, next}, 1 + 0x1p-25), 1u);
  EXPECT_EQ(ignored({one, next}, 1 + 0x1p-23), 1u);
  EXPECT_EQ(ignored({one, next}, 1 + 0x1.1p-23), 0u);
  EXPECT_EQ(ignored({-one, -next, 0}, 1), 2u);
  EXPECT_EQ(ignored({0, least, -least}, 1e-300), 2u);
  EXPECT_EQ(ignored({most}, double{most}), 1u);
  EXPECT_EQ(ignored({most, -most}, std::nextafter(double{most}, INFINITY)), 0u);
  EXPECT_EQ(ignored({most, -most}, INFINITY), 0u);
}

TEST(Range, BelowAThresholdOfNothing) {
  Ranges found;
  const float none[] = {NAN, INFINITY};
  ASSERT_EQ(value_ranges(Type::f32, none, 2, 1, &found), Status::ok);
  EXPECT_TRUE(found.all.empty() && found.below.empty());
  EXPECT_EQ(found.ignored, 0u);
  for (const double bad : {0.0, -1.0, double{NAN}}) {
    EXPECT_EQ(value_ranges(Type::f32, none, 2, bad, &found), Status::invalid_argument);
    EXPECT_NE(std::string(message()).find("ignore_above"), std::string::npos) << message();
  }
  EXPECT_EQ(value_ranges(Type::f32, none, 2, 1, nullptr), Status::invalid_argument);
}

TEST(Range, ItsFractionIsANumberWhereItsWidthIsNone) {
  EXPECT_EQ(fraction_of({-1.7e308, 1.7e308}, 0.25), 0.85e308);
  EXPECT_EQ(fraction_of({4e15, 4e15 + 1}, 0.1), 0.1);
  EXPECT_EQ(fraction_of({}, 0.1), 0);
}

TEST(Range, BelowAThresholdOfIntegersAndHalves) {
  Ranges found;
  const std::vector<std::int64_t> x{-7, std::int64_t{1} << 60, (std::int64_t{1} << 60) - 1, 9};
  ASSERT_EQ(value_ranges(Type::i64, x.data(), x.size(), 0x1p60, &found), Status::ok);
  EXPECT_EQ(found.below.lo, -7);
  EXPECT_EQ(found.ignored, 1u);
  ASSERT_EQ(value_ranges(Type::i64, x.data(), x.size(), 8.5, &found), Status::ok);
  EXPECT_EQ(found.below.hi, -7);
  EXPECT_EQ(found.ignored, 3u);
  const std::vector<std::int64_t> least{std::numeric_limits<std::int64_t>::min(), 5};
  ASSERT_EQ(value_ranges(Type::i64, least.data(), least.size(), 0x1p63, &found), Status::ok);
  EXPECT_EQ(found.below.lo, 5);
  EXPECT_EQ(found.ignored, 1u);
  ASSERT_EQ(value_ranges(Type::i64, least.data(), least.size(), 0x1p64, &found), Status::ok);
  EXPECT_EQ(found.below.lo, -0x1p63);
  const std::vector<std::uint16_t> h{
      0x3f80, 0x60ad, 0x5864, 0x5863};  // 1, 1e20, the least number of 1e15 or more, and the number below, in bfloat16
  ASSERT_EQ(value_ranges(Type::bf16, h.data(), h.size(), kIgnoreAbove, &found), Status::ok);
  EXPECT_EQ(found.below.lo, 1);
  EXPECT_LT(found.below.hi, kIgnoreAbove);
  EXPECT_GT(found.below.hi, 0.99 * kIgnoreAbove);
  EXPECT_EQ(found.ignored, 2u);
  const std::vector<std::uint16_t> f16{0x7bff, 0xfbff};  // 65504 and its negative
  ASSERT_EQ(value_ranges(Type::f16, f16.data(), f16.size(), kIgnoreAbove, &found), Status::ok);
  EXPECT_EQ(found.below.lo, -65504);
  EXPECT_EQ(found.ignored, 0u);
}

TEST(Range, OfIntegersAndHalves) {
  double lo = 0, hi = 0;
  const std::vector<std::int32_t> x{3, -2147483647 - 1, 2147483647};
  ASSERT_EQ(value_range(Type::i32, x.data(), x.size(), &lo, &hi), Status::ok);
  EXPECT_EQ(lo, -2147483648.0);
  EXPECT_EQ(hi, 2147483647.0);
  const std::vector<std::uint16_t> h{0x3c00, 0x7c00, 0xfe01, 0xc000};  // 1, infinity, NaN, -2
  ASSERT_EQ(value_range(Type::f16, h.data(), h.size(), &lo, &hi), Status::ok);
  EXPECT_EQ(lo, -2.0);
  EXPECT_EQ(hi, 1.0);
}

}  // namespace
}  // namespace stretto::codec
