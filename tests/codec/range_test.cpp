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
