// The kernels' own logic, on emulated warps, gives the reference's bytes: compression, decompression, sums, minima and
// maxima, for all inputs of this directory's other tests.
#include <cmath>
#include <cstring>
#include <limits>

#include "../inputs.hpp"
#include "../sums/means.hpp"
#include "emulated.hpp"

namespace stretto::codec {
namespace {

using cuda::Outcome;

template <class T>
class CudaStreams : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaStreams, Types);

// Where two streams differ, for a message.
std::string difference(const Stream& a, const Stream& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i])
      return "byte " + std::to_string(i) + " of " + std::to_string(a.size()) + " and " + std::to_string(b.size());
  return "lengths " + std::to_string(a.size()) + " and " + std::to_string(b.size());
}

void expect_same(const Emulated& got, const Stream& expected, const std::string& what) {
  ASSERT_EQ(got.outcome, Outcome::ok) << what;
  ASSERT_TRUE(got.stream == expected) << what << ": " << difference(got.stream, expected);
}

template <class T>
void expect_same_values(const Stream& s, const std::string& what, std::uint32_t divisor) {
  const auto expected = decoded<T>(s, with(Isa::reference), divisor);
  std::vector<T> got(expected.size());
  ASSERT_EQ(emulated_decompress<T>(s, got.data(), got.size(), divisor), Outcome::ok) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(T)), 0)
        << what << ", divisor " << divisor << ", value " << i << ": " << got[i] << " instead of " << expected[i];
}

TYPED_TEST(CudaStreams, CompressionGivesTheReferencesBytes) {
  using T = TypeParam;
  for (const auto& in : inputs<T>()) {
    const Stream expected = compressed(in.x, in.eps, with(Isa::reference));
    expect_same(emulated_compress<T>(type_of<T>(), in.x.data(), in.x.size(), in.eps), expected, in.name);
  }
}

TYPED_TEST(CudaStreams, UnalignedValuesCompressAlike) {
  using T = TypeParam;
  for (const auto& in : inputs<T>()) {
    std::vector<T> moved(1);
    moved.insert(moved.end(), in.x.begin(), in.x.end());
    const Stream expected = compressed(in.x, in.eps, with(Isa::reference));
    expect_same(emulated_compress<T>(type_of<T>(), moved.data() + 1, in.x.size(), in.eps), expected, in.name);
  }
}

TYPED_TEST(CudaStreams, DecompressionGivesTheReferencesBits) {
  using T = TypeParam;
  for (const auto& in : inputs<T>()) {
    const Stream s = compressed(in.x, in.eps, with(Isa::reference));
    for (const std::uint32_t divisor : {1u, 3u}) expect_same_values<T>(s, in.name, divisor);
  }
}

TYPED_TEST(CudaStreams, MeansThatAreHardToRoundGiveTheReferencesBits) {
  for (const HardSum& s : hard_sums<TypeParam>())
    for (const std::uint32_t divisor : kHardDivisors)
      expect_same_values<TypeParam>(s.stream, "width " + std::to_string(s.width), divisor);
}

TYPED_TEST(CudaStreams, SumsAndDifferencesGiveTheReferencesBytes) {
  using T = TypeParam;
  const double eps = 1e-3;
  const auto x = summands<T>(2 * 1024 + 77, eps, 12, 5);
  std::vector<Stream> s;
  for (const auto& v : x) s.push_back(compressed(v, eps, with(Isa::reference)));
  for (std::size_t i = 0; i < s.size(); ++i)
    for (std::size_t j = i; j < s.size(); ++j) {
      const std::string what = std::to_string(i) + " and " + std::to_string(j);
      for (const Combine op : {Combine::add, Combine::subtract}) {
        const Stream sum = combined(op, s[i], s[j], with(Isa::reference));
        expect_same(emulated_combine<T>(op, s[i], s[j]), sum, what);
        if (j % 3 == 0) expect_same_values<T>(sum, what, j % 2 ? 7 : 1);
      }
    }
}

