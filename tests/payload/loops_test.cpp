// Every instruction set matches the operations' definitions, bit for bit.
#include "payload/arithmetic/loops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "payload/arithmetic/operations.hpp"
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace stretto::payload {
namespace {

// Highway's possible targets that this build and processor have.
std::vector<const char*> targets() {
  std::vector<const char*> there;
  for (const char* name : {"SSE2", "AVX2", "AVX3", "AVX3_ZEN4", "AVX3_SPR", "NEON", "NEON_WITHOUT_AES", "SVE", "SVE2",
                           "SVE_256", "SVE2_128", "EMU128", "SCALAR"})
    if (choose_loops_target(name)) there.push_back(name);
  choose_loops_target(nullptr);
  return there;
}

class Loops : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(choose_loops_target(GetParam())); }
  void TearDown() override { choose_loops_target(nullptr); }
};

template <class T>
bool is_nan(T) {
  return false;
}
bool is_nan(float x) { return std::isnan(x); }
bool is_nan(double x) { return std::isnan(x); }
bool is_nan(F16 x) { return (x.bits & 0x7FFF) > 0x7C00; }
bool is_nan(BF16 x) { return (x.bits & 0x7FFF) > 0x7F80; }

// True for equal bits or, if an operation leaves the choice of NaN open, for two NaN.
template <class T>
bool alike(const T& a, const T& b, bool any_nan) {
  if constexpr (Complex<T>) {
    return alike(a.real(), b.real(), any_nan) && alike(a.imag(), b.imag(), any_nan);
  } else if constexpr (Pair<T>) {
    return alike(a.value, b.value, any_nan) && a.index == b.index;
  } else {
    return std::memcmp(&a, &b, sizeof(T)) == 0 || (any_nan && is_nan(a) && is_nan(b));
  }
}

// Random bits, so every kind of number of every type, with runs of equal values and zeros of both signs.
template <class T>
std::vector<T> values(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> x(n);
  for (T& v : x) {
    std::uint64_t bits[2] = {random(), random()};
    if (random() % 8 == 0) bits[0] = bits[1] = random() % 2 == 0 ? 0x8000800080008000u : 0;
    if (random() % 8 == 0) bits[0] = bits[1] = 0x3C003F803C003F80u;
    std::memcpy(static_cast<void*>(&v), bits, sizeof(T));
  }
  return x;
}

// The longest covers whole vectors and a remainder, also in place.
template <class O, class T>
void expect_as_defined(CombineLoop loop, bool any_nan) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{4099}}) {
    const std::vector<T> a = values<T>(n, 1), b = values<T>(n, 2);
    std::vector<T> apart(n), left = a, right = b;
    loop(a.data(), b.data(), apart.data(), n);
    loop(left.data(), b.data(), left.data(), n);
    loop(a.data(), right.data(), right.data(), n);
    std::size_t wrong = 0, first = n;
    for (std::size_t i = 0; i < n; ++i) {
      const T y = O::apply(a[i], b[i]);
      if (alike(apart[i], y, any_nan) && alike(left[i], y, any_nan) && alike(right[i], y, any_nan)) continue;
      if (wrong++ == 0) first = i;
    }
    ASSERT_EQ(wrong, 0u) << "the first of " << n << " is element " << first;
  }
}

constexpr Op kAllOps[] = {Op::sum,  Op::prod, Op::min, Op::max,  Op::land,   Op::lor,
                          Op::lxor, Op::band, Op::bor, Op::bxor, Op::minloc, Op::maxloc};
constexpr Type kAllTypes[] = {Type::i8,  Type::i16,  Type::i32,     Type::i64,     Type::u8,      Type::u16,
                              Type::u32, Type::u64,  Type::f16,     Type::bf16,    Type::f32,     Type::f64,
                              Type::c64, Type::c128, Type::f32_i32, Type::f64_i32, Type::i32_i32, Type::i64_i32};

TEST_P(Loops, CombineAsTheOperationsAreDefined) {
  for (const Op op : kAllOps) {
    for (const Type type : kAllTypes) {
      const CombineLoop loop = combine_loop(op, type);
      SCOPED_TRACE(std::string(name(op)) + " of " + name(type));
      const bool any_nan = op == Op::sum || op == Op::prod;
      const bool known = with_op(op, [=]<class O>() {
        return with_type(type, [=]<class T>() {
          if constexpr (!std::is_void_v<O> && !std::is_void_v<T>) {
            if constexpr (Defined<O, T>) {
              if (loop != nullptr) expect_as_defined<O, T>(loop, any_nan);
              return true;
            }
          }
          return false;
        });
      });
      EXPECT_EQ(loop != nullptr, known);
    }
  }
}

