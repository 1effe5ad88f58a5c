#include "../inputs.hpp"
#include "../sums/exactly.hpp"
#include "../support.hpp"

namespace stretto::codec {
namespace {

template <class T>
void expect_same(const std::vector<T>& wanted, const std::vector<T>& got) {
  ASSERT_EQ(wanted.size(), got.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_TRUE(same_bits(wanted[i], got[i])) << i;
}

template <class T>
std::vector<T> part(const std::vector<T>& x, std::size_t first, std::size_t n) {
  const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

template <class T>
class Edit : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Edit, Floats);

TYPED_TEST(Edit, ASliceDecodesToThatPartBitForBit) {
  Random r(12);
  auto fields = summands<TypeParam>(3 * 1024 + 77, 1e-4, 12, 51);
  for (std::size_t k = 0; k < fields.size(); ++k) {
    Stream a = compressed(fields[k], 1e-4);
    if (k % 2) a = combined(Combine::add, a, compressed(fields[k - 1], 1e-4));
    const auto y = decoded<TypeParam>(a);
    for (int round = 0; round < 30; ++round) {
      const std::size_t first = round % 5 == 0 ? 1024 * r.below(3) : r.below(y.size() + 1),
                        n = r.below(y.size() - first + 1);
      const Stream s = sliced(a, first, n);
      ASSERT_EQ(validate(s), Status::ok) << message();
      expect_same(part(y, first, n), decoded<TypeParam>(s));
      std::vector<TypeParam> direct(n);
      ASSERT_EQ(decompress_slice(a, first, n, direct.data()), Status::ok) << message();
      expect_same(part(y, first, n), direct);
    }
    EXPECT_TRUE(sliced(a, 0, y.size()) == a) << k;
  }
}

TYPED_TEST(Edit, SlicesJoinedAgainDecodeToTheWhole) {
  Random r(13);
  for (const auto& x : summands<TypeParam>(2 * 1024 + 300, 1e-4, 12, 52)) {
    const Stream a = compressed(x, 1e-4);
    for (int round = 0; round < 10; ++round) {
      const std::size_t cut = r.below(x.size() + 1);
      const Stream both = joined(sliced(a, 0, cut), sliced(a, cut, x.size() - cut));
      ASSERT_EQ(validate(both), Status::ok) << message();
      expect_same(decoded<TypeParam>(a), decoded<TypeParam>(both));
    }
  }
}

TYPED_TEST(Edit, StreamsJoinedAtGroupsAreTheStreamOfTheWhole) {
  for (const auto& x : summands<TypeParam>(5 * 1024 + 300, 1e-4, 12, 53))
    for (const std::size_t cut : {0, 1024, 4096})
      EXPECT_TRUE(joined(compressed(part(x, 0, cut), 1e-4), compressed(part(x, cut, x.size() - cut), 1e-4)) ==
                  compressed(x, 1e-4))
          << cut;
}

TYPED_TEST(Edit, StreamsOfDifferentKindsJoin) {
  const auto all = summands<TypeParam>(1024 + 300, 1e-4, 12, 54);
  for (std::size_t a = 0; a < 12; ++a)
    for (std::size_t b = 0; b < 12; ++b) {
      const Stream sa = compressed(all[a], 1e-4), sb = compressed(all[b], 1e-4), both = joined(sa, sb);
      ASSERT_EQ(validate(both), Status::ok) << message();
      auto wanted = decoded<TypeParam>(sa);
      const auto rest = decoded<TypeParam>(sb);
      wanted.insert(wanted.end(), rest.begin(), rest.end());
      expect_same(wanted, decoded<TypeParam>(both));
    }
}

TEST(Edit, OutsideTheStreamIsRefused) {
  const Stream a = compressed(std::vector<float>(100, 1.0f), 1e-3);
  Stream out(5000);
  std::vector<float> y(200);
  std::size_t written = 0;
  EXPECT_EQ(slice(a, 101, 0, out, &written), Status::invalid_argument);
  EXPECT_EQ(slice(a, 50, 51, out, &written), Status::invalid_argument);
  EXPECT_EQ(slice(a, 50, ~std::size_t{0}, out, &written), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find(std::to_string(~std::size_t{0}) + " values from 50 on"), std::string::npos)
      << message();
  EXPECT_EQ(decompress_slice(a, 50, 51, y.data()), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("51 values from 50 on"), std::string::npos) << message();
  EXPECT_EQ(decompress(a, y.data(), 99), Status::invalid_argument);
}

TEST(Edit, JoiningDifferentTypesGridsOrContributionsIsRefused) {
  const Stream a = compressed(std::vector<float>(100, 1.0f), 1e-3);
  Stream out(5000);
  std::size_t written = 0;
  EXPECT_EQ(concatenate(a, compressed(std::vector<double>(100, 1.0), 1e-3), out, &written), Status::incompatible);
  EXPECT_EQ(concatenate(a, compressed(std::vector<float>(100, 1.0f), 2e-3), out, &written), Status::incompatible);
  EXPECT_EQ(concatenate(a, scaled(a, 2), out, &written), Status::incompatible);
}

TEST(Edit, IntegersSliceAndJoin) {
  Random r(14);
  std::vector<std::int64_t> x(3000);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = i < 1500 ? static_cast<std::int64_t>(i) : static_cast<std::int64_t>(r.bits());
  const Stream a = compressed(x, 0);
  EXPECT_EQ(decoded<std::int64_t>(sliced(a, 700, 1900)), part(x, 700, 1900));
  EXPECT_EQ(decoded<std::int64_t>(joined(sliced(a, 0, 1700), sliced(a, 1700, 1300))), x);
}

}  // namespace
}  // namespace stretto::codec
