#include "payload/payload.hpp"

#include <gtest/gtest.h>

namespace stretto::payload {
namespace {

TEST(Payload, NamesComeBack) {
  for (const Traits& t : kAllTraits) {
    const Kind k = t.kind;
    Kind found{};
    EXPECT_TRUE(find(name(k), &found));
    EXPECT_EQ(found, k);
  }
  Kind none{};
  EXPECT_FALSE(find("zip", &none));
}

TEST(Payload, ErrorFactorsAreThoseOfTheContract) {
  Spec s;
  s.eps = 1;
  for (const int p : {1, 2, 13}) {
    s.op = Op::sum;
    s.kind = Kind::raw;
    EXPECT_EQ(error_factor(s, true, p), 0);
    s.kind = Kind::fused;
    EXPECT_EQ(error_factor(s, true, p), p);
    EXPECT_EQ(error_factor(s, false, p), 1);
    s.kind = Kind::recompress;
    EXPECT_EQ(error_factor(s, true, p), 2 * p - 1);
    s.op = Op::mean;
    EXPECT_DOUBLE_EQ(error_factor(s, true, p), (2.0 * p - 1) / p);
    s.op = Op::max;
    EXPECT_EQ(error_factor(s, true, p), 1);
  }
  s.type = Type::i32;
  EXPECT_EQ(error_factor(s, true, 5), 0);
}

TEST(Payload, SpecsAreCheckedByName) {
  Spec s;
  s.kind = Kind::fused;
  s.eps = 1e-3;
  EXPECT_EQ(check(s, true), Status::ok);
  s.op = Op::prod;
  EXPECT_EQ(check(s, true), Status::unsupported);
  EXPECT_EQ(check(s, false), Status::ok);  // nothing is combined
  s.op = Op::sum;
  s.eps = -1;
  EXPECT_EQ(check(s, true), Status::invalid_bound);
  EXPECT_NE(std::string(message()).find("-1"), std::string::npos);
  s.type = Type::i64;
  EXPECT_EQ(check(s, true), Status::ok);  // lossless
  s.type = Type::u8;
  EXPECT_EQ(check(s, true), Status::unsupported);
  s.kind = Kind::bfloat16;
  EXPECT_EQ(check(s, true), Status::unsupported);
  EXPECT_STREQ(message(), "payload bfloat16 takes f32, not u8");
  s.type = Type::f32;
  EXPECT_EQ(check(s, true), Status::ok);  // no bound
  s.op = Op::prod;
  EXPECT_EQ(check(s, true), Status::unsupported);
  s.type = Type::u8;
  s.kind = Kind::raw;
  EXPECT_EQ(check(s, true), Status::ok);
  s.op = Op::user;
  EXPECT_EQ(check(s, true), Status::invalid_argument);
}

}  // namespace
}  // namespace stretto::payload