TYPED_TEST(CudaStreams, LongSumsOfSumsGiveTheReferencesBytes) {
  using T = TypeParam;
  const double eps = 1e-3;
  const auto x = summands<T>(1024 + 500, eps, 12, 6);
  Stream sum = compressed(x[0], eps, with(Isa::reference));
  for (std::size_t i = 1; i < x.size(); ++i) {
    const Stream one = compressed(x[i], eps, with(Isa::reference));
    for (const Combine op : {Combine::min, Combine::max})
      expect_same(emulated_combine<T>(op, sum, one), combined(op, sum, one, with(Isa::reference)), std::to_string(i));
    const Stream next = combined(i % 4 == 3 ? Combine::subtract : Combine::add, sum, one, with(Isa::reference));
    expect_same(emulated_combine<T>(i % 4 == 3 ? Combine::subtract : Combine::add, sum, one), next, std::to_string(i));
    expect_same(emulated_combine<T>(Combine::add, next, next), combined(Combine::add, next, next, with(Isa::reference)),
                "twice");
    expect_same_values<T>(next, std::to_string(i), 1);
    expect_same_values<T>(next, std::to_string(i), static_cast<std::uint32_t>(i + 1));
    sum = next;
  }
}

// Fill values in the same places of all fields, and marks of other values in places of a few.
TYPED_TEST(CudaStreams, SumsOfFieldsWithFillValuesGiveTheReferencesBytes) {
  using T = TypeParam;
  const double eps = 1e-3;
  for (const double scale : {0.5, 1e3, 4e6}) {  // codes of a few bits, of twenty, and near the limit of 32
    std::vector<std::vector<T>> x(5, std::vector<T>(1024 + 300));
    for (std::size_t k = 0; k < x.size(); ++k)
      for (std::size_t i = 0; i < x[k].size(); ++i) {
        x[k][i] = static_cast<T>(scale * std::sin(0.01 * static_cast<double>(i + 50 * k)));
        if (i / 40 % 3 == 0) x[k][i] = T{1e20f};
        if (k >= 2 && i % 97 == k) x[k][i] = std::numeric_limits<T>::quiet_NaN();
        if (k >= 3 && i % 89 == k) x[k][i] = static_cast<T>(-1e22 * static_cast<double>(i));
      }
    const auto same = [&](Combine op, const Stream& a, const Stream& b, const char* what) {
      const Stream sum = combined(op, a, b, with(Isa::reference));
      expect_same(emulated_combine<T>(op, a, b), sum, what + (" of " + std::to_string(scale)));
      return sum;
    };
    std::vector<Stream> s;
    for (const auto& v : x) s.push_back(compressed(v, eps, with(Isa::reference)));
    const Stream alike = same(Combine::add, s[0], s[1], "two alike"), other = same(Combine::add, s[2], s[3], "others"),
                 three = same(Combine::add, alike, s[0], "three alike"), six = same(Combine::add, three, three, "six");
    same(Combine::subtract, six, alike, "difference alike");
    same(Combine::subtract, s[0], alike, "difference from one");
    same(Combine::subtract, six, other, "difference");
    same(Combine::subtract, other, six, "difference turned");
    same(Combine::add, other, s[4], "five");
    for (const Stream& a : {alike, other, six})
      for (const std::size_t k : {0, 4})
        expect_same(emulated_add_values<T>(a, x[k].data(), x[k].size(), k != 0),
                    with_values(a, x[k].data(), x[k].size(), with(Isa::reference)), "values " + std::to_string(k));
  }
}

TEST(CudaStreams, MeansOfLargeNumbersAreTheReferences) {
  std::vector<double> x(1500, 1.5e308);
  for (const double eps : {1e300, 1e291}) {
    for (std::size_t i = 0; i < x.size(); i += 3) x[i] = -1e300;
    const Stream s = compressed(x, eps, with(Isa::reference));
    expect_same_values<double>(combined(Combine::add, s, s), "eps " + std::to_string(eps), 2);
  }
}

