// Halves as inputs and outputs and every width of planes.
#include <cmath>
#include <cstring>

#include "../inputs.hpp"
#include "codec/cuda/groups/number.hpp"
#include "codec/numbers/grid.hpp"
#include "codec/numbers/half.hpp"
#include "emulated.hpp"

namespace stretto::codec {
namespace {

using cuda::Outcome;

TEST(CudaTypes, AllHalvesWidenAndRoundAsOnTheHost) {
  for (std::uint32_t h = 0; h < 65536; ++h) {
    const auto b = static_cast<std::uint16_t>(h);
    ASSERT_EQ(cuda::bits_of(cuda::widen_f16(b)), cuda::bits_of(widen_f16(b))) << h;
    ASSERT_EQ(cuda::bits_of(cuda::widen_bf16(b)), cuda::bits_of(widen_bf16(b))) << h;
  }
  Random r(1);
  for (int i = 0; i < 300000; ++i) {
    const float x = cuda::float_of(static_cast<std::uint32_t>(r.bits()));
    ASSERT_EQ(cuda::round_f16(x), round_f16(x)) << x;
    ASSERT_EQ(cuda::round_bf16(x), round_bf16(x)) << x;
  }
}

TEST(CudaTypes, HalvesGiveTheReferencesBytesAndValues) {
  Random r(2);
  for (const Type t : {Type::f16, Type::bf16})
    for (const bool any : {false, true})
      for (const std::size_t n : {std::size_t{4096}, std::size_t{3333}}) {
        std::vector<std::uint16_t> x(n), expected(n), got(n);
        for (auto& v : x) {
          const float f = static_cast<float>(r.symmetric());
          v = any ? static_cast<std::uint16_t>(r.bits()) : t == Type::f16 ? round_f16(f) : round_bf16(f);
        }
        const Stream s = compress_raw(t, x.data(), n, 1e-2, with(Isa::reference));
        const Emulated e = emulated_compress<float>(t, x.data(), n, 1e-2);
        ASSERT_TRUE(e.outcome == Outcome::ok && e.stream == s);
        ASSERT_EQ(decompress(s, expected.data(), n, with(Isa::reference)), Status::ok);
        ASSERT_EQ(emulated_decompress<float>(s, got.data(), n), Outcome::ok);
        ASSERT_EQ(got, expected);
        const Emulated f = emulated_add_values<float>(s, x.data(), n, false);
        ASSERT_TRUE(f.outcome == Outcome::ok && f.stream == with_values(s, x.data(), n, with(Isa::reference)));
      }
}

TEST(CudaTypes, TheLargestHalvesGiveTheReferencesBytes) {
  Random r(3);
  for (const Type t : {Type::f16, Type::bf16}) {
    const std::uint16_t largest = t == Type::f16 ? 0x7bff : 0x7f7f;
    const auto most = static_cast<double>(t == Type::f16 ? widen_f16(largest) : widen_bf16(largest));
    std::vector<std::uint16_t> x(1500);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<std::uint16_t>((i % 3 ? 0x8000 : 0) | (largest - i % 7));
    for (int k = 0; k < 60; ++k) {
      const double eps = most * std::ldexp(1 + r.uniform(), -static_cast<int>(r.below(26)) - 1);
      const Stream s = compress_raw(t, x.data(), x.size(), eps, with(Isa::reference));
      const Emulated e = emulated_compress<float>(t, x.data(), x.size(), eps);
      ASSERT_TRUE(e.outcome == Outcome::ok && e.stream == s) << name(t) << ", eps " << eps;
      const Emulated f = emulated_add_values<float>(s, x.data(), x.size(), false);
      ASSERT_TRUE(f.outcome == Outcome::ok && f.stream == with_values(s, x.data(), x.size(), with(Isa::reference)));
    }
  }
}

// Sums of powers of two reach every width of planes, 0 to 64, with each predictor.
template <class T>
void every_width() {
  Random r(4);
  for (int bits = 0; bits <= 50; ++bits)
    for (int kind = 0; kind < 4; ++kind) {
      const double most = std::ldexp(1.0, sizeof(T) == 4 && bits > 29 ? 29 : bits);
      std::vector<T> x(1024 + 50);
      double slope = 0, at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = r.symmetric() * most;
        slope = slope * 0.5 + v;
        at = at * 0.5 + slope;
        x[i] = static_cast<T>(kind == 0 ? std::fabs(v) : kind == 1 ? v : kind == 2 ? slope : at);
      }
      const Stream s = compressed(x, 0.5, with(Isa::reference));
      const Emulated e = emulated_compress<T>(type_of<T>(), x.data(), x.size(), 0.5);
      ASSERT_TRUE(e.outcome == Outcome::ok && e.stream == s) << bits << " bits, kind " << kind;
      // Doubling widens codes by a bit at a time, beyond what compression gives.
      Stream sum = s;
      for (int k = 0; k < (sizeof(T) == 4 ? 8 : 12) && bits % 4 == 1; ++k) {
        const Stream next = combined(Combine::add, sum, sum, with(Isa::reference));
        const Emulated twice = emulated_combine<T>(Combine::add, sum, sum);
        ASSERT_TRUE(twice.outcome == Outcome::ok && twice.stream == next) << bits << " bits, doubled " << k;
        sum = next;
      }
      std::vector<T> got(x.size());
      ASSERT_EQ(emulated_decompress<T>(sum, got.data(), got.size()), Outcome::ok);
      ASSERT_EQ(got, decoded<T>(sum, with(Isa::reference))) << bits << " bits, kind " << kind;
    }
}
TEST(CudaTypes, EveryWidthGivesTheReferencesBytes) {
  every_width<float>();
  every_width<double>();
}

// Codes close to one another are differenced two in a word. Their extremes here are at, and beyond, the limits of a
// word.
TEST(CudaTypes, CodesAtTheLimitsOfPairsGiveTheReferencesBytes) {
  const double width = grid_width(Type::f32, 0.5, 0);
  Random r(5);
  for (const int range : {1, 4095, 8190, 8191, 8192, 16383, 16384})
    for (const int least : {0, -range / 2, -range, 16383 - range, 16384 - range, -16383, -16384, 40000})
      for (int kind = 0; kind < 8; ++kind) {
        std::vector<float> x(2 * 1024);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const auto place = static_cast<int>(i % 1024);
          double part = kind == 0   ? place % 2
                        : kind == 1 ? place / 2 % 2
                        : kind == 2 ? place / 16 % 2
                        : kind == 3 ? place / 1023.0
                        : kind == 4 ? place % 37 == 36
                                    : r.uniform();
          // Steady where orders are chosen, so that the extremes are differenced, once or twice.
          const bool sampled = (place + 50) % 160 < 18;
          if (kind > 5) part = sampled ? (kind == 6 ? 0.5 : place % 160 / 160.0) : place % 2;
          x[i] = static_cast<float>(std::floor(least + part * range) * width);
          if (i >= 1024 && r.below(9) == 0) x[i] = 1e30f;
        }
        const Stream s = compressed(x, 0.5, with(Isa::reference));
        const Emulated e = emulated_compress<float>(Type::f32, x.data(), x.size(), 0.5);
        ASSERT_TRUE(e.outcome == Outcome::ok && e.stream == s) << least << " + " << range << ", kind " << kind;
      }
}

TEST(CudaTypes, TheLargestCodesGiveTheReferencesBytes) {
  Random r(6);
  const double width = grid_width(Type::f32, 0.5, 0);
  for (const double most : {0x1p23, 0x1p29, 0x1p30, 0x1p31, 0x1p32})
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<float> x(2 * 1024 + 100);
      for (auto& v : x)
        v = static_cast<float>(most * width *
                               (kind == 0   ? r.uniform()
                                : kind == 1 ? r.symmetric()
                                            : 1 - r.uniform() / 4));
      const Stream s = compressed(x, 0.5, with(Isa::reference));
      const Emulated e = emulated_compress<float>(Type::f32, x.data(), x.size(), 0.5);
      ASSERT_TRUE(e.outcome == Outcome::ok && e.stream == s) << most << ", kind " << kind;
    }
}

}  // namespace
}  // namespace stretto::codec
