// The caller's rounding mode and treatment of denormals do not show in any result, and are left as they were.
#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "support.hpp"

namespace stretto::codec {
namespace {

template <class T>
struct Results {
  Stream stream, sum, twice;
  std::vector<T> values;
  double lo = 0, hi = 0;
  bool operator==(const Results&) const = default;
};

template <class T>
Results<T> results(const std::vector<T>& x, double eps, const Options& options) {
  Results<T> r;
  r.stream = compressed(x, eps, options);
  r.sum = with_values(r.stream, x.data(), x.size(), options);
  r.twice = combined(Combine::add, r.stream, r.sum, options);
  r.values = decoded<T>(r.twice, options);
  EXPECT_EQ(value_range(type_of<T>(), x.data(), x.size(), &r.lo, &r.hi, options), Status::ok);
  return r;
}

template <class T>
class Environment : public testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<T>(3 * std::sin(static_cast<double>(i) * 1e-3) + 0.013 * static_cast<double>(i % 17));
    }
    tiny[7] = std::numeric_limits<T>::denorm_min() * 1000;
    tiny[8] = -tiny[7];
    for (std::size_t i = 10; i < 1300; ++i) tiny[i] = std::numeric_limits<T>::min() / static_cast<T>(i);
  }
  std::vector<T> x = std::vector<T>(20000), tiny = std::vector<T>(3000);
};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Environment, Floats);

TYPED_TEST(Environment, RoundingModesDoNotShowInAnyResult) {
  for (const Isa isa : isas())
    for (const double eps : {1e-3, 3e-5, 1.2345e-2, 1e-40}) {
      const auto expected = results(this->x, eps, with(isa));
      for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(mode);
        const auto seen = results(this->x, eps, with(isa));
        const int after = std::fegetround();
        std::fesetround(FE_TONEAREST);
        EXPECT_EQ(after, mode);
        EXPECT_TRUE(seen == expected) << "eps " << eps << ", mode " << mode << ", " << name(isa);
      }
    }
}

#if defined(__x86_64__)
TYPED_TEST(Environment, FlushingDenormalsDoesNotShowInAnyResult) {
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  for (const Isa isa : isas()) {
    // No denormal itself, so that of float64 only float32 has codes of denormals.
    const double eps = static_cast<double>(std::numeric_limits<TypeParam>::min()) / (sizeof(TypeParam) == 4 ? 4096 : 1);
    const auto expected = results(this->tiny, eps, with(isa));
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | flush_to_zero | denormals_are_zero);
    const auto seen = results(this->tiny, eps, with(isa));
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after & (flush_to_zero | denormals_are_zero), flush_to_zero | denormals_are_zero);
    EXPECT_TRUE(seen.stream == expected.stream && seen.sum == expected.sum && seen.twice == expected.twice)
        << name(isa);
    EXPECT_EQ(std::memcmp(seen.values.data(), expected.values.data(), seen.values.size() * sizeof(TypeParam)), 0)
        << name(isa);
    const auto subnormal = [](TypeParam v) { return std::fpclassify(v) == FP_SUBNORMAL; };
    EXPECT_EQ(std::any_of(seen.values.begin(), seen.values.end(), subnormal), sizeof(TypeParam) == 4) << name(isa);
    EXPECT_TRUE(seen.lo == expected.lo && seen.hi == expected.hi) << name(isa) << ": " << seen.lo << " to " << seen.hi;
  }
}

TYPED_TEST(Environment, ABoundThatTheCallerFlushesIsStillOne) {
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  const double eps = std::numeric_limits<double>::denorm_min() * 1000;
  for (const Isa isa : isas()) {
    const auto expected = results(this->tiny, eps, with(isa));
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | flush_to_zero | denormals_are_zero);
    const auto seen = results(this->tiny, eps, with(isa));
    const double of_sum = info_of(seen.twice).eps;
    _mm_setcsr(before);
    EXPECT_EQ(of_sum, eps) << name(isa);
    EXPECT_TRUE(seen.stream == expected.stream && seen.sum == expected.sum && seen.twice == expected.twice)
        << name(isa);
  }
}

TYPED_TEST(Environment, OfBoundsThatTheCallerFlushesTheLargerOneIsFound) {
  constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;
  const double eps = std::numeric_limits<double>::denorm_min() * 1000;
  const Stream a = compressed(this->tiny, eps), b = compressed(this->tiny, 3 * eps);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | flush_to_zero | denormals_are_zero);
  const Stream ends = joined(a, b), sum = combined(Combine::add, a, b);
  _mm_setcsr(before);
  EXPECT_EQ(info_of(ends).eps, 3 * eps);
  EXPECT_EQ(info_of(sum).eps, 3 * eps);
}
#endif

}  // namespace
}  // namespace stretto::codec
