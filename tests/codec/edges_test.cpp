// Groups that no encoder writes, at, just below and just above the limits up to which kernels work in 16 bits: all give
// the reference's result.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "codec/stream/group.hpp"
#include "every_target.hpp"
#include "golden/hand_made.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

// Residuals, or codes, of a group that begins with any base and slope.
struct EdgeGroup {
  GroupSpec spec;
  Codes q = {};

  EdgeGroup(Predictor p, std::int64_t base, std::int64_t slope) {
    spec.m = kGroup;
    spec.predictor = p;
    spec.base = p >= Predictor::first ? base : 0;
    spec.slope = p == Predictor::second ? slope : 0;
  }
  // Sets the codes to those of residuals e(i), modulo 2^32.
  template <class Residual>
  void from_residuals(Residual e) {
    std::int64_t code = spec.base, slope = spec.slope;
    for (int i = 0; i < kGroup; ++i) {
      if (spec.predictor == Predictor::second)
        code += slope += e(i);
      else
        code = (spec.predictor == Predictor::first ? code : 0) + e(i);
      q[i] = static_cast<std::int32_t>(code);
    }
  }
};

template <class T>
Stream stream_of(const std::vector<EdgeGroup>& groups) {
  Stream s = hand_made_stream(type_of<T>(), 1.75, groups);
  EXPECT_EQ(validate(s), Status::ok) << message();
  return s;
}

template <class T>
void expect_same_values(const Stream& s) {
  for (const std::uint32_t divisor : {1u, 3u}) {
    const auto wanted = decoded<T>(s, with(Isa::reference), divisor);
    on_every_instruction_set([&](const Options& options, const char* target) {
      const auto got = decoded<T>(s, options, divisor);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ASSERT_EQ(std::memcmp(&wanted[i], &got[i], sizeof(T)), 0)
            << target << ", divisor " << divisor << ", group " << i / kGroup << ", place " << i % kGroup << ": "
            << wanted[i] << ", not " << got[i];
    });
  }
}

template <class T>
class Edges : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Edges, Floats);

// Every predictor with each of these widths, and extreme residuals of that width: alternating, so that differences are
// largest; in pairs; and in some blocks alone.
constexpr std::initializer_list<int> kAbout16 = {8, 12, 13, 14, 15, 16};
std::vector<EdgeGroup> widest_groups(std::initializer_list<int> widths = kAbout16) {
  std::vector<EdgeGroup> all;
  for (const Predictor p : {Predictor::none_unsigned, Predictor::none_signed, Predictor::first, Predictor::second})
    for (const int width : widths)
      for (const int shape : {0, 1, 2}) {
        const bool is_signed = p != Predictor::none_unsigned;
        const std::int64_t most = (std::int64_t{1} << (is_signed ? width - 1 : width)) - 1;
        const std::int64_t least = is_signed ? -most - 1 : 0;
        EdgeGroup g(p, shape == 2 ? 1000 : -least, shape == 2 ? 0 : -least);
        g.from_residuals([&](int i) -> std::int64_t {
          if (shape == 2 && i / kBlock % 3 != 1) return is_signed ? i % 2 * 2 - 1 : i % 2;
          return (shape == 1 ? i / 2 : i) % 2 ? most : least;
        });
        all.push_back(g);
      }
  return all;
}

// Sums of each of these groups with each.
template <class T>
void expect_same_sums(std::vector<EdgeGroup> groups) {
  const Stream a = stream_of<T>(groups);
  for (std::size_t shift = 0; shift < groups.size();
       ++shift, std::rotate(groups.begin(), groups.begin() + 1, groups.end())) {
    const Stream b = stream_of<T>(groups);
    for (const Combine op : {Combine::add, Combine::subtract}) {
      const Stream sum = combined(op, a, b, with(Isa::reference));
      on_every_instruction_set([&](const Options& options, const char* target) {
        ASSERT_TRUE(combined(op, a, b, options) == sum)
            << target << ", operation " << static_cast<int>(op) << ", shift " << shift;
      });
    }
  }
}

