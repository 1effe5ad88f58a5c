#include <cmath>

#include "exactly.hpp"
#include "inputs.hpp"
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

// Marks among them, in front, at the end and in whole groups; each magnitude at the limit, beside values on both sides of it.
TYPED_TEST(Range, OfTheNearOnesLeavesOutWhatReachesTheLimit) {
  using T = TypeParam;
  const T limit = static_cast<T>(kFar), below = std::nextafter(limit, T{0});
  for (const std::size_t n : {1u, 7u, 1024u, 5000u})
    for (const T far : {limit, -limit, static_cast<T>(1e20), std::numeric_limits<T>::lowest()})
      for (const std::size_t step : {1u, 2u, 3u, 1030u}) {
        std::vector<T> x(n);
        Interval near;
        for (std::size_t i = 0; i < n; ++i) {
          x[i] = i % step == 0 ? far : i == 4 ? below : i == 5 ? T{NAN} : static_cast<T>(i) - 40;
          if (std::fabs(x[i]) < limit) near.merge({static_cast<double>(x[i]), static_cast<double>(x[i])});
        }
        for (const Isa isa : isas())
          for (const int width : {1, 3}) {
            const Parallel parallel = threads(width);
            Options o = with(isa);
            o.parallel = &parallel;
            Spread spread;
            ASSERT_EQ(value_spread(type_of<T>(), x.data(), n, &spread, o), Status::ok) << message();
            EXPECT_EQ(spread.near.lo, near.lo) << name(isa) << ", " << n << ", step " << step;
            EXPECT_EQ(spread.near.hi, near.hi) << name(isa) << ", " << n << ", step " << step;
            EXPECT_EQ(spread.far, std::fabs(static_cast<double>(far))) << name(isa) << ", " << n << ", step " << step;
            EXPECT_EQ(far > 0 ? spread.all.hi : spread.all.lo, static_cast<double>(far));
          }
      }
}

TEST(Range, ABoundLeavesFarValuesOutOnlyWhereTheRestIsLessThanAMillionthOfTheRange) {
  const auto bounded = [](Interval all, Interval near, double far = 1e20) {
    const Interval r = bounded_range({all, near, far});
    return r.hi - r.lo;
  };
  EXPECT_EQ(bounded({0, 1e20}, {0, 9e13}), 9e13);
  EXPECT_EQ(bounded({0, 1e20}, {0, 1.1e14}), 1e20);
  EXPECT_EQ(bounded({-1e20, 3}, {2, 3}), 1);
  EXPECT_EQ(bounded({5, 1e20}, {5, 5}), 0);                     // the rest is one value
  EXPECT_EQ(bounded({1e20, 3e20}, {}), 2e20);                   // there is no rest
  EXPECT_EQ(bounded({0, 9e14}, {0, 1}), 9e14);                  // nothing is far
  EXPECT_EQ(bounded({-1.7e308, 1.7e308}, {0, 1}, 1.7e308), 1);  // the range is no double
  EXPECT_EQ(bounded({0, 1e22}, {0, 1}, 1e20), 1);               // several marks
  EXPECT_EQ(bounded({0, 1e22}, {0, 1}, 7e19), 1e22);            // a field that reaches down to the near ones
  EXPECT_TRUE(bounded_range({}).empty());
  EXPECT_EQ(fraction_of({-1.7e308, 1.7e308}, 0.25), 0.85e308);
  EXPECT_EQ(fraction_of({4e15, 4e15 + 1}, 0.1), 0.1);
  EXPECT_EQ(fraction_of({}, 0.1), 0);
}

TEST(Range, OfNearIntegersAndHalves) {
  Spread spread;
  const std::vector<std::int64_t> x{-7, std::int64_t{1} << 60, 9};
  ASSERT_EQ(value_spread(Type::i64, x.data(), x.size(), &spread), Status::ok);
  EXPECT_EQ(spread.near.hi, 9);
  EXPECT_EQ(spread.far, 0x1p60);
  const std::vector<std::int64_t> least{std::numeric_limits<std::int64_t>::min(), 5};
  ASSERT_EQ(value_spread(Type::i64, least.data(), least.size(), &spread), Status::ok);
  EXPECT_EQ(spread.far, 0x1p63);
  const std::vector<std::uint16_t> h{0x3f80, 0x60ad, 0x5863,
                                     0x5862};  // 1, 1e20, 1e15, and what is below that, in bfloat16
  ASSERT_EQ(value_spread(Type::bf16, h.data(), h.size(), &spread), Status::ok);
  EXPECT_EQ(spread.near.lo, 1);
  EXPECT_LT(spread.near.hi, kFar);
  EXPECT_GT(spread.near.hi, 0.99 * kFar);
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
