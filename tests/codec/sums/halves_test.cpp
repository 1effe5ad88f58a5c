#include <bit>
#include <cmath>

#include "../support.hpp"
#include "codec/numbers/half.hpp"

namespace stretto::codec {
namespace {

double value(Type t, std::uint16_t h) {
  const int fraction_bits = t == Type::f16 ? 10 : 7, exponent_bits = 15 - fraction_bits;
  const int exponent = h >> fraction_bits & ((1 << exponent_bits) - 1), fraction = h & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double v = 0;
  if (exponent == (1 << exponent_bits) - 1)
    v = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    v = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    v = std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return h >> 15 ? -v : v;
}

std::vector<std::uint16_t> every_half() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

class Halves : public testing::TestWithParam<Type> {};

TEST_P(Halves, EveryOneIsWithinEpsAndHalfAnUlpOrBitForBit) {
  const Type t = GetParam();
  const auto x = every_half();
  for (const double eps : {1e-9, 1e-3, 1.0, 120.0, 1e3, 1e4, 1.1e36, 1e37})
    for (const Isa isa : isas()) {
      const Stream s = compress_raw(t, x.data(), x.size(), eps, with(isa));
      ASSERT_EQ(validate(s), Status::ok) << message();
      std::vector<std::uint16_t> y(x.size());
      ASSERT_EQ(decompress(s, y.data(), y.size(), with(isa)), Status::ok) << message();
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] == y[i]) continue;
        const double a = value(t, x[i]), b = value(t, y[i]);
        ASSERT_TRUE(std::isfinite(a) && std::isfinite(b)) << "pattern " << i << " became " << y[i] << ", eps " << eps;
        const double half_ulp = std::ldexp(1, (b == 0 ? -1000 : std::ilogb(b)) - (t == Type::f16 ? 11 : 8));
        const double least = t == Type::f16 ? 0x1p-25 : 0x1p-134;  // half of the least denormal
        ASSERT_LE(std::fabs(a - b), eps + std::max(half_ulp, least)) << "pattern " << i << ", eps " << eps;
      }
    }
}

// Grid points between the largest half and the smallest number that rounds to infinity decode to the former; larger
// ones decode to infinity.
TEST_P(Halves, TheLargestStayFiniteAndHaveTheReferencesBytes) {
  const Type t = GetParam();
  const std::uint16_t largest = t == Type::f16 ? 0x7bff : 0x7f7f;
  std::vector<std::uint16_t> x(3000), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<std::uint16_t>((i % 3 ? 0x8000 : 0) | (largest - i % 7));
  Random r(9);
  for (int k = 0; k < 300; ++k) {
    const double eps = value(t, largest) * std::ldexp(1 + r.uniform(), -static_cast<int>(r.below(26)) - 1);
    SCOPED_TRACE("eps " + std::to_string(eps));
    const Stream s = compress_raw(t, x.data(), x.size(), eps, with(Isa::reference));
    const Stream twice = with_values(s, x.data(), x.size(), with(Isa::reference));
    for (const Isa isa : isas()) {
      ASSERT_EQ(compress_raw(t, x.data(), x.size(), eps, with(isa)), s) << name(isa);
      ASSERT_EQ(with_values(s, x.data(), x.size(), with(isa)), twice) << name(isa);
      ASSERT_EQ(decompress(s, y.data(), y.size(), with(isa)), Status::ok) << message();
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(std::isfinite(value(t, y[i]))) << name(isa) << " " << i;
    }
  }
}

TEST_P(Halves, SmallBoundsKeepEveryBitButTheSignOfZero) {
  const Type t = GetParam();
  auto x = every_half();
  x[0x8000] = 0;
  const Stream s = compress_raw(t, x.data(), x.size(), 1e-45);
  std::vector<std::uint16_t> y(x.size());
  ASSERT_EQ(decompress(s, y.data(), y.size()), Status::ok) << message();
  EXPECT_EQ(x, y);
}

TEST_P(Halves, SumsOfHalvesAreSumsOfTheirValues) {
  const Type t = GetParam();
  std::vector<std::uint16_t> x(1500), y(1500), z(1500);
  Random r(5);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto pick = [&] {
      return t == Type::f16 ? round_f16(static_cast<float>(r.symmetric()))
                            : round_bf16(static_cast<float>(r.symmetric()));
    };
    x[i] = pick();
    y[i] = pick();
  }
  const double eps = 1e-4;
  const Stream sum =
      combined(Combine::add, compress_raw(t, x.data(), x.size(), eps), compress_raw(t, y.data(), y.size(), eps));
  ASSERT_EQ(decompress(sum, z.data(), z.size()), Status::ok) << message();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = value(t, x[i]) + value(t, y[i]);
    ASSERT_LE(std::fabs(value(t, z[i]) - exact), 2 * eps + (t == Type::f16 ? 0x1p-10 : 0x1p-7));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Halves, testing::Values(Type::f16, Type::bf16),
                         [](const auto& i) { return name(i.param); });

TEST(Halves, WideningIsExactAndRoundingIsToNearestEven) {
  for (const auto h : every_half()) {
    const double f16 = value(Type::f16, h), bf16 = value(Type::bf16, h);
    if (!std::isnan(f16)) {
      ASSERT_EQ(widen_f16(h), f16);
      ASSERT_EQ(std::signbit(widen_f16(h)), h >> 15);
    }
    if (!std::isnan(bf16)) {
      ASSERT_EQ(widen_bf16(h), bf16);
    }
    ASSERT_EQ(round_f16(widen_f16(h)), h);
    ASSERT_EQ(round_bf16(widen_bf16(h)), h);
  }
  // Between neighbours: the nearer one, the even one of two as near.
  for (std::uint16_t h = 0; h < 0x7bff; ++h) {
    const float low = widen_f16(h), high = widen_f16(h + 1), mid = (low + high) / 2;
    ASSERT_EQ(round_f16(mid), h % 2 ? h + 1 : h);
    ASSERT_EQ(round_f16(std::nextafterf(mid, 1e9f)), h + 1);
    ASSERT_EQ(round_f16(std::nextafterf(mid, -1e9f)), h);
  }
  for (std::uint16_t h = 0; h < 0x7f7f; ++h) {
    const float low = widen_bf16(h), high = widen_bf16(h + 1), mid = low + (high - low) / 2;
    ASSERT_EQ(round_bf16(mid), h % 2 ? h + 1 : h);
    ASSERT_EQ(round_bf16(std::nextafterf(mid, INFINITY)), h + 1);
  }
  EXPECT_EQ(round_f16(65520.0f), 0x7c00);
  EXPECT_EQ(round_f16(std::bit_cast<float>(0xff800001u)), 0xfe00);
  EXPECT_EQ(round_bf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0);
}

}  // namespace
}  // namespace stretto::codec
