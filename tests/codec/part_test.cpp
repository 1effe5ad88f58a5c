// The last group of a stream, of less than 1,024 values, and codes of more than 32 bits: all instruction sets give the
// reference's bytes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "../sanitized.hpp"
#include "codec/driver.hpp"
#include "codec/group_encoder.hpp"
#include "every_target.hpp"
#include "inputs.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

// Codes of `bits` bits: noise around zero, or above it; a walk; a slope that changes slowly; one value.
enum class PartShape { zero, noise, positive, walk, curve, level };
constexpr PartShape kPartShapes[] = {PartShape::zero, PartShape::noise, PartShape::positive,
                                     PartShape::walk, PartShape::curve, PartShape::level};

template <class T>
std::vector<T> part_values(PartShape shape, int bits, int n, double eps, Random& random) {
  std::vector<T> x(static_cast<std::size_t>(n));
  const double most = std::ldexp(1.0, bits);
  double at = shape == PartShape::level ? most - 1 : most / 3, slope = 1;
  for (T& v : x) {
    double code = at;
    switch (shape) {
      case PartShape::zero: code = 0; break;
      case PartShape::noise: code = most * random.symmetric(); break;
      case PartShape::positive: code = most * random.uniform(); break;
      case PartShape::walk: at += std::floor(3 * random.symmetric()); break;
      case PartShape::curve:
        at += slope;
        slope += random.below(16) == 0 ? 1 : 0;
        break;
      case PartShape::level: break;
    }
    v = static_cast<T>(std::is_integral_v<T> ? std::trunc(code) : code * 2 * eps);
  }
  return x;
}

template <class T>
class LastGroup : public testing::Test {};
using Numbers = testing::Types<float, double, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(LastGroup, Numbers);

constexpr double kPartEps = 1e-3;

std::vector<int> part_lengths() {
  std::vector<int> all;
  for (int m = 1; m < 1024; m += kSanitized ? 13 : m < 70 || m > 1000 ? 1 : 7) all.push_back(m);
  return all;
}