TEST_P(Loops, Float32NarrowsToBfloat16AsDefinedFromAnyElementOn) {
  std::vector<float> x = values<float>(70001, 3);
  // Around each bfloat16: half a unit up is a tie, and beside it are its neighbours.
  for (std::uint32_t half = 0; half < 65536; ++half)
    for (const std::uint32_t low : {0u, 0x7FFFu, 0x8000u, 0x8001u}) x.push_back(std::bit_cast<float>(half << 16 | low));
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{3}, x.size() - 5}) {
    const std::size_t n = x.size() - first;
    std::vector<BF16> y(n + 1, BF16{0xABCD});
    narrow_loop()(x.data() + first, y.data(), n);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += y[i].bits != narrow_bf16(x[first + i]).bits;
    EXPECT_EQ(wrong, 0u) << "from " << first;
    EXPECT_EQ(y[n].bits, 0xABCD);
    std::vector<float> z(n + 1, -5);
    widen_loop()(y.data(), z.data(), n);
    for (std::size_t i = 0; i < n; ++i) wrong += std::bit_cast<std::uint32_t>(z[i]) != std::uint32_t{y[i].bits} << 16;
    EXPECT_EQ(wrong, 0u) << "from " << first;
    EXPECT_EQ(z[n], -5);
  }
}

TEST_P(Loops, HalvesMeetEveryPatternOfTheOther) {
  const CombineLoop sum = combine_loop(Op::sum, Type::f16), low = combine_loop(Op::min, Type::bf16);
  std::vector<F16> all(65536), y(65536);
  for (unsigned b = 0; b < 65536; ++b) all[b].bits = static_cast<std::uint16_t>(b);
  std::vector<BF16> other(65536), z(65536);
  for (unsigned b = 0; b < 65536; ++b) other[b].bits = static_cast<std::uint16_t>(b);
  // 1, the smallest subnormal, the largest number, the smallest normal one and its negative, infinity, a signalling
  // NaN.
  for (const std::uint16_t with : {0x3C00, 0x0001, 0x7BFF, 0x0400, 0x8400, 0x7C00, 0x7D01}) {
    const std::vector<F16> a(65536, F16{with});
    sum(all.data(), a.data(), y.data(), all.size());
    const std::vector<BF16> b(65536, BF16{with});
    low(other.data(), b.data(), z.data(), z.size());
    for (unsigned i = 0; i < 65536; ++i) {
      ASSERT_TRUE(alike(y[i], Sum::apply(all[i], a[i]), true)) << i << " + " << with;
      ASSERT_TRUE(alike(z[i], Extreme<false>::apply(other[i], b[i]), false)) << i << " and " << with;
    }
  }
}

TEST_P(Loops, MeansAreDividedAsDefined) {
  for (const std::uint32_t by : {1u, 3u, 13u}) {
    const std::size_t n = 4099;
    std::vector<F16> halves = values<F16>(n, 3);
    std::vector<BF16> brains = values<BF16>(n, 4);
    std::vector<double> doubles = values<double>(n, 5);
    const auto h = halves;
    const auto b = brains;
    const auto d = doubles;
    divide_loop(Type::f16)(halves.data(), n, by);
    divide_loop(Type::bf16)(brains.data(), n, by);
    divide_loop(Type::f64)(doubles.data(), n, by);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(alike(halves[i], narrow(widen(h[i]) / static_cast<float>(by), F16{}), true)) << i;
      ASSERT_TRUE(alike(brains[i], narrow(widen(b[i]) / static_cast<float>(by), BF16{}), true)) << i;
      ASSERT_TRUE(alike(doubles[i], d[i] / by, true)) << i;
    }
  }
  EXPECT_EQ(divide_loop(Type::i32), nullptr);
}

#if defined(__SSE__)
TEST_P(Loops, SubnormalHalvesAreSummedWithDenormalsAreZero) {
  std::vector<F16> a(1024), b(1024, F16{1}), y(1024);
  for (unsigned i = 0; i < 1024; ++i) a[i].bits = static_cast<std::uint16_t>(i);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // denormals are zero, flush to zero
  combine_loop(Op::sum, Type::f16)(a.data(), b.data(), y.data(), y.size());
  _mm_setcsr(before);
  for (unsigned i = 0; i < 1024; ++i) ASSERT_EQ(y[i].bits, i + 1);
}
#endif

INSTANTIATE_TEST_SUITE_P(Targets, Loops, testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(info.param); });

TEST(LoopsTarget, IsTheBestAgainAfterAnotherWasAskedFor) {
  const std::string best = loops_target();
  EXPECT_FALSE(choose_loops_target("no such instructions"));
  EXPECT_EQ(loops_target(), best);
  for (const char* name : targets()) {
    ASSERT_TRUE(choose_loops_target(name));
    EXPECT_STREQ(loops_target(), name);
  }
  choose_loops_target(nullptr);
  EXPECT_EQ(loops_target(), best);
}

}  // namespace
}  // namespace stretto::payload
