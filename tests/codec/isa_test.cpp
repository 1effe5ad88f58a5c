#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "../sanitized.hpp"
#include "codec/kernels.hpp"
#include "golden/hand_made.hpp"
#include "inputs.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

template <class T>
void expect_same_values(const Stream& s, Isa isa) {
  for (const std::uint32_t divisor : {1u, 3u}) {
    const auto wanted = decoded<T>(s, with(Isa::reference), divisor), got = decoded<T>(s, with(isa), divisor);
    ASSERT_TRUE(wanted.empty() || std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(T)) == 0)
        << name(isa) << ", divisor " << divisor;
  }
}

template <class T>
class EveryIsa : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(EveryIsa, Floats);

TYPED_TEST(EveryIsa, CompressesToTheReferencesBytesAndDecodesAlike) {
  for (const Isa isa : isas())
    for (const auto& in : inputs<TypeParam>())
      for (const double magnitude : {0.0, 2.0, 1e6}) {
        SCOPED_TRACE(in.name + ", eps " + std::to_string(in.eps) + ", " + name(isa));
        Options fast = with(isa), slow = with(Isa::reference);
        fast.magnitude = slow.magnitude = magnitude;
        const Stream s = compressed(in.x, in.eps, slow);
        ASSERT_TRUE(compressed(in.x, in.eps, fast) == s);
        expect_same_values<TypeParam>(s, isa);
      }
}

TYPED_TEST(EveryIsa, CombinesToTheBytesOfTheReference) {
  for (const double eps : {1e-4, 1e-7}) {
    constexpr std::size_t stride = kSanitized ? 4 : 2;
    const auto all = summands<TypeParam>(3 * 1024 + 77, eps, 12, 81);
    std::vector<Stream> streams;
    for (const auto& x : all) streams.push_back(compressed(x, eps));
    streams.push_back(combined(Combine::add, streams[0], streams[5], with(Isa::reference)));
    streams.push_back(combined(Combine::add, streams[12], streams[10], with(Isa::reference)));
    for (std::size_t a = 0; a < streams.size(); ++a)
      for (std::size_t b = a % stride; b < streams.size(); b += stride)
        for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max}) {
          const Stream s = combined(op, streams[a], streams[b], with(Isa::reference));
          for (const Isa isa : isas()) {
            ASSERT_TRUE(combined(op, streams[a], streams[b], with(isa)) == s)
                << a << ", " << b << ", operation " << static_cast<int>(op) << ", " << name(isa);
            if (op == Combine::add) expect_same_values<TypeParam>(s, isa);
          }
        }
  }
}

TYPED_TEST(EveryIsa, AddsValuesToTheBytesOfTheReference) {
  for (const double eps : {1e-4, 1e-7}) {
    const auto all = summands<TypeParam>(3 * 1024 + 77, eps, 12, 82);
    for (std::size_t a = 0; a < 12; ++a)
      for (std::size_t b = 0; b < 12; ++b) {
        const Stream sa = compressed(all[a], eps),
                     s = with_values(sa, all[b].data(), all[b].size(), with(Isa::reference));
        for (const Isa isa : isas())
          ASSERT_TRUE(with_values(sa, all[b].data(), all[b].size(), with(isa)) == s)
              << a << ", " << b << ", " << name(isa);
      }
  }
}

