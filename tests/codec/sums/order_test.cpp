#include <algorithm>
#include <cmath>

#include "../inputs.hpp"
#include "../support.hpp"

namespace stretto::codec {
namespace {

// Adds neighbours of a shuffled list, at random, until one is left: any order and any tree.
Stream random_tree(std::vector<Stream> parts, Random& r, const Options& o) {
  for (std::size_t i = parts.size(); i > 1; --i) std::swap(parts[i - 1], parts[r.below(i)]);
  while (parts.size() > 1) {
    const std::size_t i = r.below(parts.size() - 1);
    parts[i] = combined(Combine::add, parts[i], parts[i + 1], o);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return parts[0];
}

template <class T>
void expect_one_sum(const std::vector<std::vector<T>>& fields, double eps, std::uint64_t seed) {
  std::vector<Stream> parts;
  for (const auto& f : fields) parts.push_back(compressed(f, eps));
  Stream chain = parts[0];
  for (std::size_t k = 1; k < parts.size(); ++k) chain = combined(Combine::add, chain, parts[k], with(Isa::reference));
  ASSERT_EQ(validate(chain), Status::ok) << message();
  Random r(seed);
  for (int round = 0; round < 12; ++round)
    for (const Isa isa : isas())
      ASSERT_TRUE(random_tree(parts, r, with(isa)) == chain) << "round " << round << ", " << name(isa);
}

template <class T>
class Order : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Order, Floats);

TYPED_TEST(Order, OfMixedPredictorsExceptionsAndWidthsDoesNotMatter) {
  for (const std::size_t p : {3, 5, 12, 17}) {
    SCOPED_TRACE(p);
    expect_one_sum(summands<TypeParam>(3 * 1024 + 77, 1e-4, p, p), 1e-4, p);
  }
}

TYPED_TEST(Order, OfEachPairAndTripleOfKindsDoesNotMatter) {
  const auto all = summands<TypeParam>(1024 + 40, 1e-3, 12, 5);
  for (std::size_t a = 0; a < 12; ++a)
    for (std::size_t b = a; b < 12; ++b) {
      SCOPED_TRACE(std::to_string(a) + " and " + std::to_string(b));
      const Stream sa = compressed(all[a], 1e-3), sb = compressed(all[b], 1e-3),
                   sc = compressed(all[(a + b) % 12], 1e-3);
      const Stream ab = combined(Combine::add, sa, sb);
      ASSERT_TRUE(ab == combined(Combine::add, sb, sa));
      ASSERT_TRUE(combined(Combine::add, ab, sc) == combined(Combine::add, sa, combined(Combine::add, sb, sc)));
    }
}

TYPED_TEST(Order, OfRaggedLastGroupsDoesNotMatter) {
  for (const std::size_t count : {1, 2, 31, 33, 700})
    expect_one_sum(summands<TypeParam>(count, 1e-4, 9, count), 1e-4, count);
}

TEST(Order, OfFusedAdditionsDoesNotMatter) {
  const auto fields = summands<float>(2100, 1e-4, 12, 9);
  Random r(2);
  Stream first;
  for (int round = 0; round < 6; ++round) {
    std::vector<std::size_t> order(fields.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[r.below(i)]);
    Stream sum = compressed(fields[order[0]], 1e-4);
    for (std::size_t i = 1; i < order.size(); ++i)
      sum = with_values(sum, fields[order[i]].data(), fields[order[i]].size());
    if (round == 0) first = sum;
    ASSERT_TRUE(sum == first) << round;
  }
}

TEST(Order, OfIntegersDoesNotMatter) {
  Random r(4);
  std::vector<std::vector<std::int64_t>> fields(7, std::vector<std::int64_t>(1500));
  for (std::size_t k = 0; k < fields.size(); ++k)
    for (std::size_t i = 0; i < 1500; ++i)
      fields[k][i] = k % 3 == 0 ? static_cast<std::int64_t>(i * k) : static_cast<std::int64_t>(r.bits()) >> (6 + 8 * k);
  expect_one_sum(fields, 0, 1);
}

TEST(Order, OfOperandsOfMinimumAndMaximumDoesNotMatter) {
  const auto all = summands<float>(1024 + 40, 1e-3, 12, 5);
  for (const Combine op : {Combine::min, Combine::max})
    for (std::size_t a = 0; a < 12; ++a)
      for (std::size_t b = 0; b < 12; ++b) {
        const Stream sa = compressed(all[a], 1e-3), sb = compressed(all[b], 1e-3),
                     sc = compressed(all[(a + 2 * b) % 12], 1e-3);
        const Stream ab = combined(op, sa, sb);
        ASSERT_TRUE(ab == combined(op, sb, sa)) << a << " and " << b;
        ASSERT_TRUE(combined(op, ab, sc) == combined(op, sa, combined(op, sb, sc))) << a << " and " << b;
      }
}

// Sums that are exact where a summand holds a fill differ by less than the values that they decode to.
TYPED_TEST(Order, OfOperandsWithExactSumsDoesNotMatter) {
  using T = TypeParam;
  constexpr double kEps = 1e-3;
  const auto all = summands<T>(2 * 1024 + 40, kEps, 12, 6);
  std::vector<std::vector<T>> fields = {all[5], all[8], std::vector<T>(all[0].size(), static_cast<T>(std::nan("1"))),
                                        std::vector<T>(all[0].size(), T{-0.0}), all[5]};
  for (std::size_t i = 0; i < all[0].size(); i += 5) fields[3][i] = T{1e25f};
  for (std::size_t i = 0; i < all[0].size(); i += 3) fields[4][i] = i % 2 ? INFINITY : -INFINITY;
  std::vector<Stream> streams;
  for (const auto& x : fields) streams.push_back(compressed(x, kEps));
  const std::size_t plain = streams.size();
  for (std::size_t a = 0; a < plain; ++a)
    for (const std::size_t k : {0, 1, 7}) streams.push_back(with_values(streams[a], all[k].data(), all[k].size()));
  std::size_t alike = 0;
  for (const Combine op : {Combine::min, Combine::max})
    for (std::size_t a = 0; a < streams.size(); ++a)
      for (std::size_t b = 0; b < streams.size(); ++b) {
        const Stream &sa = streams[a], &sb = streams[b];
        ASSERT_TRUE(combined(op, sa, sb) == combined(op, sb, sa)) << a << " and " << b;
        const auto va = decoded<T>(sa), vb = decoded<T>(sb);
        for (std::size_t i = 0; i < va.size(); ++i) alike += a != b && std::fabs(va[i]) > 1e19 && va[i] == vb[i];
      }
  EXPECT_GT(alike, 1000u);
}

}  // namespace
}  // namespace stretto::codec
