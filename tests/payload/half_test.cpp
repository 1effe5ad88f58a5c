#include "payload/arithmetic/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace stretto::payload {
namespace {

// The value of a binary16, from its definition.
double value_of(std::uint16_t h) {
  const int exponent = (h >> 10) & 31, fraction = h & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return h & 0x8000 ? -magnitude : magnitude;
}

bool is_special(std::uint16_t h) { return ((h >> 10) & 31) == 31; }

TEST(F16, EveryPatternWidensToItsValueAndComesBack) {
  for (unsigned b = 0; b < 65536; ++b) {
    const F16 h{static_cast<std::uint16_t>(b)};
    const float x = widen(h);
    if (!is_special(h.bits)) {
      ASSERT_EQ(static_cast<double>(x), value_of(h.bits)) << b;
      ASSERT_EQ(std::signbit(x), b >= 32768) << b;
    } else if ((b & 1023) == 0) {
      ASSERT_TRUE(std::isinf(x)) << b;
    } else {
      ASSERT_TRUE(std::isnan(x)) << b;
      ASSERT_TRUE(std::isnan(widen(narrow_f16(x)))) << b;
      continue;
    }
    ASSERT_EQ(narrow_f16(x).bits, b);
  }
}

#if defined(__SSE__)
TEST(F16, SubnormalsRoundTripWithDenormalsAreZero) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // denormals are zero, flush to zero
  unsigned wrong = 0;
  for (unsigned b = 0; b < 65536; ++b) {
    const F16 h{static_cast<std::uint16_t>(b)};
    if (!is_special(h.bits))
      wrong += static_cast<double>(widen(h)) != value_of(h.bits) || narrow_f16(widen(h)).bits != b;
  }
  _mm_setcsr(before);
  EXPECT_EQ(wrong, 0u);
}
#endif

TEST(F16, RoundsToTheNearestAndTiesToEven) {
  for (unsigned b = 0; b < 0x7BFF; ++b) {
    const double low = value_of(static_cast<std::uint16_t>(b)), high = value_of(static_cast<std::uint16_t>(b + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(narrow_f16(middle).bits, b % 2 == 0 ? b : b + 1) << b;
    ASSERT_EQ(narrow_f16(std::nextafter(middle, 0.0F)).bits, b) << b;
    ASSERT_EQ(narrow_f16(std::nextafter(middle, 1e9F)).bits, b + 1) << b;
    ASSERT_EQ(narrow_f16(-middle).bits, (b % 2 == 0 ? b : b + 1) | 0x8000u) << b;
  }
  EXPECT_EQ(narrow_f16(65519.99F).bits, 0x7BFF);
  EXPECT_EQ(narrow_f16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(narrow_f16(1e30F).bits, 0x7C00);
}

TEST(BF16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t b = 0; b < 0x7F7F; ++b) {
    const std::uint32_t middle = b << 16 | 0x8000u;
    ASSERT_EQ(narrow_bf16(std::bit_cast<float>(middle)).bits, b % 2 == 0 ? b : b + 1);
    ASSERT_EQ(narrow_bf16(std::bit_cast<float>(middle - 1)).bits, b);
    ASSERT_EQ(narrow_bf16(std::bit_cast<float>(middle + 1)).bits, b + 1);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(widen(BF16{static_cast<std::uint16_t>(b)})), b << 16);
  }
  EXPECT_TRUE(std::isnan(widen(narrow_bf16(std::bit_cast<float>(0x7F800001u)))));
}

}  // namespace
}  // namespace stretto::payload