// Missing data in equal places, in others, in one summand only and in all places; sums of such sums; values of very
// different magnitude, for which exact sums take their full length.
TYPED_TEST(EveryIsa, AddsMissingDataToTheBytesOfTheReference) {
  using T = TypeParam;
  constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN(),
              most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::denorm_min();
  const std::vector<std::vector<T>> kinds = {{T{1e20f}},         {T{-1e20f}},      {nan}, {inf, -inf}, {most, T{1e30f}},
                                             {T{1e20f}, -least}, {-inf, nan, most}};
  constexpr std::size_t kCount = 4 * 1024, stride = stride_if_sanitized(4);
  for (const double eps : {1e-30, 1e-4, 0.5, 1e18}) {
    Random r(86);
    std::vector<std::vector<T>> fields;
    std::vector<Stream> streams;
    for (std::size_t k = 0; k < 2 * kinds.size(); ++k) {
      const auto& fills = kinds[k / 2];
      const std::size_t shift = k % 2 ? 0 : r.below(200), order = r.below(3);
      std::vector<T> x(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        const double t = static_cast<double>(i), unit = eps * 100;
        x[i] = static_cast<T>(order == 0   ? unit * r.symmetric()
                              : order == 1 ? unit * (std::sin(t / 40) + 3)
                                           : unit * std::sin(t / 400) * 1000);
        const bool missing = i / 1024 == 0   ? (i + shift) / 70 % 3 == 1
                             : i / 1024 == 1 ? r.below(4) == 0
                                             : i / 1024 == 2;
        if (missing) x[i] = fills[r.below(fills.size())];
      }
      fields.push_back(x);
      streams.push_back(compressed(x, eps, with(Isa::reference)));
    }
    fields.emplace_back(kCount, static_cast<T>(eps * 5));
    streams.push_back(compressed(fields.back(), eps, with(Isa::reference)));
    const std::size_t singles = streams.size();
    for (std::size_t k = 0; k < 6; ++k)
      streams.push_back(combined(k % 2 ? Combine::add : Combine::subtract, streams[r.below(singles)],
                                 streams[r.below(singles)], with(Isa::reference)));
    for (std::size_t a = 0; a < streams.size(); ++a)
      for (std::size_t b = 0; b < streams.size(); ++b)
        for (const Combine op : {Combine::add, Combine::subtract}) {
          if (r.below(stride * (a + b > singles ? 24 : 6)) != 0) continue;
          const Stream s = combined(op, streams[a], streams[b], with(Isa::reference));
          for (const Isa isa : isas()) {
            ASSERT_TRUE(combined(op, streams[a], streams[b], with(isa)) == s)
                << eps << ": " << a << ", " << b << ", " << static_cast<int>(op) << ", " << name(isa);
            if (op == Combine::add) expect_same_values<T>(s, isa);
            if (op == Combine::add && b < singles) {
              ASSERT_TRUE(with_values(streams[a], fields[b].data(), kCount, with(isa)) == s)
                  << eps << ": " << a << ", values " << b << ", " << name(isa);
            }
          }
        }
  }
}

// Long sums pass through every width and every size of base.
TYPED_TEST(EveryIsa, FollowsLongSumsToTheByte) {
  for (const std::size_t kind : {0, 1, 2, 11}) {
    const auto all = summands<TypeParam>(2048, 1e-4, 12, 83);
    Stream sum = compressed(all[kind], 1e-4);
    for (int k = 0; k < 24; ++k) {
      const Stream next = combined(Combine::add, sum, sum, with(Isa::reference));
      for (const Isa isa : isas()) {
        ASSERT_TRUE(combined(Combine::add, sum, sum, with(isa)) == next)
            << kind << " doubled " << k << " times, " << name(isa);
        expect_same_values<TypeParam>(next, isa);
      }
      sum = next;
    }
  }
}

// Codes of 32 bits take as much room as float32 values, which are then stored verbatim, also in fused sums.
TYPED_TEST(EveryIsa, AddsValuesThatWouldTravelVerbatim) {
  constexpr double eps = 1e-3;
  Random r(85);
  std::vector<TypeParam> large(3 * 1024), other(large.size()), small(large.size());
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = static_cast<TypeParam>((r.below(2) ? 1 : -1) * (2.9e6 + 1e5 * r.uniform()));
    other[i] = static_cast<TypeParam>(1e6 * r.symmetric());
    small[i] = static_cast<TypeParam>(r.symmetric());
  }
  for (const auto* held : {&small, &other, &large}) {
    const Stream a = compressed(*held, eps, with(Isa::reference));
    for (const auto* x : {&small, &other, &large}) {
      const Stream s = with_values(a, x->data(), x->size(), with(Isa::reference));
      ASSERT_TRUE(combined(Combine::add, a, compressed(*x, eps, with(Isa::reference)), with(Isa::reference)) == s);
      for (const Isa isa : isas()) EXPECT_TRUE(with_values(a, x->data(), x->size(), with(isa)) == s) << name(isa);
    }
  }
}