TYPED_TEST(Edges, SumsOfAllOrdersAgreeWhereResidualsJustFit16Bits) { expect_same_sums<TypeParam>(widest_groups()); }
TYPED_TEST(Edges, SumsOfAllOrdersAgreeAtMultiplesOfFourPlanes) {
  expect_same_sums<TypeParam>(widest_groups({1, 2, 3, 6, 7, 20}));
}

// Blocks of many widths beside one another, mostly equal within eight. Raising eight narrow blocks continues from the
// last residuals of the previous eight, which may be wide.
std::vector<EdgeGroup> groups_of_eights(Random& r) {
  static constexpr int kWidths[] = {1, 2, 5, 6, 7, 8, 9, 13, 14, 15, 16, 18, 20};
  const auto any = [&] { return kWidths[r.below(std::size(kWidths))]; };
  std::vector<EdgeGroup> all;
  for (const Predictor p : {Predictor::none_unsigned, Predictor::none_signed, Predictor::first, Predictor::second})
    for (int k = 0; k < 12; ++k) {
      int width[kBlocks];
      for (int b = 0; b < kBlocks; ++b) width[b] = b % 8 == 0 || r.below(20) == 0 ? any() : width[b - 1];
      for (int b = 7; b < kBlocks; b += 8)
        if (r.below(2)) width[b] = any();
      const bool is_signed = p != Predictor::none_unsigned;
      EdgeGroup g(p, 1000, 0);
      g.from_residuals([&](int i) {
        const std::int64_t most = (std::int64_t{1} << (width[i / kBlock] - is_signed)) - 1;
        return i % 2 ? most : is_signed ? -most - 1 : 0;
      });
      all.push_back(g);
    }
  return all;
}

TYPED_TEST(Edges, SumsOfAllOrdersAgreeWhereNarrowBlocksFollowWideOnes) {
  Random r(93);
  const auto groups = groups_of_eights(r);
  const Stream a = stream_of<TypeParam>(groups);
  for (int round = 0; round < 12; ++round) {
    auto others = groups_of_eights(r);
    std::rotate(others.begin(), others.begin() + 12 * (round % 4), others.end());
    const Stream b = stream_of<TypeParam>(others);
    const std::vector<TypeParam> x = decoded<TypeParam>(b, with(Isa::reference));
    const Stream fused = with_values(a, x.data(), x.size(), with(Isa::reference));
    on_every_instruction_set([&](const Options& options, const char* target) {
      ASSERT_TRUE(with_values(a, x.data(), x.size(), options) == fused) << target << ", values, round " << round;
    });
    for (const Combine op : {Combine::add, Combine::subtract}) {
      const Stream sum = combined(op, a, b, with(Isa::reference));
      on_every_instruction_set([&](const Options& options, const char* target) {
        ASSERT_TRUE(combined(op, a, b, options) == sum)
            << target << ", operation " << static_cast<int>(op) << ", round " << round;
      });
    }
  }
}

TYPED_TEST(Edges, AddedValuesAgreeWhereResidualsJustFit16Bits) {
  const auto groups = widest_groups();
  const Stream a = stream_of<TypeParam>(groups);
  Random r(91);
  for (const int largest : {1, 4095, 8190, 8191, 8192, 16383, 32767})
    for (const int shape : {0, 1, 2}) {  // alternating, steps of some length, one sign
      std::vector<TypeParam> x(groups.size() * kGroup);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool up = shape == 1 ? i / 50 % 2 : r.below(2) != 0;
        x[i] = static_cast<TypeParam>(1.75 * largest * (up ? 1 : shape == 2 ? 0 : -1));
      }
      const Stream sum = with_values(a, x.data(), x.size(), with(Isa::reference));
      on_every_instruction_set([&](const Options& options, const char* target) {
        ASSERT_TRUE(with_values(a, x.data(), x.size(), options) == sum) << target << ", codes of " << largest;
      });
    }
}

// Limits of certain 16-bit sums, and values beyond: the sums' limit, that of their starts, 2^15, 2^16 less the limit
// (which wraps to it), and 2^16 (which wraps to 0).
std::vector<std::int64_t> limits() {
  std::vector<std::int64_t> all = {0};
  for (const std::int64_t limit :
       {20478, 20479, 20480, 24575, 24576, 24577, 24578, 32767, 32768, 45056, 45057, 45058, 65535, 65536, 65537})
    for (const std::int64_t sign : {-1, 1}) all.push_back(sign * limit);
  return all;
}

