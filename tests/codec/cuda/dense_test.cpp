// Kernels that turn fixed streams into dense ones and back, on emulated warps: the host's bytes, in any order of
// blocks, and the host's verdict on damaged streams.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "../inputs.hpp"
#include "emulated.hpp"

namespace stretto::codec {
namespace {

using cuda::Outcome;

Options coded(Coding coding) {
  Options o = with(Isa::reference);
  o.coding = coding;
  return o;
}

// The host's stream of the same groups.
Stream recoded(const Stream& s, Coding coding) { return sliced(s, 0, info_of(s).count, coded(coding)); }

template <class T>
void expect_both_ways(const Stream& fixed, const std::string& what) {
  const Stream dense = recoded(fixed, Coding::dense);
  const Emulated to = emulated_recoded<T>(fixed, true);
  ASSERT_EQ(to.outcome, Outcome::ok) << what;
  ASSERT_EQ(to.stream.size(), dense.size()) << what;
  const auto [a, b] = std::mismatch(to.stream.begin(), to.stream.end(), dense.begin());
  ASSERT_TRUE(a == to.stream.end()) << what << ": byte " << a - to.stream.begin() << " of " << dense.size();
  const Emulated from = emulated_recoded<T>(dense, false);
  ASSERT_EQ(from.outcome, Outcome::ok) << what;
  ASSERT_TRUE(from.stream == recoded(dense, Coding::fixed)) << what;
}

// Two chunks and a short group: smooth, noisy, and constant parts, so that groups have all predictors and widths.
template <class T>
std::vector<T> mixture(std::size_t n, double noise, std::uint64_t seed) {
  Random r(seed);
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(i);
    const std::size_t part = i / 3000 % 5;
    x[i] = static_cast<T>(part == 0   ? 0.0
                          : part == 1 ? std::sin(0.002 * t)
                          : part == 2 ? 1e-5 * t + noise * r.symmetric()
                          : part == 3 ? (r.below(200) ? 0.25 : 0.25 + r.symmetric())
                                      : std::sin(0.3 * t) + noise * r.symmetric());
  }
  return x;
}

template <class T>
class CudaDense : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaDense, Types);

TYPED_TEST(CudaDense, AllInputsGiveTheHostsBytesBothWays) {
  using T = TypeParam;
  for (const auto& in : inputs<T>()) expect_both_ways<T>(compressed(in.x, in.eps, with(Isa::reference)), in.name);
}

TYPED_TEST(CudaDense, ChunksOfAllWidthsGiveTheHostsBytesBothWays) {
  using T = TypeParam;
  const std::size_t n = 2 * 65536 + 5000;
  for (const double eps : {1e-2, 1e-4, 1e-6})
    expect_both_ways<T>(compressed(mixture<T>(n, 0.05, 7), eps, with(Isa::reference)), std::to_string(eps));
}

TYPED_TEST(CudaDense, SumsWithExceptionsGiveTheHostsBytesBothWays) {
  using T = TypeParam;
  const double eps = 1e-3;
  const auto x = summands<T>(2 * 1024 + 77, eps, 12, 5);
  std::vector<Stream> s;
  for (const auto& v : x) s.push_back(compressed(v, eps, with(Isa::reference)));
  for (std::size_t i = 0; i < s.size(); ++i)
    for (const Combine op : {Combine::add, Combine::max})
      expect_both_ways<T>(combined(op, s[i], s[(i + 5) % s.size()], with(Isa::reference)), std::to_string(i));
}

TYPED_TEST(CudaDense, WideSumsGiveTheHostsBytesBothWays) {
  using T = TypeParam;
  Stream sum = compressed(mixture<T>(9000, 1000, 3), 1e-5, with(Isa::reference));
  for (int k = 0; k < 2; ++k) sum = scaled(sum, 30001, with(Isa::reference));
  expect_both_ways<T>(sum, "wide");
}

TEST(CudaDenseTiles, AnyOrderOfBlocksGivesTheSameBytes) {
  const Stream fixed = compressed(mixture<float>(7 * 65536 + 99, 0.02, 11), 1e-3, with(Isa::reference));
  const Stream dense = recoded(fixed, Coding::dense);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Order order{4, seed};
    EXPECT_TRUE(emulated_recoded<float>(fixed, true, order).stream == dense) << seed;
    EXPECT_TRUE(emulated_recoded<float>(dense, false, order).stream == fixed) << seed;
  }
}