// Every pair of widths that residuals can have, with and without sign, in narrow groups.
TYPED_TEST(EveryIsa, AgreesOnEveryWidthOfEveryPredictor) {
  Random r(84);
  std::vector<std::vector<TypeParam>> values;
  std::vector<Stream> streams;
  for (int order = 0; order < 3; ++order)
    for (int bits = 1; bits <= 30; ++bits)
      for (const bool sign : {false, true}) {
        std::vector<TypeParam> x(1024);
        double slope = 0, value = 0;
        for (auto& v : x) {
          const double e = std::floor(std::ldexp(sign ? r.symmetric() : r.uniform(), bits));
          slope = order == 2 ? slope + std::ldexp(e, -12) : 0;
          value = order == 0 ? e : order == 1 ? value + std::ldexp(e, -5) : value + slope;
          v = static_cast<TypeParam>(std::fmod(value, 0x1p30) * 2);
        }
        streams.push_back(compressed(x, 1.002, with(Isa::reference)));
        values.push_back(x);
        for (const Isa isa : isas()) {
          ASSERT_TRUE(compressed(x, 1.002, with(isa)) == streams.back()) << order << ", " << bits << ", " << name(isa);
          expect_same_values<TypeParam>(streams.back(), isa);
        }
      }
  for (int round = 0; round < 2000; ++round) {
    const Stream &a = streams[r.below(streams.size())], &b = streams[r.below(streams.size())];
    const Combine op = r.below(3) ? Combine::add : Combine::subtract;
    const Stream s = combined(op, a, b, with(Isa::reference));
    for (const Isa isa : isas()) ASSERT_TRUE(combined(op, a, b, with(isa)) == s) << round << ", " << name(isa);
  }
  for (int round = 0; round < 1000; ++round) {
    const Stream& a = streams[r.below(streams.size())];
    const auto& x = values[r.below(values.size())];
    const Stream s = with_values(a, x.data(), x.size(), with(Isa::reference));
    for (const Isa isa : isas())
      ASSERT_TRUE(with_values(a, x.data(), x.size(), with(isa)) == s) << "values, " << round << ", " << name(isa);
  }
}

// Codes that fit 16 bits by themselves, and differences and sums of them that just do or just do not.
TYPED_TEST(EveryIsa, AgreesAtTheEndsOf16Bits) {
  Random r(85);
  const auto at = [](Isa isa) {
    Options o = with(isa);
    o.magnitude = 0x1p17;  // so that codes of 16 bits need no check
    return o;
  };
  const double width = info_of(compressed(std::vector<TypeParam>{1}, 1, at(Isa::reference))).width;
  std::vector<std::vector<TypeParam>> values;
  std::vector<Stream> streams;
  const auto include = [&](int range, int least, int period, bool gaps) {
    std::vector<TypeParam> x(1024);
    int code = least;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (period == 0)
        code = least + static_cast<int>(range * (0.5 + 0.5 * std::sin(static_cast<double>(i) * 0.3)));
      else if (r.below(static_cast<std::uint64_t>(period)) == 0)
        code = least + (r.below(2) ? range : 0);
      x[i] = static_cast<TypeParam>(gaps && i % 90 > 70 ? 1e20 : code * width);
    }
    streams.push_back(compressed(x, 1, at(Isa::reference)));
    values.push_back(x);
    for (const Isa isa : isas())
      ASSERT_TRUE(compressed(x, 1, at(isa)) == streams.back()) << range << ", " << least << ", " << name(isa);
  };
  for (const int range : {63, 127, 4095, 8191, 16382, 16383, 16384, 32766, 65535})
    for (const int least : {0, -32768, -range / 2, 32767 - range})
      for (const int period : {1, 40, 400, 0})  // noise, steps, long stretches between steps, and waves
        ASSERT_NO_FATAL_FAILURE(include(range, least, period, false));
  // All codes beyond 16 bits, and some of them; with missing data too.
  for (const int range : {63, 16383, 16384})
    for (const int least : {32767, 32768, 50000, -32768 - range, -32769 - range})
      for (const int period : {1, 40})
        for (const bool gaps : {false, true}) ASSERT_NO_FATAL_FAILURE(include(range, least, period, gaps));
  // Sums that leave 16 bits in single places, by differences that seem to fit; the spikes avoid the sampled places.
  std::vector<TypeParam> noise(1024), spikes(1024, static_cast<TypeParam>(16384 * width));
  for (auto& v : noise) v = static_cast<TypeParam>((r.below(2) ? 16383 : -16383) * width);
  for (std::size_t i = 1; i < 1023; ++i)
    if (noise[i] > 0 && noise[i - 1] < 0 && noise[i + 1] < 0 && i % 160 < 100)
      spikes[i] = static_cast<TypeParam>(32767 * width);
  for (const auto& x : {spikes, noise}) {
    streams.push_back(compressed(x, 1, at(Isa::reference)));
    values.push_back(x);
  }
  // Noise, which is of order 0, and everything; and some more pairs.
  const auto agree = [&](std::size_t i, std::size_t j) {
    const Stream s = combined(Combine::add, streams[i], streams[j], with(Isa::reference));
    for (const Isa isa : {Isa::avx512, Isa::portable}) {
      if (std::find(isas().begin(), isas().end(), isa) == isas().end()) continue;
      ASSERT_TRUE(combined(Combine::add, streams[i], streams[j], with(isa)) == s)
          << i << ", " << j << ", " << name(isa);
      ASSERT_TRUE(with_values(streams[i], values[j].data(), values[j].size(), with(isa)) == s)
          << i << ", " << j << ", " << name(isa);
    }
  };
  for (std::size_t i = 0; i < values.size(); i += 4)
    for (std::size_t j = 0; j < values.size(); ++j) ASSERT_NO_FATAL_FAILURE(agree(i, j));
  ASSERT_NO_FATAL_FAILURE(agree(values.size() - 1, values.size() - 2));
  for (int round = 0; round < 1000; ++round)
    ASSERT_NO_FATAL_FAILURE(agree(r.below(values.size()), r.below(values.size())));
}