// Sums that differ by less than the values that they decode to; NaN and zeros of several kinds.
TYPED_TEST(CudaStreams, ExtremaOfSumsThatDecodeAlikeGiveReferenceBytes) {
  using T = TypeParam;
  const double eps = 1e-3;
  const auto x = summands<T>(1024 + 40, eps, 12, 6);
  std::vector<T> zeros(x[0].size(), T{-0.0});
  for (std::size_t i = 0; i < zeros.size(); i += 5) zeros[i] = T{1e25f};
  std::vector<Stream> all = {compressed(x[5], eps), compressed(x[8], eps), compressed(zeros, eps)};
  for (std::size_t a = 0; a < 3; ++a)
    for (const std::size_t k : {0, 1, 7}) all.push_back(with_values(all[a], x[k].data(), x[k].size()));
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < all.size(); ++b)
      for (const Combine op : {Combine::min, Combine::max})
        expect_same(emulated_combine<T>(op, all[a], all[b]), combined(op, all[a], all[b], with(Isa::reference)),
                    std::to_string(a) + " and " + std::to_string(b));
}

TYPED_TEST(CudaStreams, FusedSumsGiveTheReferencesBytes) {
  using T = TypeParam;
  const double eps = 1e-3;
  const auto x = summands<T>(2 * 1024 + 77, eps, 12, 7);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Stream a = compressed(x[i], eps, with(Isa::reference));
    for (std::size_t j = i / 2 % 2; j < x.size(); j += 2) {
      const std::string what = std::to_string(i) + " and " + std::to_string(j);
      const Stream sum = with_values(a, x[j].data(), x[j].size(), with(Isa::reference));
      expect_same(emulated_add_values<T>(a, x[j].data(), x[j].size(), false), sum, what);
      if (j % 3 == 0) expect_same(emulated_add_values<T>(a, x[j].data(), x[j].size(), true), sum, what);
    }
  }
}

TYPED_TEST(CudaStreams, MinimaAndMaximaGiveTheReferencesBytes) {
  using T = TypeParam;
  const double eps = 1e-3;
  const auto x = summands<T>(1024 + 77, eps, 12, 8);
  std::vector<Stream> s;
  for (const auto& v : x) s.push_back(compressed(v, eps, with(Isa::reference)));
  for (std::size_t i = 0; i < s.size(); ++i)
    for (std::size_t j = i / 2 % 2; j < s.size(); j += 2)
      for (const Combine op : {Combine::min, Combine::max})
        expect_same(emulated_combine<T>(op, s[i], s[j]), combined(op, s[i], s[j], with(Isa::reference)),
                    std::to_string(i) + " and " + std::to_string(j));
}

TYPED_TEST(CudaStreams, RangeIsTheHosts) {
  using T = TypeParam;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  for (const auto& in : inputs<T>()) {
    double lo = 0, hi = 0, got_lo = 1, got_hi = 1;
    ASSERT_EQ(value_range(type_of<T>(), in.x.data(), in.x.size(), &lo, &hi), Status::ok);
    EXPECT_EQ(emulated_range<T>(type_of<T>(), in.x.data(), in.x.size(), kNone, &got_lo, &got_hi), 0u) << in.name;
    EXPECT_EQ(got_lo, lo) << in.name;
    EXPECT_EQ(got_hi, hi) << in.name;
    // Thresholds that values have, and others between two numbers of the type.
    for (const double above : {kIgnoreAbove, 1.0, 0.1, lo > 0 && lo <= hi ? lo : 0.5, hi > 0 && lo <= hi ? hi : 3e38}) {
      Ranges expected;
      ASSERT_EQ(value_ranges(type_of<T>(), in.x.data(), in.x.size(), above, &expected), Status::ok);
      const auto left_out = emulated_range<T>(type_of<T>(), in.x.data(), in.x.size(), above, &got_lo, &got_hi);
      EXPECT_EQ(left_out, expected.ignored) << in.name << ", " << above;
      EXPECT_EQ(got_lo, expected.below.lo) << in.name << ", " << above;
      EXPECT_EQ(got_hi, expected.below.hi) << in.name << ", " << above;
    }
  }
}

}  // namespace
}  // namespace stretto::codec
