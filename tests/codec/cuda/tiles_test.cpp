// Blocks that share a stream and wait for one another's tiles, run in orders that no hardware would choose.
#include <cstring>

#include "../golden/hand_made.hpp"
#include "../inputs.hpp"
#include "emulated.hpp"

namespace stretto::codec {
namespace {

using cuda::Outcome;

TEST(CudaTiles, LookBackFindsEveryOffsetInAnyOrder) {
  Random r(3);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<std::uint64_t> sums(1 + r.below(80)), expected;
    std::uint64_t at = 0;
    for (auto& s : sums) {
      s = r.below(4) ? r.below(1000) : std::uint64_t{1} << 50;
      expected.push_back(at);
      at += s;
    }
    ASSERT_EQ(emulated_offsets(sums, seed), expected) << "seed " << seed;
  }
}

TEST(CudaTiles, AnyOrderOfBlocksGivesTheSameBytes) {
  const double eps = 1e-3;
  const auto x = summands<float>(64 * 1024 + 999, eps, 9, 11);
  const auto compressed_of = [&](std::size_t k) { return compressed(x[k], eps, with(Isa::reference)); };
  const Stream a = compressed_of(0), b = compressed_of(8), sum = combined(Combine::add, a, b, with(Isa::reference));
  for (const int blocks : {2, 7})
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      const Order order{blocks, seed};
      const auto& v = x[8];
      const Emulated c = emulated_compress<float>(Type::f32, v.data(), v.size(), eps, order);
      ASSERT_TRUE(c.outcome == Outcome::ok && c.stream == b) << blocks << " blocks, seed " << seed;
      const Emulated s = emulated_combine<float>(Combine::add, a, b, order);
      ASSERT_TRUE(s.outcome == Outcome::ok && s.stream == sum) << blocks << " blocks, seed " << seed;
      const Emulated f = emulated_add_values<float>(a, v.data(), v.size(), false, order);
      ASSERT_TRUE(f.outcome == Outcome::ok && f.stream == sum) << blocks << " blocks, seed " << seed;
    }
}

TEST(CudaTiles, Float64OperationsGiveTheSameBytesInAnyBlockOrder) {
  const double eps = 1e-3;
  const std::size_t n = 16 * 1024 + 77;
  const auto x = summands<double>(n, eps, 9, 12);
  const auto compressed_of = [&](std::size_t k) { return compressed(x[k], eps, with(Isa::reference)); };
  const Stream a = compressed_of(1), b = compressed_of(8);
  const auto values = decoded<double>(b, with(Isa::reference), 3);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Order order{5, seed};
    SCOPED_TRACE(seed);
    const auto same = [](const Emulated& got, const Stream& expected) {
      return got.outcome == Outcome::ok && got.stream == expected;
    };
    EXPECT_TRUE(same(emulated_compress<double>(Type::f64, x[8].data(), n, eps, order), b));
    for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max})
      EXPECT_TRUE(same(emulated_combine<double>(op, a, b, order), combined(op, a, b, with(Isa::reference))))
          << static_cast<int>(op);
    const Stream sum = with_values(a, x[8].data(), n, with(Isa::reference));
    for (const bool two_kernels : {false, true})
      EXPECT_TRUE(same(emulated_add_values<double>(a, x[8].data(), n, two_kernels, order), sum)) << two_kernels;
    std::vector<double> got(n);
    ASSERT_EQ(emulated_decompress<double>(b, got.data(), n, 3, order), Outcome::ok);
    EXPECT_EQ(std::memcmp(got.data(), values.data(), n * sizeof(double)), 0);
  }
}

// Values whose codes make the sum's bound exceed 32 bits, which is known only when all groups have been seen.
TEST(CudaTiles, SumsThatTurnOutWideAreDoneAgainByOneBlock) {
  const std::size_t n = 20 * 1024 + 5;
  std::vector<float> x(n, 1.0f), y(n, 1.0f);
  x[100] = 3e6f;
  y[n - 2000] = 3e6f;
  const double eps = 1e-3;
  const Stream a = compressed(x, eps, with(Isa::reference)), sum = with_values(a, y.data(), n, with(Isa::reference));
  ASSERT_GT(info_of(sum).code_bound, std::uint64_t{0x7fffffff});
  for (std::uint64_t seed = 0; seed <= 4; ++seed) {
    const Emulated f = emulated_add_values<float>(a, y.data(), n, false, {seed ? 5 : 1, seed});
    ASSERT_EQ(f.outcome, Outcome::ok);
    ASSERT_TRUE(f.stream == sum) << "seed " << seed;
  }
}

// As Fused.AddValuesThatWidenNeedNoMoreRoomThanTheirResult: narrow, these sums take 120 bytes more.
TEST(CudaTiles, SumsThatTurnOutWideNeedNoMoreRoomThanTheirResult) {
  std::vector<float> x(128), y(128);
  x[39] = y[78] = 1500.0f;
  std::fill(y.begin(), y.begin() + 39, 1e20f);
  std::fill(y.begin() + 109, y.end() - 1, 1e-6f);
  const Stream a = compressed(x, 5e-7, with(Isa::reference)),
               sum = with_values(a, y.data(), y.size(), with(Isa::reference));
  for (const std::size_t more : {0, 4, 64, 200}) {
    const Emulated f = emulated_add_values<float>(a, y.data(), y.size(), false, {}, sum.size() + more);
    ASSERT_EQ(f.outcome, Outcome::ok) << more;
    EXPECT_TRUE(f.stream == sum) << more;
  }
  const Emulated f = emulated_add_values<float>(a, y.data(), y.size(), false, {}, sum.size() - 1);
  EXPECT_EQ(f.outcome, Outcome::buffer_too_small);
}

// As Fused.AddValuesThatWidenMayFillTheLongestGroup.
TEST(CudaTiles, SumsThatTurnOutWideMayFillTheLongestGroup) {
  for (const std::size_t groups : {1, 65}) {
    const Stream a = longest_group(groups);
    std::vector<double> x(groups * kGroup);
    x[50] = 2;
    x[x.size() - 1000] = 4;
    const Stream sum = with_values(a, x.data(), x.size(), with(Isa::reference));
    for (const std::size_t room : {sum.size(), combine_bound(Type::f64, x.size())})
      for (const bool two_kernels : {false, true}) {
        const Emulated f = emulated_add_values<double>(a, x.data(), x.size(), two_kernels, {5, 1}, room);
        EXPECT_TRUE(f.outcome == Outcome::ok && f.stream == sum) << groups << ", room " << room << ", " << two_kernels;
      }
  }
}

TEST(CudaTiles, AnOutputThatIsTooSmallIsReportedAndNotExceeded) {
  for (const auto& in : inputs<float>()) {
    const Stream expected = compressed(in.x, in.eps, with(Isa::reference));
    const std::size_t body = cuda::layout_of(in.x.size()).body;
    if (expected.size() == body) continue;
    for (const std::size_t capacity : {body, (body + expected.size()) / 2, expected.size() - 1}) {
      const Emulated e = emulated_compress<float>(Type::f32, in.x.data(), in.x.size(), in.eps, {2, 9}, capacity);
      EXPECT_EQ(e.outcome, Outcome::buffer_too_small) << in.name;
    }
    const Emulated e = emulated_compress<float>(Type::f32, in.x.data(), in.x.size(), in.eps, {}, expected.size());
    EXPECT_TRUE(e.outcome == Outcome::ok && e.stream == expected) << in.name;
  }
}

}  // namespace
}  // namespace stretto::codec
