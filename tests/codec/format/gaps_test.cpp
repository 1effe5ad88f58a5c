// Missing data: every pattern of gaps, alone and against every other, through every operation, gives the bytes and
// values of the reference.
#include <cmath>
#include <cstring>
#include <limits>

#include "../every_target.hpp"
#include "codec/numbers/half.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace {

constexpr std::size_t kCount = 3 * kGroup + 77;

struct Gaps {
  const char* name;
  bool (*missing)(std::size_t i, Random& r);
};
constexpr Gaps kGaps[] = {
    {"none", [](std::size_t, Random&) { return false; }},
    {"one", [](std::size_t i, Random&) { return i == kGroup + 333; }},
    {"every other", [](std::size_t i, Random&) { return i % 2 == 1; }},
    {"runs", [](std::size_t i, Random&) { return i / 70 % 3 == 1; }},
    {"ragged", [](std::size_t, Random& r) { return r.below(4) == 0; }},
    {"whole group", [](std::size_t i, Random&) { return i / kGroup == 1; }},
    {"all but one of a group", [](std::size_t i, Random&) { return i / kGroup == 0 && i != 500; }},
    {"whole blocks", [](std::size_t i, Random&) { return i / kBlock % 3 == 1; }},
    {"first of a group", [](std::size_t i, Random&) { return i % kGroup == 0; }},
    {"last of a group", [](std::size_t i, Random&) { return i % kGroup == kGroup - 1; }},
    {"long runs", [](std::size_t i, Random&) { return i / 300 % 3 == 1; }},
    {"single places", [](std::size_t i, Random&) { return i % 16 == 5; }},
    {"tail", [](std::size_t i, Random&) { return i >= 3 * kGroup; }},
};
constexpr std::size_t kPatterns = std::size(kGaps);

// The value in the gaps: one fill, NaN, or several.
float fill(std::size_t kind, Random& r) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  constexpr float several[] = {1e20f, -1e20f, nan, inf, -inf, 3e38f, 1e30f};
  return kind == 0 ? 1e20f : kind == 1 ? nan : several[r.below(std::size(several))];
}

struct Kind {
  const char* name;
  Type type;
  double eps;
};
// Codes that need no look, and codes beyond 16 bits.
constexpr Kind kKinds[] = {{"float32", Type::f32, 1e-3},   {"float32", Type::f32, 1e-6},  {"float64", Type::f64, 1e-3},
                           {"float64", Type::f64, 1e-6},   {"float16", Type::f16, 1e-3},  {"float16", Type::f16, 1e-6},
                           {"bfloat16", Type::bf16, 1e-3}, {"bfloat16", Type::bf16, 1e-6}};

void put(Type t, double value, std::byte* to) {
  const auto single = static_cast<float>(value);
  const std::uint16_t half = t == Type::f16 ? round_f16(single) : round_bf16(single);
  const void* const from = t == Type::f64   ? static_cast<const void*>(&value)
                           : t == Type::f32 ? static_cast<const void*>(&single)
                                            : static_cast<const void*>(&half);
  std::memcpy(to, from, size_of(t));
}

// Values with these gaps. The groups are of every order of prediction, turned by `turn`.
std::vector<std::byte> field(Type t, std::size_t pattern, std::size_t fills, std::size_t turn) {
  Random r(100 * pattern + 10 * fills + turn), places(pattern);
  std::vector<std::byte> x(kCount * size_of(t));
  double walk = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    walk += 0.02 * r.symmetric();
    const std::size_t order = (i / kGroup + turn) % 4;
    const double value = order == 0   ? r.uniform()
                         : order == 1 ? r.symmetric()
                         : order == 2 ? walk
                                      : std::sin(static_cast<double>(i) / 300);
    put(t, kGaps[pattern].missing(i, places) ? fill(fills, r) : value, x.data() + i * size_of(t));
  }
  return x;
}

std::vector<std::byte> values_of(const Stream& s, const Options& options) {
  const Info info = info_of(s);
  std::vector<std::byte> y(info.count * size_of(info.type));
  EXPECT_EQ(decompress(s, y.data(), info.count, options), Status::ok) << message();
  return y;
}

// Expects f(options, name) to be equal on every instruction set; returns the reference's result.
template <class F>
Stream expect_same(const std::string& what, F f) {
  const Stream wanted = f(with(Isa::reference));
  on_every_instruction_set(
      [&](const Options& options, const char* target) { EXPECT_TRUE(f(options) == wanted) << what << ", " << target; });
  return wanted;
}

class EveryGap : public testing::TestWithParam<Kind> {};

