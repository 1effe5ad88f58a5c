// A mean is the exact sum, divided and rounded once to float64 (and from there to float32).
#include <bit>
#include <cmath>

#include "../every_target.hpp"
#include "codec/numbers/exact.hpp"
#include "codec/numbers/grid.hpp"
#include "exactly.hpp"
#include "means.hpp"

namespace stretto::codec {
namespace {

// += a * b * 2^e for |b| < 2^54.
void add_product(Exact& sum, std::int64_t a, std::int64_t b, int e) {
  const std::int64_t low = a % (1 << 30), high = a / (1 << 30), b_low = b % (1 << 27), b_high = b / (1 << 27);
  sum.add_scaled(low * b_low, e);
  sum.add_scaled(low * b_high, e + 27);
  sum.add_scaled(high * b_low, e + 30);
  sum.add_scaled(high * b_high, e + 57);
}
void add_product(Exact& sum, std::int64_t a, double b) {
  int e = 0;
  const double m = std::frexp(b, &e);
  add_product(sum, a, static_cast<std::int64_t>(std::ldexp(m, 53)), e - 53);
}

// Units in the last place between y and sum / n, in quarters and rounded up: 2 is the nearest. From float64 to float32
// a half may grow by its 2^-29th.
template <class T>
int quarters_off(const Exact& sum, std::uint32_t n, T y) {
  constexpr int lowest = std::numeric_limits<T>::min_exponent;
  int e = 0;
  std::frexp(y, &e);
  const int quarter = (y == 0 || e < lowest ? lowest : e) - std::numeric_limits<T>::digits - 2;
  Exact off = sum;
  add_product(off, -std::int64_t{n}, static_cast<double>(y));
  if (off.sign() < 0) off = -off;
  int quarters = 0;
  if constexpr (sizeof(T) == 4) off.add_scaled(-std::int64_t{n}, quarter - 28);
  while (off.sign() > 0 && quarters < 100) {
    off.add_scaled(-std::int64_t{n}, quarter);
    ++quarters;
  }
  return quarters;
}

template <class T>
class Means : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Means, Floats);

}  // namespace

TYPED_TEST(Means, OfCodesAreTheNearestNumbers) {
  for (const HardSum& s : hard_sums<TypeParam>())
    for (const std::uint32_t n : kHardDivisors) {
      const auto y = decoded<TypeParam>(s.stream, with(Isa::reference), n);
      for (std::size_t i = 0; i < y.size(); ++i) {
        Exact sum;
        const std::int64_t q = s.groups[i / kGroup].q[i % kGroup];
        add_product(sum, q, s.width);
        if (std::isinf(y[i])) continue;  // of wide codes
        ASSERT_LE(quarters_off(sum, n, y[i]), 2) << q << " times " << s.width << " over " << n << " is not " << y[i];
      }
    }
}

TYPED_TEST(Means, OfCodesAreTheSameOnEveryInstructionSet) {
  for (const HardSum& s : hard_sums<TypeParam>())
    for (const std::uint32_t n : kHardDivisors) {
      const auto wanted = decoded<TypeParam>(s.stream, with(Isa::reference), n);
      on_every_instruction_set([&](const Options& options, const char* target) {
        const auto got = decoded<TypeParam>(s.stream, options, n);
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_TRUE(same_bits(got[i], wanted[i]))
              << target << ": " << s.groups[i / kGroup].q[i % kGroup] << " times " << s.width << " over " << n << " is "
              << wanted[i] << ", not " << got[i];
      });
    }
}

TYPED_TEST(Means, OfExactSumsAreTheNearestNumbers) {
  using T = TypeParam;
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Random r(8);
  for (int round = 0; round < 50'000; ++round) {
    ExactSum<T> sum;
    Exact exact;
    const int near = static_cast<int>(r.below(3)), terms = 1 + static_cast<int>(r.below(4));
    const U like = static_cast<U>(r.bits());
    for (int k = 0; k < terms; ++k) {
      const U bits = near == 0   ? static_cast<U>(r.bits())
                     : near == 1 ? like ^ static_cast<U>(r.bits() >> (64 - 50))
                                 : like >> k;
      const T x = std::bit_cast<T>(static_cast<U>(bits & ~(U{1} << (std::numeric_limits<T>::digits - 1))));
      if (!std::isfinite(x)) continue;
      const bool minus = r.below(2);
      sum.add(x, minus);
      exact.add(static_cast<double>(x), minus);
    }
    const std::uint32_t n = kHardDivisors[r.below(std::size(kHardDivisors))];
    const T y = sum.mean(n);
    if (std::isinf(y)) continue;
    ASSERT_LE(quarters_off(exact, n, y), 2) << "round " << round << ", over " << n << ": " << y;
  }
}

TEST(Mean, DividesAWidthOnlyIfTheQuotientIsExact) {
  EXPECT_TRUE(divides_exactly<float>(0x1.8p-10, 4));
  EXPECT_TRUE(divides_exactly<double>(0x1.0000000000001p-900, 1024));
  EXPECT_FALSE(divides_exactly<float>(0x1.8p-10, 3));
  EXPECT_FALSE(divides_exactly<float>(0x1.00002p-126, 1 << 8));  // subnormal numbers have fewer bits
  EXPECT_FALSE(divides_exactly<double>(0x1.0000000000001p-1022, 2));
}

TEST(Mean, OfTheLeastNumberIsRoundedToEven) {
  for (const auto& [units, n, wanted] :
       {std::tuple{1, 2u, 0}, {3, 2u, 2}, {5, 2u, 2}, {1, 3u, 0}, {2, 3u, 1}, {1, 1u, 1}}) {
    ExactSum<double> sum;
    sum.add(units * 0x1p-1074);
    EXPECT_EQ(sum.mean(n), wanted * 0x1p-1074) << units << " over " << n;
  }
}

}  // namespace stretto::codec
