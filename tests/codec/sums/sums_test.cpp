#include <bit>
#include <cmath>

#include "../inputs.hpp"
#include "../support.hpp"
#include "codec/numbers/exact.hpp"
#include "exactly.hpp"

namespace stretto::codec {
namespace {

// Each sum y of the fields' values v must have |y - sum v| <= p eps + half an ulp of y. With NaN or infinities it must
// equal IEEE arithmetic; if the sum is within p eps of the largest number, it may be infinite (docs/limits.md).
template <class T>
void expect_sum(const std::vector<std::vector<T>>& fields, double eps, const std::vector<T>& y) {
  std::size_t broken = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    Exact difference;
    bool nan = false, plus = false, minus = false;
    for (const auto& f : fields) {
      nan = nan || std::isnan(f[i]);
      if (std::isinf(f[i])) (f[i] > 0 ? plus : minus) = true;
      if (std::isfinite(f[i])) difference.add(static_cast<double>(f[i]));
    }
    if (nan || (plus && minus)) {
      broken += !std::isnan(y[i]);
      continue;
    }
    if (plus || minus) {
      broken += y[i] != (plus ? INFINITY : -INFINITY);
      continue;
    }
    Exact allowed;
    for (std::size_t k = 0; k < fields.size(); ++k) allowed.add(eps);
    if (std::isinf(y[i])) {
      if (y[i] < 0) difference = -difference;
      difference += allowed;
      difference.add(static_cast<double>(std::numeric_limits<T>::max()), true);
      broken += difference.sign() < 0;
      continue;
    }
    add_half_ulp(allowed, y[i]);
    difference.add(static_cast<double>(y[i]), true);
    Exact size = difference.sign() < 0 ? -difference : difference;
    allowed += -size;
    if (allowed.sign() < 0 && broken++ == 0)
      ADD_FAILURE() << "place " << i << " of " << fields.size() << " fields: " << y[i];
  }
  EXPECT_EQ(broken, 0u);
}

// Two contributions whose sum is within twice the bound of the largest number, or beyond it: infinite if their codes'
// sum is.
TEST(Sums, CloseToTheLargestNumberMayBeInfiniteAndOthersAreNot) {
  const std::vector<float> x(1500, 1.7014118e38f);  // twice that is less than the largest number
  std::size_t infinite = 0;
  for (int k = 1; k < 200; ++k) {
    const double eps = 1e36 * (1 + k * 0.01);
    const Stream s = compressed(x, eps);
    const float y = decoded<float>(combined(Combine::add, s, s))[0];
    infinite += std::isinf(y);
    if (std::isfinite(y)) {
      EXPECT_LE(std::fabs(2 * static_cast<double>(x[0]) - static_cast<double>(y)), 2 * eps + 0x1p103);
    }
    const std::vector<float> less(1500, static_cast<float>(1.7014118e38 - 1.01 * eps));
    const Stream below = compressed(less, eps);
    EXPECT_TRUE(std::isfinite(decoded<float>(combined(Combine::add, below, below))[0])) << eps;
  }
  EXPECT_GT(infinite, 0u);
}

template <class T>
Stream sum_of(const std::vector<std::vector<T>>& fields, double eps, const Options& o) {
  Stream sum = compressed(fields[0], eps, o);
  for (std::size_t k = 1; k < fields.size(); ++k) sum = combined(Combine::add, sum, compressed(fields[k], eps, o), o);
  return sum;
}

template <class T>
class Sums : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Sums, Floats);

TYPED_TEST(Sums, AreWithinPTimesEpsAndHalfAnUlp) {
  for (const std::size_t p : {2, 3, 5, 13, 64})
    for (const double eps : {1e-3, 1e-6}) {
      SCOPED_TRACE(std::to_string(p) + " fields, eps " + std::to_string(eps));
      const auto fields = summands<TypeParam>(2 * 1024 + 77, eps, p, p);
      const Stream sum = sum_of(fields, eps, {});
      EXPECT_EQ(info_of(sum).contributions, p);
      EXPECT_EQ(info_of(sum).promised(), static_cast<double>(p) * eps);
      ASSERT_EQ(validate(sum), Status::ok) << message();
      expect_sum(fields, eps, decoded<TypeParam>(sum));
    }
}

