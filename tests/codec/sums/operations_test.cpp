#include <algorithm>
#include <cmath>

#include "../inputs.hpp"
#include "../support.hpp"
#include "exactly.hpp"

namespace stretto::codec {
namespace {

// |y - (a - b)| <= 2 eps and half an ulp, for finite values.
template <class T>
bool difference_kept(T a, T b, T y, double eps) {
  Exact d, allowed;
  d.add(static_cast<double>(a));
  d.add(static_cast<double>(b), true);
  d.add(static_cast<double>(y), true);
  allowed.add(2 * eps);
  add_half_ulp(allowed, y);
  allowed += d.sign() < 0 ? d : -d;
  return allowed.sign() >= 0;
}

template <class T>
class Operations : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Operations, Floats);

TYPED_TEST(Operations, DifferencesAreWithinTwiceEpsAndHalfAnUlp) {
  const double eps = 1e-4;
  const auto all = summands<TypeParam>(1024 + 77, eps, 12, 31);
  for (std::size_t a = 0; a < 12; ++a)
    for (std::size_t b = 0; b < 12; ++b) {
      const Stream d = combined(Combine::subtract, compressed(all[a], eps), compressed(all[b], eps));
      ASSERT_EQ(validate(d), Status::ok) << message();
      EXPECT_EQ(info_of(d).contributions, 2u);
      const auto y = decoded<TypeParam>(d);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const TypeParam u = all[a][i], v = all[b][i];
        if (!std::isfinite(u) || !std::isfinite(v)) {
          const TypeParam exact = u - v;
          ASSERT_TRUE(std::isnan(exact) ? std::isnan(y[i]) : y[i] == exact) << a << " - " << b << " at " << i;
        } else if (std::isfinite(y[i])) {
          ASSERT_TRUE(difference_kept(u, v, y[i], eps)) << a << " - " << b << " at " << i << ": " << y[i];
        } else {
          ASSERT_GT(std::fabs(static_cast<long double>(u) - v), 0.999L * std::numeric_limits<TypeParam>::max());
        }
      }
    }
}

TYPED_TEST(Operations, AStreamLessItselfIsZeroWhereItIsFinite) {
  for (const auto& x : summands<TypeParam>(2000, 1e-4, 12, 32)) {
    const Stream a = compressed(x, 1e-4);
    const auto y = decoded<TypeParam>(combined(Combine::subtract, a, a));
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_TRUE(std::isfinite(x[i]) ? same_bits(y[i], TypeParam{0}) : std::isnan(y[i])) << i;
  }
}

TYPED_TEST(Operations, SubtractingAddsTheNegative) {
  const auto all = summands<TypeParam>(1500, 1e-4, 12, 33);
  for (std::size_t a = 0; a < 12; ++a) {
    const Stream sa = compressed(all[a], 1e-4), sb = compressed(all[(a + 5) % 12], 1e-4);
    EXPECT_TRUE(combined(Combine::subtract, sa, sb) == combined(Combine::add, sa, scaled(sb, -1))) << a;
  }
}

TYPED_TEST(Operations, MinAndMaxChooseDecodedValuesWithoutFurtherError) {
  const double eps = 1e-4;
  const auto all = summands<TypeParam>(1024 + 77, eps, 12, 34);
  const Stream sum = combined(Combine::add, compressed(all[5], eps), compressed(all[7], eps));
  std::vector<Stream> streams{sum};
  for (const auto& x : all) streams.push_back(compressed(x, eps));
  for (const auto& a : streams)
    for (const auto& b : streams)
      for (const Combine op : {Combine::min, Combine::max}) {
        const Stream m = combined(op, a, b);
        ASSERT_EQ(validate(m), Status::ok) << message();
        EXPECT_EQ(info_of(m).contributions, std::max(info_of(a).contributions, info_of(b).contributions));
        const auto u = decoded<TypeParam>(a), v = decoded<TypeParam>(b), y = decoded<TypeParam>(m);
        for (std::size_t i = 0; i < y.size(); ++i) {
          if (std::isnan(u[i]) || std::isnan(v[i]))
            ASSERT_TRUE(std::isnan(y[i])) << i;
          else
            ASSERT_EQ(y[i], op == Combine::min ? std::min(u[i], v[i]) : std::max(u[i], v[i])) << i;
        }
      }
}

TYPED_TEST(Operations, MinimumAndMaximumOfAStreamAndItselfDecodeToItself) {
  for (const auto& x : summands<TypeParam>(2000, 1e-4, 12, 35)) {
    const Stream a = compressed(x, 1e-4);
    for (const Combine op : {Combine::min, Combine::max}) {
      const auto u = decoded<TypeParam>(a), y = decoded<TypeParam>(combined(op, a, a));
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_TRUE(same_bits(u[i], y[i])) << i;
    }
  }
}

TYPED_TEST(Operations, ScalingByKIsTheSumOfKCopies) {
  for (const auto& x : summands<TypeParam>(1024 + 300, 1e-4, 12, 36)) {
    const Stream a = compressed(x, 1e-4);
    Stream sum = a;
    for (int k = 2; k <= 5; ++k) {
      sum = combined(Combine::add, sum, a);
      ASSERT_TRUE(scaled(a, k) == sum) << k;
      const auto minus = decoded<TypeParam>(scaled(a, -k)), plus = decoded<TypeParam>(sum);
      for (std::size_t i = 0; i < plus.size(); ++i)
        ASSERT_TRUE(std::isnan(plus[i]) ? std::isnan(minus[i]) : minus[i] == -plus[i]) << i;
    }
  }
}