// From `from` to `to` by steps of one width, as far as that goes.
std::int64_t towards(std::int64_t from, std::int64_t to, int width) {
  const std::int64_t most = (std::int64_t{1} << (width - 1)) - 1;
  return std::clamp(to - from, -most - 1, most);
}

TYPED_TEST(Edges, CodesAgreeAtTheLimitsOfSumsIn16Bits) {
  std::vector<EdgeGroup> groups;
  for (const std::int64_t start : limits())
    for (const std::int64_t end : limits())
      for (const int width : {14, 15, 16}) {
        EdgeGroup codes(Predictor::first, start, 0);
        std::int64_t at = start;
        // There and, soon after, back.
        codes.from_residuals([&](int i) {
          const std::int64_t e = i < 300 ? 0 : towards(at, i < 305 + kBlock ? end : -start / 2, width);
          at += e;
          return e;
        });
        groups.push_back(codes);
      }
  expect_same_values<TypeParam>(stream_of<TypeParam>(groups));
}

TYPED_TEST(Edges, SlopesAgreeAtTheLimitsOfSumsIn16Bits) {
  std::vector<EdgeGroup> groups;
  for (const std::int64_t start : limits())
    for (const std::int64_t first : limits())
      for (const std::int64_t home : {-65536, 0, 65536})  // 0 in 16 bits
        for (const int at_start : {1, 0}) {
          // A first step to a limit, or one to there later; then codes come home, and stay.
          EdgeGroup g(Predictor::second, start, at_start ? first : 0);
          const int place = at_start ? 0 : 33;
          std::int64_t slope = g.spec.slope, at = start;
          g.from_residuals([&](int i) {
            const std::int64_t wanted = i == place  ? first
                                        : i < place ? 0
                                                    : std::clamp<std::int64_t>(home - at, -16000, 16000);
            const std::int64_t e = towards(slope, wanted, 15);
            slope += e;
            at += slope;
            return e;
          });
          groups.push_back(g);
        }
  expect_same_values<TypeParam>(stream_of<TypeParam>(groups));
}

// Limits met in some groups of a stream, in codes of predictor 0 too, and by sums of such streams.
TYPED_TEST(Edges, MixedGroupsAgreeAtTheLimitsOfSumsIn16Bits) {
  Random r(92);
  const auto all = limits();
  const auto any = [&] { return all[r.below(all.size())]; };
  std::vector<Stream> streams;
  for (int k = 0; k < 8; ++k) {
    std::vector<EdgeGroup> groups;
    for (int g = 0; g < 40; ++g) {
      EdgeGroup group(static_cast<Predictor>(r.below(4)), any(), r.below(4) ? 0 : any() / 4);
      const bool is_unsigned = group.spec.predictor == Predictor::none_unsigned;
      const int order = group.spec.predictor == Predictor::second ? 2 : group.spec.predictor == Predictor::first;
      const int width = 13 + static_cast<int>(r.below(4));
      std::int64_t at = order == 0 ? 0 : group.spec.base, slope = group.spec.slope, target = any();
      group.from_residuals([&](int) -> std::int64_t {
        if (r.below(20) == 0) target = any();
        if (order == 0) return is_unsigned ? std::abs(target) : target;
        const std::int64_t e = towards(order == 2 ? slope : at, order == 2 ? (target - at) / 4 : target, width);
        slope += e;
        at += order == 2 ? slope : e;
        return e;
      });
      groups.push_back(group);
    }
    streams.push_back(stream_of<TypeParam>(groups));
  }
  for (const Stream& a : streams) {
    expect_same_values<TypeParam>(a);
    for (const Stream& b : streams) {
      const Stream sum = combined(Combine::subtract, a, b, with(Isa::reference));
      on_every_instruction_set([&](const Options& options, const char* target) {
        ASSERT_TRUE(combined(Combine::subtract, a, b, options) == sum) << target;
      });
      expect_same_values<TypeParam>(sum);
    }
  }
}

}  // namespace
}  // namespace stretto::codec