TYPED_TEST(Sums, OfBenignFieldsHoldNoExceptions) {
  std::vector<std::vector<TypeParam>> fields;
  for (std::size_t k = 0; k < 64; ++k) fields.push_back(summands<TypeParam>(3000, 1e-4, k % 2 + 1, k).back());
  const Stream sum = sum_of(fields, 1e-4, {});
  EXPECT_EQ(info_of(sum).exceptions, 0u);
  expect_sum(fields, 1e-4, decoded<TypeParam>(sum));
}

// Codes whose sum has more bits than a float64 holds, with each value as far below its code's as possible.
TEST(Sums, OfCodesBeyondFiftyThreeBitsKeepThePromise) {
  const double eps = 1.001, width = 2 * eps * (1 - 0x1p-9);
  Random r(5);
  std::vector<std::vector<double>> fields(17, std::vector<double>(1024));
  for (auto& f : fields)
    for (auto& v : f)
      for (double error = 0; !(error > 0.99 * eps && error < 0.9979 * eps);) {
        const double code = &f == &fields.back() ? static_cast<double>(r.below(1 << 20))
                                                 : 0x1p49 + static_cast<double>(r.below(1 << 20));
        v = code * width - 0.995 * eps;
        error = std::fma(code, width, -v);
        if (std::fabs(v - code * width) >= eps) error = 0;  // its decoded value would be too far off
      }
  const Stream sum = sum_of(fields, eps, {});
  EXPECT_GT(info_of(sum).code_bound, std::uint64_t{1} << 53);
  EXPECT_EQ(info_of(sum).exceptions, 0u);
  expect_sum(fields, eps, decoded<double>(sum));
}

// Two float32 whose sum float64 holds exactly: that, rounded once, halves between two float32 and denormals among them.
TEST(Sums, OfVerbatimValuesAreRoundedOnce) {
  Random r(6);
  for (int round = 0; round < 200'000; ++round) {
    const auto some = [&](std::uint32_t exponent) {
      const auto mantissa = static_cast<std::uint32_t>(r.bits()) & (round % 2 ? 0x7fffffu : 0x700001u);
      return std::bit_cast<float>(static_cast<std::uint32_t>(r.below(2)) << 31 | exponent << 23 | mantissa);
    };
    const auto exponent = static_cast<std::uint32_t>(round % 4 ? r.below(220) : r.below(3));
    const float a = some(exponent), b = some(exponent + static_cast<std::uint32_t>(r.below(28)));
    ExactSum<float> sum;
    sum.add(a);
    sum.add(b);
    const double exact = static_cast<double>(a) + static_cast<double>(b);
    ASSERT_EQ(sum.value(), static_cast<float>(exact)) << a << " and " << b;
    ASSERT_EQ(sum.mean(3), static_cast<float>(exact / 3)) << a << " and " << b;
  }
}

template <class T>
class IntegerSums : public testing::Test {};
using Integers = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(IntegerSums, Integers);

TYPED_TEST(IntegerSums, AreExact) {
  Random r(11);
  for (const std::size_t p : {2, 3, 64}) {
    std::vector<TypeParam> total(2500), x(2500);
    Stream sum;
    for (std::size_t k = 0; k < p; ++k) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<TypeParam>(static_cast<std::int64_t>(r.bits()) >>
                                      (sizeof(TypeParam) == 4 ? 40 + k % 9 : 8 + k % 40));
        total[i] += x[i];
      }
      sum = k == 0 ? compressed(x, 0) : combined(Combine::add, sum, compressed(x, 0));
    }
    EXPECT_EQ(decoded<TypeParam>(sum), total) << p;
  }
}

}  // namespace
}  // namespace stretto::codec