TYPED_TEST(LastGroup, HasTheReferencesBytes) {
  Random random(31);
  for (const int m : part_lengths()) {
    for (const int bits : {3, 11, 14, 20, 29, 34, 48}) {
      if (bits > 31 && sizeof(TypeParam) < 8) continue;
      const int before = m % 3 == 0 ? 1024 : 0;
      std::vector<std::vector<TypeParam>> all;
      for (const PartShape shape : kPartShapes)
        all.push_back(part_values<TypeParam>(shape, bits, before + m, kPartEps, random));
      if constexpr (std::is_floating_point_v<TypeParam>) {
        all.push_back(all[2]);
        all.back()[all.back().size() / 2] = std::numeric_limits<TypeParam>::quiet_NaN();
        for (const std::size_t apart : {3, 90}) {
          all.push_back(all[1]);
          for (std::size_t i = apart - 1; i < all.back().size(); i += apart)
            all.back()[i] =
                std::ldexp(std::numeric_limits<TypeParam>::max(), apart == 3 ? 0 : -static_cast<int>(i % 9));
        }
      }
      std::vector<Stream> streams;
      for (const auto& x : all) streams.push_back(compressed(x, kPartEps, with(Isa::reference)));
      const std::size_t a = random.below(all.size()), b = random.below(2) == 0 ? a : random.below(all.size());
      const Stream sum = combined(Combine::add, streams[a], streams[b], with(Isa::reference)),
                   rest = combined(Combine::subtract, streams[a], streams[b], with(Isa::reference)),
                   fused = with_values(streams[a], all[b].data(), all[b].size(), with(Isa::reference));
      on_every_instruction_set([&](const Options& options, const char* target) {
        SCOPED_TRACE(std::string(target) + ", " + std::to_string(m) + " values of " + std::to_string(bits) + " bits, " +
                     std::to_string(a) + " and " + std::to_string(b));
        for (std::size_t i = 0; i < all.size(); ++i) {
          ASSERT_TRUE(compressed(all[i], kPartEps, options) == streams[i]) << i;
          const auto wanted = decoded<TypeParam>(streams[i], with(Isa::reference)),
                     got = decoded<TypeParam>(streams[i], options);
          ASSERT_EQ(std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(TypeParam)), 0) << i;
          const auto thirds = decoded<TypeParam>(streams[i], with(Isa::reference), 3),
                     same = decoded<TypeParam>(streams[i], options, 3);
          ASSERT_EQ(std::memcmp(thirds.data(), same.data(), thirds.size() * sizeof(TypeParam)), 0) << i;
          const auto halves = decoded<TypeParam>(streams[i], with(Isa::reference), 2),
                     as_well = decoded<TypeParam>(streams[i], options, 2);
          ASSERT_EQ(std::memcmp(halves.data(), as_well.data(), halves.size() * sizeof(TypeParam)), 0) << i;
        }
        ASSERT_TRUE(combined(Combine::add, streams[a], streams[b], options) == sum);
        ASSERT_TRUE(combined(Combine::subtract, streams[a], streams[b], options) == rest);
        ASSERT_TRUE(with_values(streams[a], all[b].data(), all[b].size(), options) == fused);
        const auto wanted = decoded<TypeParam>(fused, with(Isa::reference)), got = decoded<TypeParam>(fused, options);
        ASSERT_EQ(std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(TypeParam)), 0);
      });
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// The kernels serve, so that a short vector takes no longer than a full group.
TYPED_TEST(LastGroup, IsCodedByKernels) {
  Random random(5);
  constexpr double kMost = 4000;  // of the values: the grid leaves room for their rounding
  const Grid<TypeParam> grid = grid_for<TypeParam>(type_of<TypeParam>(), kPartEps,
                                                   grid_width(type_of<TypeParam>(), kPartEps, kMost), Coding::fixed);
  on_every_instruction_set([&](const Options& options, const char* target) {
    SCOPED_TRACE(target);
    const Kernels& kernels = *find_kernels(options.isa);
    const auto& k = value_kernels<TypeParam>(kernels);
    if (k.compress == nullptr) return;  // integers by the kernels of floats
    for (const PartShape shape : {PartShape::noise, PartShape::walk, PartShape::curve})
      for (const int bits : {8, 20, 40}) {
        if (bits > 31 && !std::is_same_v<TypeParam, double>) continue;
        const int m = 1 + static_cast<int>(random.below(kGroup - 1));
        const auto x = part_values<TypeParam>(shape, bits, m, kPartEps, random);
        std::uint8_t group[kKernelRoom] = {}, sum[kKernelRoom];
        Tally tally;
        const std::size_t words = k.compress_part(x.data(), m, grid, group, &tally);
        ASSERT_NE(words, kDeclined) << m << " values of " << bits << " bits";
        if (bits > 31) continue;
        EXPECT_NE(add_part(kernels, group, words, group, words, m, type_of<TypeParam>(), false, sum, sizeof sum),
                  kDeclined);
      }
  });
}

// Multiples of 1,024 and of odd lengths, whose codes float64 would round, or whose values are float32.
TYPED_TEST(LastGroup, OfScaledStreamsDecodesAlike) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    Random random(8);
    for (const int n : {77, 1024, 2500}) {
      for (const int bits : {20, sizeof(TypeParam) == 8 ? 46 : 28}) {
        for (const PartShape shape : kPartShapes) {
          auto x = part_values<TypeParam>(shape, bits, n, kPartEps, random);
          if (n % 2 != 0) x[5] = std::numeric_limits<TypeParam>::infinity();
          const Stream one = compressed(x, kPartEps, with(Isa::reference));
          for (const std::int32_t times : {40, -1000}) {
            const Stream multiple = scaled(one, times);
            const auto wanted = decoded<TypeParam>(multiple, with(Isa::reference)),
                       half = decoded<TypeParam>(multiple, with(Isa::reference), 2);
            on_every_instruction_set([&](const Options& options, const char* target) {
              const auto got = decoded<TypeParam>(multiple, options), mean = decoded<TypeParam>(multiple, options, 2);
              EXPECT_EQ(std::memcmp(half.data(), mean.data(), half.size() * sizeof(TypeParam)), 0) << target;
              EXPECT_EQ(std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(TypeParam)), 0)
                  << target << ", " << n << " values of " << bits << " bits, times " << times;
            });
          }
        }
      }
    }
  }
}

// Foreign residuals behind the last value mean nothing, and no sum keeps them.
TEST(LastGroup, SumsForgetForeignResidualsBehindTheEnd) {
  Random random(7);
  const std::vector<float> x = part_values<float>(PartShape::walk, 8, 100, kPartEps, random);
  const Stream plain = compressed(x, kPartEps, with(Isa::reference));
  const Stream wanted = combined(Combine::add, plain, plain, with(Isa::reference));
  const Layout layout(x.size());
  const std::size_t planes = static_cast<std::size_t>(layout.body) + 4;
  int changed = 0;
  for (std::size_t at = planes; at + 4 <= plain.size(); ++at) {
    Stream foreign = plain;
    foreign[at] ^= std::byte{0x80};
    Info info;
    std::vector<float> y(x.size());
    if (inspect(foreign, &info) != Status::ok ||
        decompress(foreign, y.data(), y.size(), with(Isa::reference)) != Status::ok)
      continue;
    if (y != decoded<float>(plain)) continue;
    ++changed;
    on_every_instruction_set([&](const Options& options, const char* target) {
      SCOPED_TRACE(target);
      EXPECT_EQ(decoded<float>(foreign, options), y);
      EXPECT_TRUE(combined(Combine::add, foreign, plain, options) ==
                  combined(Combine::add, foreign, plain, with(Isa::reference)));
      EXPECT_TRUE(combined(Combine::add, foreign, plain, options) == wanted);
    });
  }
  EXPECT_GT(changed, 0);
}

}  // namespace
}  // namespace stretto::codec