TYPED_TEST(Operations, ScalingMultipliesContributionsAndRefusesZero) {
  const std::vector<TypeParam> x(100, 1);
  const Stream a = compressed(x, 1e-3);
  EXPECT_EQ(info_of(scaled(a, -7)).contributions, 7u);
  EXPECT_EQ(info_of(scaled(a, -7)).code_bound, 7 * info_of(a).code_bound);
  Stream out(5000);
  std::size_t written = 0;
  EXPECT_EQ(scale(a, 0, out, &written), Status::invalid_argument);
}

TYPED_TEST(Operations, MeansAreWithinEpsAndHalfAnUlp) {
  const double eps = 1e-4;
  for (const std::size_t p : {2, 3, 7, 64}) {
    const auto fields = summands<TypeParam>(1500, eps, p, p + 40);
    Stream sum = compressed(fields[0], eps);
    for (std::size_t k = 1; k < p; ++k) sum = combined(Combine::add, sum, compressed(fields[k], eps));
    for (const Isa isa : isas()) {
      const auto y = decoded<TypeParam>(sum, with(isa), static_cast<std::uint32_t>(p));
      for (std::size_t i = 0; i < y.size(); ++i) {
        Exact d, allowed;
        bool finite = true;
        for (const auto& f : fields) finite = finite && std::isfinite(f[i]);
        if (!finite) continue;
        ASSERT_TRUE(std::isfinite(y[i])) << "place " << i << " of " << p;
        for (const auto& f : fields) d.add(static_cast<double>(f[i]));
        for (std::size_t k = 0; k < p; ++k) {
          d.add(static_cast<double>(y[i]), true);
          allowed.add(eps);
          add_half_ulp_of_mean(allowed, y[i]);
        }
        allowed += d.sign() < 0 ? d : -d;
        ASSERT_GE(allowed.sign(), 0) << "place " << i << " of " << p << ": " << y[i];
      }
    }
  }
}

// The sum of the two overflows float64, but not their mean: of codes, of a fill and a code, and of verbatim values.
TEST(Operations, MeansOfLargeNumbersAreFinite) {
  for (const double eps : {1e300, 1e291, 1e-3}) {
    std::vector<double> x(2000, 1.5e308), y(x.size(), 1.6e308);
    for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -1.5e308, y[i] = -1.6e308;
    const Stream sum = combined(Combine::add, compressed(x, eps), compressed(y, eps));
    const auto expected = decoded<double>(sum, with(Isa::reference), 2);
    for (const Isa isa : isas()) {
      const auto mean = decoded<double>(sum, with(isa), 2);
      EXPECT_TRUE(mean == expected) << name(isa);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(std::fabs(mean[i] - (x[i] / 2 + y[i] / 2)), eps + 0x1p972)
            << i << ", eps " << eps << ", " << name(isa);
      EXPECT_TRUE(std::isinf(decoded<double>(sum, with(isa))[1]));
    }
    std::vector<double> whole(5 * 1024, 1.7e308);
    const Stream wide = scaled(compressed(whole, eps), 1 << 30);
    for (const Isa isa : isas())
      EXPECT_NEAR(decoded<double>(wide, with(isa), 1u << 30)[7] / 1.7e308, 1, 1e-7) << eps << ", " << name(isa);
  }
}

TEST(Operations, OfDifferentTypesCountsOrGridsAreRefusedByName) {
  const std::vector<float> x(100, 1.0f);
  const std::vector<double> d(100, 1.0);
  const Stream a = compressed(x, 1e-3);
  Stream out(10000);
  std::size_t written = 0;
  const auto refused = [&](const Stream& b, const char* word) {
    for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max}) {
      EXPECT_EQ(combine(op, a, b, out, &written), Status::incompatible);
      EXPECT_NE(std::string(message()).find(word), std::string::npos) << message();
    }
  };
  refused(compressed(d, 1e-3), "float64");
  refused(compressed(std::vector<float>(99, 1.0f), 1e-3), "99");
  refused(compressed(x, 2e-3), "0.002");
}

TEST(Operations, OnIntegersAreExact) {
  Random r(6);
  std::vector<std::int64_t> x(1300), y(1300);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int64_t>(r.bits()) >> (3 + r.below(60));
    y[i] = static_cast<std::int64_t>(i * i) - 40000;
  }
  const Stream a = compressed(x, 0), b = compressed(y, 0);
  const auto d = decoded<std::int64_t>(combined(Combine::subtract, a, b)),
             lo = decoded<std::int64_t>(combined(Combine::min, a, b)),
             hi = decoded<std::int64_t>(combined(Combine::max, a, b)), k = decoded<std::int64_t>(scaled(b, -3)),
             mean = decoded<std::int64_t>(b, {}, 7);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(d[i], x[i] - y[i]);
    ASSERT_EQ(lo[i], std::min(x[i], y[i]));
    ASSERT_EQ(hi[i], std::max(x[i], y[i]));
    ASSERT_EQ(k[i], -3 * y[i]);
    ASSERT_EQ(mean[i], y[i] / 7);
  }
}

}  // namespace
}  // namespace stretto::codec