TEST_P(EveryGap, GivesTheBytesOfTheReferenceInEveryOperation) {
  const Type type = GetParam().type;
  const double eps = GetParam().eps;
  for (std::size_t pattern = 0; pattern < kPatterns; ++pattern)
    for (std::size_t other = 0; other < kPatterns; ++other) {
      // All pairs once; a quarter of them for tests that only show other types or longer codes with the same kernels.
      if (pattern != other && (type != Type::f32 || eps < 1e-5) && (pattern + other) % 4 != 0) continue;
      const std::size_t fills = (pattern + other) % 3, other_fills = other % 3;
      const auto x = field(type, pattern, fills, 0), y = field(type, other, other_fills, 1 + other % 4);
      const std::string one = kGaps[pattern].name, both = one + " and " + kGaps[other].name;
      const Stream a = expect_same("compress " + one, [&](const Options& options) {
        return compress_raw(type, x.data(), kCount, eps, options);
      });
      const Stream b = compress_raw(type, y.data(), kCount, eps, with(Isa::reference));
      for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max}) {
        const Stream s = expect_same("operation " + std::to_string(static_cast<int>(op)) + ", " + both,
                                     [&](const Options& options) { return combined(op, a, b, options); });
        expect_same("decompress of operation", [&](const Options& options) { return values_of(s, options); });
        if (op != Combine::subtract) continue;
        // Gaps that are exact sums already.
        expect_same("add to a difference, " + both,
                    [&](const Options& options) { return combined(Combine::add, s, b, options); });
        expect_same("add_values to a difference, " + both,
                    [&](const Options& options) { return with_values(s, x.data(), kCount, options); });
      }
      expect_same("add_values, " + both,
                  [&](const Options& options) { return with_values(a, y.data(), kCount, options); });
      if (HasFailure()) return;
    }
}

// A map's padding is 0 whatever the output held before, also where the runs fill whole vectors.
TEST(GapsOfAnyNumber, HaveTheReferencesBytes) {
  constexpr std::size_t n = 3 * kGroup;  // the first groups are written in place
  for (std::size_t changes = 1; changes <= 160; ++changes) {
    std::vector<float> x(n), y(n, 0.25F);
    for (std::size_t i = 0; i < n; ++i) {
      const bool missing = i % kGroup * (changes + 1) / kGroup % 2 == 1;
      x[i] = missing ? std::numeric_limits<float>::quiet_NaN() : std::sin(0.01F * static_cast<float>(i));
    }
    const std::string what = std::to_string(changes) + " changes";
    const Stream a =
        expect_same(what, [&](const Options& options) { return compress_raw(Type::f32, x.data(), n, 1e-3, options); });
    expect_same("sum, " + what, [&](const Options& options) { return combined(Combine::add, a, a, options); });
    expect_same("values, " + what, [&](const Options& options) { return with_values(a, x.data(), n, options); });
    expect_same("finite values, " + what, [&](const Options& options) { return with_values(a, y.data(), n, options); });
    expect_same("decompress, " + what, [&](const Options& options) { return values_of(a, options); });
    if (HasFailure()) return;
  }
}

// A sum's exact numbers lie at any bit of any word, depending on the grid's width, and carries and borrows cross all
// their words.
TEST(GapsOfOneFill, SumsWithOneFillEachAreExactOnGridsOfEveryWidth) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float fills[][2] = {{nan, nan},      {1e20f, 1e20f}, {-9999.0f, -9999.0f},
                                {1e-3f, -1e-3f}, {1e20f, nan},   {3e4f, -3e4f}};
  for (int exponent = -120; exponent <= 90; exponent += 3) {
    const double eps = std::ldexp(1.1, exponent);
    const auto& pair = fills[static_cast<std::size_t>(exponent + 120) / 3 % std::size(fills)];
    std::vector<float> x(kGroup), y(kGroup);
    Random r(static_cast<std::uint64_t>(exponent + 1000));
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = r.below(3) == 0 ? pair[0] : static_cast<float>(eps * 500 * r.symmetric());
      y[i] = r.below(5) == 0 ? pair[1] : static_cast<float>(eps * (i % 7 == 0 ? 0 : 900) * r.symmetric());
    }
    const std::string what = "bound 1.1 * 2^" + std::to_string(exponent);
    const Stream a = compress_raw(Type::f32, x.data(), kGroup, eps, with(Isa::reference));
    const Stream b = compress_raw(Type::f32, y.data(), kGroup, eps, with(Isa::reference));
    for (const Combine op : {Combine::add, Combine::subtract})
      expect_same(what, [&](const Options& options) { return combined(op, a, b, options); });
    expect_same(what, [&](const Options& options) { return with_values(a, y.data(), kGroup, options); });
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EveryGap, testing::ValuesIn(kKinds), [](const auto& info) {
  return std::string(info.param.name) + (info.param.eps < 1e-5 ? "Fine" : "Coarse");
});

}  // namespace
}  // namespace stretto::codec
