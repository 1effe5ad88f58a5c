// Marks of missing data: they keep their bits, no other value decodes to a mark, all others keep the bound, and every
// instruction set gives the bytes of the reference.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "../every_target.hpp"
#include "../support.hpp"
#include "codec/numbers/half.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace {

constexpr std::size_t kCount = 5 * kGroup + 77;
constexpr double kMarks[] = {-999, -9999, -99.9, -1, 0, 32767, 1e10, 9.969209968386869e36, 1e20};
constexpr double kBounds[] = {1e-4, 0.0037, 0.01, 0.05, 1.0, 700.0};

Options with_marks(std::span<const double> marks, Isa isa = Isa::best) {
  Options o = with(isa);
  o.marks = marks;
  return o;
}

// A wave around `middle`, where a third of the values in patches is the mark, and some are its neighbours.
template <class T>
std::vector<T> patches(T mark, double middle) {
  std::vector<T> x(kCount);
  Random r(7);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(middle + 3 * std::sin(static_cast<double>(i) / 90));
    if (i / 200 % 3 == 1) x[i] = mark;
    if (r.below(400) == 0) x[i] = std::nextafter(mark, r.below(2) ? T{0} : std::numeric_limits<T>::infinity());
  }
  return x;
}

template <class T>
void expect_same_mask(const std::vector<T>& x, const std::vector<T>& y, std::span<const double> marks, double eps) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (const double mark : marks) {
      const T m = static_cast<T>(mark);
      ASSERT_EQ(x[i] == m, y[i] == m) << i << ": " << x[i] << " became " << y[i];
      if (x[i] == m) {
        ASSERT_EQ(std::bit_cast<Bits>(x[i]), std::bit_cast<Bits>(y[i])) << i;
      }
    }
    if (std::isfinite(x[i])) {
      ASSERT_LE(std::fabs(double{x[i]} - double{y[i]}), eps) << i;
    }
  }
}

template <class T>
void round_trips() {
  for (const double told : kMarks) {
    const double marks[] = {told};
    for (const double middle : {15.0, told}) {
      const auto x = patches(static_cast<T>(told), middle);
      for (const double eps : kBounds) {
        SCOPED_TRACE(testing::Message() << told << " around " << middle << " within " << eps);
        const Stream s = compressed(x, eps, with_marks(marks, Isa::reference));
        EXPECT_EQ(validate(s), Status::ok) << message();
        EXPECT_LE(s.size(), compress_bound(type_of<T>(), x.size()));
        expect_same_mask(x, decoded<T>(s), marks, eps);
        for (const Isa isa : isas()) EXPECT_EQ(compressed(x, eps, with_marks(marks, isa)), s) << name(isa);
      }
    }
  }
}

TEST(Marks, Float32MasksAreTheSameAfterAsBefore) { round_trips<float>(); }
TEST(Marks, Float64MasksAreTheSameAfterAsBefore) { round_trips<double>(); }

TEST(Marks, NeighboursOnTheGridDoNotBecomeTheMark) {
  // Without marks, values within the bound of a multiple of the width decode to it.
  for (const double eps : kBounds) {
    const std::vector<float> one{3.0f};
    const auto mark = static_cast<float>(3 * info_of(compressed(one, eps)).width);
    std::vector<float> x(kCount);
    Random r(3);
    for (auto& v : x) v = mark + static_cast<float>(eps) * (static_cast<float>(r.below(2001)) / 1000 - 1);
    for (std::size_t i = 0; i < x.size(); i += 5) x[i] = mark;
    const double marks[] = {mark};
    const auto plain = decoded<float>(compressed(x, eps));
    EXPECT_NE(std::count(plain.begin(), plain.end(), mark), std::count(x.begin(), x.end(), mark));
    expect_same_mask(x, decoded<float>(compressed(x, eps, with_marks(marks))), marks, eps);
  }
}

TEST(Marks, HalvesKeepTheirMasks) {
  for (const Type t : {Type::f16, Type::bf16})
    for (const double told : {-999.0, -1.0, 0.0, 100.0}) {
      const auto half = [t](double v) {
        const auto f = static_cast<float>(v);
        return t == Type::f16 ? round_f16(f) : round_bf16(f);
      };
      std::vector<std::uint16_t> x(kCount), y(kCount);
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = half(i % 3 == 0 ? told : told + 0.02 * static_cast<double>(i % 101) - 1);
      const double marks[] = {told};
      const Stream s = compress_raw(t, x.data(), x.size(), 0.5, with_marks(marks));
      ASSERT_EQ(decompress(s, y.data(), y.size()), Status::ok) << message();
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i] == half(told), y[i] == half(told)) << i;
    }
}

TEST(Marks, SeveralAtOnceBesideNaNAndInfinities) {
  const double marks[] = {-9999, -999, 1e20};
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  auto x = patches(-9999.0f, 15);
  const float others[] = {-999, 1e20f, nan, inf, -inf};
  Random r(5);
  for (std::size_t i = 2 * kGroup; i < 4 * kGroup; ++i)
    if (r.below(3) == 0) x[i] = others[r.below(std::size(others))];
  const Stream s = compressed(x, 0.01, with_marks(marks, Isa::reference));
  for (const Isa isa : isas()) EXPECT_EQ(compressed(x, 0.01, with_marks(marks, isa)), s) << name(isa);
  const auto y = decoded<float>(s);
  expect_same_mask(x, y, marks, 0.01);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i])) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(x[i]), std::bit_cast<std::uint32_t>(y[i])) << i;
    }
}