// The order of a dense stream's group depends on the size of its codes (orders_for()).
TYPED_TEST(EveryIsa, ChoosesTheOrderOfLargeCodesAsTheReference) {
  Random r(87);
  for (const double start : {0x1p15, 0x1p20, 0x1p26, 0x1p27, 0x1p30})
    for (int trial = 0; trial < 40; ++trial) {
      std::vector<TypeParam> x(1024);
      const double period = 1 + 40 * r.uniform(), noise = std::ldexp(r.uniform(), static_cast<int>(r.below(12)));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<TypeParam>(start + 4000 + 2000 * std::sin(static_cast<double>(i) / period) +
                                      noise * r.uniform());
      Options slow = with(Isa::reference);
      slow.coding = Coding::dense;
      const Stream s = compressed(x, 0.501, slow), sum = with_values(s, x.data(), x.size(), slow);
      for (const Isa isa : isas()) {
        Options fast = slow;
        fast.isa = isa;
        ASSERT_TRUE(compressed(x, 0.501, fast) == s) << start << ", " << trial << ", " << name(isa);
        ASSERT_TRUE(with_values(s, x.data(), x.size(), fast) == sum) << start << ", " << trial << ", " << name(isa);
      }
    }
}

TYPED_TEST(EveryIsa, ReadsHandMadeGroupsAsTheReference) {
  using T = TypeParam;
  const Grid<T> grid = make_grid<T>(type_of<T>(), 1e-3, grid_width(type_of<T>(), 1e-3, 0));
  for (const Isa isa : isas()) {
    const Kernels* kernels = find_kernels(isa);
    if (!value_kernels<T>(*kernels).decompress) continue;
    std::mt19937_64 random(85);
    int taken = 0;
    for (int trial = 0; trial < 4000; ++trial) {
      const std::vector<std::uint32_t> words = hand_made_group(random, trial % 33);
      std::vector<std::uint8_t> bytes(4 * words.size() + kReadSlack);
      std::memcpy(bytes.data(), words.data(), 4 * words.size());
      Info info;
      info.type = type_of<T>();
      info.width = grid.width;
      const std::uint32_t divisor = std::array{1u, 3u, 4u}[static_cast<std::size_t>(trial % 3)];
      GroupView view;
      const bool valid = parse_group(bytes.data(), words.size(), kGroup, info.type, &view);
      Codes codes = {};
      if (valid) read_codes(view, codes);
      std::uint64_t largest = 0;
      for (const std::int64_t code : codes) largest = std::max(largest, static_cast<std::uint64_t>(std::abs(code)));
      info.code_bound = trial % 2 ? largest : std::uint64_t{1} << 30;
      std::vector<T> got(kGroup), wanted(kGroup);
      if (!value_kernels<T>(*kernels).decompress(bytes.data(), words.size(), grid, info.code_bound, divisor, false,
                                                 got.data()))
        continue;
      ++taken;
      ASSERT_TRUE(valid) << trial;
      ASSERT_TRUE(decode_group(view, info, divisor, wanted.data()));
      ASSERT_EQ(std::memcmp(got.data(), wanted.data(), sizeof(T) * kGroup), 0) << trial << ", " << name(isa);
    }
    EXPECT_GT(taken, 3000) << name(isa);
  }
}

