#include "payload/arithmetic/arithmetic.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace stretto::payload {
namespace {

TEST(Arithmetic, MinAndMaxOfFloatsCommuteToTheLastBitAndKeepNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const float odd[] = {0.0F, -0.0F, 1.0F, -1.0F, nan, -nan, std::bit_cast<float>(0x7fc01234u), inf, -inf, 1e-45F};
  for (const Op op : {Op::min, Op::max}) {
    for (const float a : odd) {
      for (const float b : odd) {
        float x = 0, y = 0;
        ASSERT_EQ(combine_values(op, Type::f32, &a, &b, &x, 1), Status::ok);
        ASSERT_EQ(combine_values(op, Type::f32, &b, &a, &y, 1), Status::ok);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y)) << a << " " << b;
        if (std::isnan(a) || std::isnan(b)) {
          EXPECT_TRUE(std::isnan(x));
        } else {
          EXPECT_EQ(x, op == Op::min ? std::fmin(a, b) : std::fmax(a, b));
        }
      }
    }
  }
  const float zeros[] = {0.0F, -0.0F};
  float low = 1, high = 1;
  ASSERT_EQ(combine_values(Op::min, Type::f32, &zeros[0], &zeros[1], &low, 1), Status::ok);
  ASSERT_EQ(combine_values(Op::max, Type::f32, &zeros[0], &zeros[1], &high, 1), Status::ok);
  EXPECT_TRUE(std::signbit(low));
  EXPECT_FALSE(std::signbit(high));
}

TEST(Arithmetic, IntegersWrap) {
  const std::int32_t a = std::numeric_limits<std::int32_t>::max(), b = 2;
  std::int32_t y = 0;
  ASSERT_EQ(combine_values(Op::sum, Type::i32, &a, &b, &y, 1), Status::ok);
  EXPECT_EQ(y, std::numeric_limits<std::int32_t>::min() + 1);
  ASSERT_EQ(combine_values(Op::prod, Type::i32, &a, &b, &y, 1), Status::ok);
  EXPECT_EQ(y, -2);
  const std::uint8_t c = 5;
  std::uint8_t z = 0;
  ASSERT_EQ(negate_values(Type::u8, &c, &z, 1), Status::ok);
  EXPECT_EQ(z, 251);
}

TEST(Arithmetic, TheResultMayBeEitherOperand) {
  for (const std::size_t n : {1u, 3u, 17u, 1000u}) {
    for (const bool left : {true, false}) {
      std::vector<double> a(n), b(n);
      for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<double>(i);
        b[i] = 1000.0;
      }
      double* out = left ? a.data() : b.data();
      ASSERT_EQ(combine_values(Op::sum, Type::f64, a.data(), b.data(), out, n), Status::ok);
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], static_cast<double>(i) + 1000.0);
    }
  }
}

TEST(Arithmetic, WhatIsNotDefinedIsRefusedByName) {
  float x = 1;
  EXPECT_EQ(combine_values(Op::band, Type::f32, &x, &x, &x, 1), Status::unsupported);
  EXPECT_NE(std::string(message()).find("band is not defined on f32"), std::string::npos);
  EXPECT_EQ(divide_values(Type::i32, &x, 1, 2), Status::unsupported);
  EXPECT_EQ(negate_values(Type::f64_i32, &x, &x, 1), Status::unsupported);
}

}  // namespace
}  // namespace stretto::payload