TEST(Marks, DataWithThePlaceholderOfTheCodecKeepIt) {
  // The NaN that stands for a mark on its way through the kernels may be in the data.
  const double marks[] = {-9999};
  auto x = patches(-9999.0f, 15);
  const auto rare = std::bit_cast<float>(0x7fd5a3c9u);
  x[100] = x[205] = rare;
  const auto y = decoded<float>(compressed(x, 0.01, with_marks(marks)));
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y[100]), 0x7fd5a3c9u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(y[205]), 0x7fd5a3c9u);
  expect_same_mask(x, y, marks, 0.01);
}

TEST(Marks, MagnitudesThatARangeIgnoresKeepTheirBits) {
  auto x = patches(15.0f, 15);
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = i % 2 ? 1.25e3f : -4.75e3f;
  Options o;
  o.keep_from = 1e3;
  const auto y = decoded<float>(compressed(x, 40, o));
  for (std::size_t i = 0; i < x.size(); i += 3) ASSERT_EQ(x[i], y[i]) << i;
}

TEST(Marks, RangesLeaveThemOut) {
  const double marks[] = {-9999, -99.9};
  std::vector<float> x(kCount, 5.0f);
  for (std::size_t i = 0; i < x.size(); i += 7) x[i] = -9999.0f;
  x[11] = -99.9f;
  x[12] = -3;
  x[13] = 1e20f;
  for (const Isa isa : isas()) {
    Ranges found;
    ASSERT_EQ(value_ranges(Type::f32, x.data(), x.size(), kIgnoreAbove, &found, with_marks(marks, isa)), Status::ok);
    EXPECT_EQ(found.below.lo, -3);
    EXPECT_EQ(found.below.hi, 5);
    EXPECT_EQ(found.all.hi, double{1e20f});
    EXPECT_EQ(found.ignored, 1u);
  }
}

template <class T>
Ranges ranges_by_definition(const std::vector<T>& x, std::span<const double> marks, double above) {
  Ranges expected;
  for (const T v : x) {
    const auto is_v = [v](double mark) { return static_cast<T>(mark) == v; };
    if (!std::isfinite(v) || std::any_of(marks.begin(), marks.end(), is_v)) continue;
    const auto y = static_cast<double>(v);
    expected.all.merge({y, y});
    if (std::fabs(y) < above)
      expected.below.merge({y, y});
    else
      ++expected.ignored;
  }
  return expected;
}

template <class T>
void expect_ranges(const std::vector<T>& x, std::span<const double> marks, double above) {
  const Ranges expected = ranges_by_definition(x, marks, above);
  const auto look = [&](Options o, const char* name) {
    o.marks = marks;
    Ranges found;
    ASSERT_EQ(value_ranges(type_of<T>(), x.data(), x.size(), above, &found, o), Status::ok) << message();
    EXPECT_EQ(found.all.lo, expected.all.lo) << name << ", " << x.size();
    EXPECT_EQ(found.all.hi, expected.all.hi) << name << ", " << x.size();
    EXPECT_EQ(found.below.lo, expected.below.lo) << name << ", " << x.size();
    EXPECT_EQ(found.below.hi, expected.below.hi) << name << ", " << x.size();
    EXPECT_EQ(found.ignored, expected.ignored) << name << ", " << x.size();
  };
  look(with(Isa::reference), "reference");
  on_every_instruction_set(look);
}

// Marks at the ends of the range, inside and outside, beside NaN, infinities, and magnitudes at the threshold.
template <class T>
void ranges_beside_marks() {
  const double marks[] = {-9999, 5, -0.0, 1e20, -99.9};
  const T odd[] = {T(-9999), T(5), T(0), T(1e20), T(-99.9), T(NAN), T(INFINITY), T(1e15), T(-1e15), T(9e14)};
  Random r(3);
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{4} * kGroup, kCount})
    for (const std::size_t step : {1u, 3u, 5000u}) {
      std::vector<T> x(n);
      for (std::size_t i = 0; i < n; ++i)
        x[i] = i % step == 0 ? odd[r.below(std::size(odd))] : static_cast<T>(std::sin(0.01 * double(i)) * 20);
      for (const std::size_t count : {0u, 1u, 2u, 5u})
        for (const double above : {1e15, 19.0, double{INFINITY}}) expect_ranges<T>(x, {marks, count}, above);
    }
}

TEST(Marks, RangesOfFloat32AreThoseOfTheDefinition) { ranges_beside_marks<float>(); }
TEST(Marks, RangesOfFloat64AreThoseOfTheDefinition) { ranges_beside_marks<double>(); }

TEST(Marks, TooManyAreRefusedByTheirNumber) {
  const std::vector<double> marks(kMaxMarks + 1, 1.0);
  const float x = 0;
  std::byte out[1024];
  std::size_t written = 0;
  EXPECT_EQ(compress(Type::f32, &x, 1, 1, out, &written, with_marks(marks)), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("17 marks"), std::string::npos);
}

}  // namespace
}  // namespace stretto::codec