TEST(CudaDenseTiles, HalfTypesAndEmptyStreamsHaveTheHostsBytes) {
  std::vector<std::uint16_t> h(70000);
  Random r(9);
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = static_cast<std::uint16_t>(0x3c00 + r.below(64));
  for (const Type t : {Type::f16, Type::bf16})
    expect_both_ways<float>(compress_raw(t, h.data(), h.size(), 1e-2, with(Isa::reference)), name(t));
  expect_both_ways<float>(compressed(std::vector<float>{}, 1e-2, with(Isa::reference)), "empty");
}

TEST(CudaDenseDamage, TheOtherCodingIsUnsupported) {
  const Stream fixed = compressed(mixture<float>(5000, 0.1, 2), 1e-3, with(Isa::reference));
  EXPECT_EQ(emulated_recoded<float>(fixed, false).outcome, Outcome::unsupported);
  EXPECT_EQ(emulated_recoded<float>(recoded(fixed, Coding::dense), true).outcome, Outcome::unsupported);
}

TEST(CudaDenseDamage, SmallOutputsAreRefused) {
  const Stream fixed = compressed(mixture<float>(70000, 0.1, 2), 1e-3, with(Isa::reference));
  const Stream dense = recoded(fixed, Coding::dense);
  EXPECT_EQ(emulated_recoded<float>(fixed, true, {}, dense.size()).outcome, Outcome::ok);
  EXPECT_EQ(emulated_recoded<float>(fixed, true, {}, dense.size() - 4).outcome, Outcome::buffer_too_small);
  EXPECT_EQ(emulated_recoded<float>(dense, false, {}, fixed.size() - 4).outcome, Outcome::buffer_too_small);
}

// Where the host restores groups, kernels restore values that decode alike; else they refuse the stream, too.
template <class T>
void alter_and_compare(std::uint64_t seed) {
  Random r(seed);
  std::vector<Stream> all;
  for (const double eps : {1e-2, 1e-5})
    all.push_back(compressed(mixture<T>(20000, 0.05, seed), eps, coded(Coding::dense)));
  const auto marked = summands<T>(5000, 1e-3, 12, seed);
  for (const auto& x : marked) all.push_back(compressed(x, 1e-3, coded(Coding::dense)));
  std::size_t accepted = 0, refused = 0;
  for (const Stream& s : all)
    for (int k = 0; k < 60; ++k) {
      Stream t = s;
      for (std::size_t c = 1 + r.below(2); c > 0; --c)
        t[64 + r.below(t.size() - 64)] ^= static_cast<std::byte>(1u << r.below(8));
      const std::size_t n = info_of(s).count;
      std::vector<T> expected(n), got(n);
      const Status host = decompress(t, expected.data(), n, with(Isa::reference));
      (host == Status::ok ? accepted : refused) += 1;
      const Emulated fixed = emulated_recoded<T>(t, false);
      ASSERT_EQ(fixed.outcome == Outcome::ok, host == Status::ok) << "alteration " << k << ": " << message();
      if (host != Status::ok) continue;
      ASSERT_TRUE(fixed.stream == recoded(t, Coding::fixed)) << k;
      ASSERT_EQ(emulated_decompress<T>(fixed.stream, got.data(), n), Outcome::ok) << k;
      ASSERT_EQ(std::memcmp(expected.data(), got.data(), n * sizeof(T)), 0) << k;
    }
  EXPECT_GT(accepted, 50u);
  EXPECT_GT(refused, 50u);
}

TEST(CudaDenseDamage, AlteredStreamsAreJudgedAsTheHostJudgesThem) {
  alter_and_compare<float>(4);
  alter_and_compare<double>(5);
}

TEST(CudaDenseDamage, AlteredFixedStreamsAreNeverTakenForValid) {
  Random r(6);
  const Stream s = compressed(mixture<float>(9000, 0.05, 8), 1e-4, with(Isa::reference));
  for (int k = 0; k < 200; ++k) {
    Stream t = s;
    t[64 + r.below(std::min<std::size_t>(t.size() - 64, 400))] ^= static_cast<std::byte>(1u << r.below(8));
    std::vector<std::byte> out(combine_bound(Type::f32, 9000));
    std::size_t written = 0;
    const Status host = slice(t, 0, 9000, out, &written, coded(Coding::dense));
    const Emulated dense = emulated_recoded<float>(t, true);
    ASSERT_EQ(dense.outcome == Outcome::ok, host == Status::ok) << k << ": " << message();
    if (host == Status::ok) {
      out.resize(written);
      ASSERT_TRUE(dense.stream == out) << k;
    }
  }
}

}  // namespace
}  // namespace stretto::codec
