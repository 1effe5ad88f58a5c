#include <cmath>
#include <limits>

#include "../support.hpp"
#include "exactly.hpp"

namespace stretto::codec {
namespace {

TEST(Overflow, CodesOfOneAndAHalfBillionAddRightly) {
  const double eps = 5e-7;
  for (const float v : {1500.0f, -1500.0f}) {
    const std::vector<float> x(1500, v);
    const Stream a = compressed(x, eps);
    ASSERT_EQ(info_of(a).exceptions, 0u);
    ASSERT_GT(info_of(a).code_bound, 1400000000u);
    for (const Isa isa : isas()) {
      const Stream sum = combined(Combine::add, a, a, with(isa));
      EXPECT_GT(info_of(sum).code_bound, std::uint64_t{1} << 31);
      EXPECT_TRUE(sum == with_values(a, x.data(), x.size(), with(isa)));
      for (const float y : decoded<float>(sum, with(isa))) ASSERT_EQ(y, 2 * v);
    }
  }
}

TEST(Overflow, ManyAdditionsWidenAndStayRight) {
  const double eps = 5e-7;
  const std::vector<float> x(1100, 1500.0f);
  Stream sum = compressed(x, eps);
  for (int doublings = 1; doublings <= 20; ++doublings) {
    sum = combined(Combine::add, sum, sum);
    const double exact = std::ldexp(1500.0, doublings), allowed = info_of(sum).promised() + exact * 0x1p-25;
    for (const float y : decoded<float>(sum)) ASSERT_LE(std::fabs(y - exact), allowed) << doublings;
  }
}

TEST(Overflow, SubtractionOfOppositeSignsWidens) {
  const std::vector<float> x(1100, 1500.0f), y(1100, -1500.0f);
  const Stream d = combined(Combine::subtract, compressed(x, 5e-7), compressed(y, 5e-7));
  for (const float v : decoded<float>(d)) ASSERT_EQ(v, 3000.0f);
}

TEST(Overflow, ScalingWidens) {
  const std::vector<float> x(1100, 1500.0f);
  for (const int k : {2, 1000, -1000}) {
    const Stream s = scaled(compressed(x, 5e-7), k);
    for (const float v : decoded<float>(s))
      ASSERT_NEAR(v, 1500.0 * k, info_of(s).promised() + std::fabs(1500.0 * k) * 0x1p-24);
  }
}

TEST(Overflow, OnlySomeGroupsBeingWideIsRight) {
  std::vector<double> x(4 * 1024 + 9), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = i / 1024 % 2 ? 1e9 + static_cast<double>(i) : static_cast<double>(i);
    y[i] = static_cast<double>(i) * 3;
  }
  const Stream sum = combined(Combine::add, compressed(x, 1e-6), compressed(y, 1e-6));
  const auto z = decoded<double>(sum);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(z[i], x[i] + y[i], 2e-6 + 1e-7);
}

TEST(Overflow, BeyondSixtyFourBitsIsRefusedByName) {
  const std::vector<std::int64_t> x(70, std::int64_t{1} << 62);
  const Stream a = compressed(x, 0);
  Stream out(combine_bound(Type::i64, x.size()));
  std::size_t written = 0;
  for (const Combine op : {Combine::add, Combine::subtract}) {
    EXPECT_EQ(combine(op, a, a, out, &written), Status::overflow);
    EXPECT_NE(std::string(message()).find("4611686018427387904"), std::string::npos) << message();
  }
  EXPECT_EQ(add_values(a, x.data(), x.size(), out, &written), Status::overflow);
  EXPECT_NE(std::string(message()).find("4611686018427387904"), std::string::npos) << message();
  EXPECT_EQ(scale(a, 2, out, &written), Status::overflow);
  EXPECT_NE(std::string(message()).find("4611686018427387904"), std::string::npos) << message();
  const std::vector<std::int64_t> least(3, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(combine(Combine::add, compressed(least, 0), compressed(std::vector<std::int64_t>(3, 1), 0), out, &written),
            Status::overflow);
}

TEST(Overflow, UpToSixtyThreeBitsIsExact) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> x(70, most - 5), y(70, 5);
  EXPECT_EQ(decoded<std::int64_t>(combined(Combine::add, compressed(x, 0), compressed(y, 0))),
            std::vector<std::int64_t>(70, most));
}

TEST(Overflow, ASumOutsideInt32IsRefusedWhenDecoded) {
  const std::vector<std::int32_t> x(70, 2000000000);
  const Stream sum = combined(Combine::add, compressed(x, 0), compressed(x, 0));
  std::vector<std::int32_t> y(70);
  EXPECT_EQ(decompress(sum, y.data(), y.size()), Status::overflow);
  ASSERT_EQ(decompress(sum, y.data(), y.size(), {}, 2), Status::ok) << message();
  EXPECT_EQ(y, x);
}

TEST(Overflow, ContributionsBeyondTheirFieldAreRefused) {
  const std::vector<float> x(3, 0.0f);
  const Stream a = scaled(compressed(x, 1e-3), std::numeric_limits<std::int32_t>::max());
  const Stream twice = combined(Combine::add, a, a);
  EXPECT_EQ(info_of(twice).contributions, 4294967294u);
  Stream out(5000);
  std::size_t written = 0;
  EXPECT_EQ(combine(Combine::add, twice, a, out, &written), Status::overflow);
  const Stream full = with_values(twice, x.data(), x.size());
  EXPECT_EQ(add_values(full, x.data(), x.size(), out, &written), Status::overflow);
}

}  // namespace
}  // namespace stretto::codec