// Runs of missing places in bytes that an encoder may not have written.
TYPED_TEST(EveryIsa, ReadsHandMadeMapsAsTheReference) {
  using T = TypeParam;
  const Type type = type_of<T>();
  const Grid<T> grid = make_grid<T>(type, 1e-3, grid_width(type, 1e-3, 0));
  Random r(36);
  int taken = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const std::size_t n = r.below(trial % 2 ? 12 : 140);
    std::vector<std::uint8_t> bytes(4 + (2 + n + 3) / 4 * 4);
    bytes[0] = 0x80;  // no prediction, no planes, an exceptions section
    bytes[4] = kRunsBit | kUniformBit | kQuietNanBit;
    bytes[5] = static_cast<std::uint8_t>(n);
    const std::uint64_t longest = trial % 3 ? 2048 / (n + 1) + 1 : 20;
    for (std::size_t i = 0; i < n; ++i)
      bytes[6 + i] = static_cast<std::uint8_t>(r.below(30) == 0 ? 255 * r.below(2)
                                                                : 1 + r.below(std::min<std::uint64_t>(longest, 255)));
    if (trial % 16 == 0) bytes.back() = static_cast<std::uint8_t>(r.below(3));
    const std::size_t words = bytes.size() / 4;
    bytes.resize(bytes.size() + kReadSlack);
    GroupView view;
    const bool valid = parse_group(bytes.data(), words, kGroup, type, &view);
    taken += valid;
    std::vector<T> got(kGroup), wanted(kGroup);
    Info info;
    info.type = type;
    info.width = grid.width;
    ASSERT_TRUE(!valid || decode_group(view, info, 1, wanted.data()));
    for (const Isa isa : isas()) {
      const auto kernel = value_kernels<T>(*find_kernels(isa)).decompress;
      if (!kernel) continue;
      ASSERT_EQ(kernel(bytes.data(), words, grid, 1000, 1, false, got.data()), valid) << trial << ", " << name(isa);
      ASSERT_TRUE(!valid || std::memcmp(got.data(), wanted.data(), sizeof(T) * kGroup) == 0) << trial;
    }
  }
  EXPECT_GT(taken, 2000);
  EXPECT_LT(taken, 18000);
}

TEST(EveryIsa, IsNamed) {
  std::string names;
  for (const Isa isa : isas()) names += std::string(name(isa)) + " ";
  RecordProperty("isas", names);
  printf("instruction sets here: %s\n", names.c_str());
  EXPECT_EQ(isas()[0], Isa::reference);
  EXPECT_EQ(isas().back(), Isa::best);
}

TEST(EveryIsa, ThatIsNotThereIsRefusedByName) {
  const float x = 1;
  Stream out(1000);
  std::size_t written = 0;
  EXPECT_EQ(compress(Type::f32, &x, 1, 1e-3, out, &written, with(static_cast<Isa>(77))), Status::unsupported);
  EXPECT_NE(std::string(message()).find("77"), std::string::npos) << message();
  for (const Isa isa : {Isa::portable, Isa::avx512}) {
    if (compress(Type::f32, &x, 1, 1e-3, out, &written, with(isa)) == Status::ok) continue;
    EXPECT_NE(std::string(message()).find(name(isa)), std::string::npos) << message();
  }
}

}  // namespace
}  // namespace stretto::codec
