// The codec under its C names: what each function promises, and that null pointers and nonsense are errors.
#include <algorithm>
#include <cstring>
#include <string>

#include "../ranks.hpp"
#include "stretto/stretto_stream.h"

using namespace api_test;

namespace {

constexpr std::size_t kN = 10000;
constexpr double kEps = 1e-3;

using Stream = std::vector<unsigned char>;

Stream compressed(const std::vector<float>& x, unsigned flags = 0) {
  Stream s(stretto_compress_bound(STRETTO_F32, x.size()));
  std::size_t written = 0;
  EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), x.size(), kEps, s.data(), s.size(), &written, flags), STRETTO_OK)
      << stretto_message();
  s.resize(written);
  return s;
}

template <class Function>
Stream combined(Function f, const Stream& a, const Stream& b) {
  Stream s(stretto_combine_bound(STRETTO_F32, kN));
  std::size_t written = 0;
  EXPECT_EQ(f(a.data(), a.size(), b.data(), b.size(), s.data(), s.size(), &written, 0u), STRETTO_OK)
      << stretto_message();
  s.resize(written);
  return s;
}

std::vector<float> decoded(const Stream& s, std::size_t count = kN, std::uint32_t divisor = 1) {
  std::vector<float> y(count);
  EXPECT_EQ(stretto_decompress(s.data(), s.size(), y.data(), count, divisor), STRETTO_OK) << stretto_message();
  return y;
}

template <class Exact>
void expect_within(const std::vector<float>& y, double promised, const Exact& exact) {
  for (std::size_t i = 0; i < y.size(); ++i)
    ASSERT_LE(std::fabs(double{y[i]} - exact(i)), promised + half_ulp(y[i])) << i;
}

}  // namespace

TEST(Streams, RoundTripKeepsTheBoundAndTellsItself) {
  const auto x = wave(0, kN);
  const Stream s = compressed(x, STRETTO_CHECKSUM);
  EXPECT_LT(s.size(), kN * sizeof(float) / 2);
  const auto y = decoded(s);
  for (std::size_t i = 0; i < kN; ++i) ASSERT_LE(std::fabs(double{x[i]} - double{y[i]}), kEps);
  stretto_stream_info info;
  ASSERT_STRETTO_OK(stretto_inspect(s.data(), s.size(), &info));
  EXPECT_EQ(info.type, STRETTO_F32);
  EXPECT_EQ(info.count, kN);
  EXPECT_EQ(info.bytes, s.size());
  EXPECT_EQ(info.contributions, 1u);
  EXPECT_EQ(info.eps, kEps);
  EXPECT_EQ(info.promised_error, kEps);
  EXPECT_LE(info.width, 2 * kEps);
  EXPECT_EQ(info.checksum, 1);
  ASSERT_STRETTO_OK(stretto_validate(s.data(), s.size()));
  std::vector<float> part(100);
  ASSERT_STRETTO_OK(stretto_decompress_slice(s.data(), s.size(), 4321, 100, part.data(), 1));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), y.begin() + 4321));
}

TEST(Streams, ArithmeticIsExactInCodeSpace) {
  const auto x = wave(0, kN), z = wave(1, kN);
  const Stream a = compressed(x), b = compressed(z);
  const Stream sum = combined(stretto_stream_add, a, b);
  EXPECT_EQ(sum, combined(stretto_stream_add, b, a));
  expect_within(decoded(sum), 2 * kEps, [&](std::size_t i) { return double{x[i]} + z[i]; });
  expect_within(decoded(sum, kN, 2), kEps, [&](std::size_t i) { return (double{x[i]} + z[i]) / 2; });
  expect_within(decoded(combined(stretto_stream_subtract, a, b)), 2 * kEps,
                [&](std::size_t i) { return double{x[i]} - z[i]; });
  expect_within(decoded(combined(stretto_stream_min, a, b)), kEps, [&](std::size_t i) { return std::min(x[i], z[i]); });
  expect_within(decoded(combined(stretto_stream_max, a, b)), kEps, [&](std::size_t i) { return std::max(x[i], z[i]); });
  Stream fused(stretto_combine_bound(STRETTO_F32, kN));
  std::size_t written = 0;
  ASSERT_STRETTO_OK(
      stretto_stream_add_values(a.data(), a.size(), z.data(), kN, fused.data(), fused.size(), &written, 0));
  fused.resize(written);
  EXPECT_EQ(fused, sum);
}

TEST(Streams, ScaleSliceAndConcatenateCarryCodesOver) {
  const auto x = wave(0, kN);
  const Stream a = compressed(x);
  const auto y = decoded(a);
  Stream out(stretto_combine_bound(STRETTO_F32, kN));
  std::size_t written = 0;
  ASSERT_STRETTO_OK(stretto_stream_scale(a.data(), a.size(), -3, out.data(), out.size(), &written, 0));
  expect_within(decoded({out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written)}), 3 * kEps,
                [&](std::size_t i) { return -3.0 * x[i]; });
  const auto slice = [&](std::size_t first, std::size_t count) {
    ASSERT_STRETTO_OK(stretto_stream_slice(a.data(), a.size(), first, count, out.data(), out.size(), &written, 0));
  };
  slice(0, 3333);
  const Stream head(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
  slice(3333, kN - 3333);
  const Stream tail(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
  EXPECT_TRUE(std::equal(y.begin() + 3333, y.end(), decoded(tail, kN - 3333).begin()));
  ASSERT_STRETTO_OK(stretto_stream_concatenate(head.data(), head.size(), tail.data(), tail.size(), out.data(),
                                               out.size(), &written, 0));
  EXPECT_EQ(decoded({out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written)}), y);
}

TEST(Streams, HaveTheCodingThatTheirFlagsAskFor) {
  std::vector<float> x(kN);
  for (std::size_t i = 0; i < kN; ++i)
    x[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1e-3) +
                              (i % 7 == 0 ? 0.02 * static_cast<double>(i % 11) : 0));
  const auto coding = [](const Stream& s) {
    stretto_stream_info info;
    EXPECT_EQ(stretto_inspect(s.data(), s.size(), &info), STRETTO_OK) << stretto_message();
    return info.coding;
  };
  const Stream fixed = compressed(x), dense = compressed(x, STRETTO_DENSE | STRETTO_CHECKSUM);
  EXPECT_EQ(coding(fixed), STRETTO_CODING_FIXED);
  EXPECT_EQ(coding(compressed(x, STRETTO_FIXED)), STRETTO_CODING_FIXED);
  EXPECT_EQ(coding(dense), STRETTO_CODING_DENSE);
  EXPECT_LT(dense.size(), fixed.size());
  EXPECT_EQ(decoded(dense), decoded(fixed));
  const Stream sum = combined(&stretto_stream_add, fixed, dense);
  EXPECT_EQ(coding(sum), STRETTO_CODING_DENSE) << "of one dense operand";
  EXPECT_EQ(decoded(sum), decoded(combined(&stretto_stream_add, fixed, fixed)));
  Stream out(stretto_compress_bound(STRETTO_F32, kN));
  std::size_t written = 0;
  EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), kN, kEps, out.data(), out.size(), &written,
                             STRETTO_DENSE | STRETTO_FIXED),
            STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(stretto_message()).find("dense"), std::string::npos) << stretto_message();
}

TEST(Streams, RangeIsThatOfTheFiniteValues) {
  std::vector<float> x = wave(0, kN);
  const auto [lo_at, hi_at] = std::minmax_element(x.begin(), x.end());
  const double lo_is = *lo_at, hi_is = *hi_at;
  x.push_back(NAN);
  x.push_back(INFINITY);
  double lo = 9, hi = 9;
  ASSERT_STRETTO_OK(stretto_value_range(STRETTO_F32, x.data(), x.size(), &lo, &hi));
  EXPECT_EQ(lo, lo_is);
  EXPECT_EQ(hi, hi_is);
}

TEST(Streams, RangeOfNoFiniteValueIsEmpty) {
  const std::vector<float> x{NAN, INFINITY, -INFINITY};
  for (const std::size_t count : {std::size_t{0}, x.size()}) {
    double lo = 9, hi = 9;
    ASSERT_STRETTO_OK(stretto_value_range(STRETTO_F32, x.data(), count, &lo, &hi));
    EXPECT_EQ(lo, INFINITY);
    EXPECT_EQ(hi, -INFINITY);
  }
}

TEST(Streams, EmptyIsLegal) {
  const Stream s = compressed({});
  EXPECT_GT(s.size(), 0u);
  ASSERT_STRETTO_OK(stretto_validate(s.data(), s.size()));
  ASSERT_STRETTO_OK(stretto_decompress(s.data(), s.size(), nullptr, 0, 1));
}

TEST(Streams, WhatIsWrongIsSaid) {
  const auto x = wave(0, kN);
  const Stream s = compressed(x);
  Stream out(stretto_combine_bound(STRETTO_F32, kN));
  std::vector<float> y(kN);
  std::size_t written = 77;
  EXPECT_EQ(stretto_compress(STRETTO_F32, nullptr, kN, kEps, out.data(), out.size(), &written, 0),
            STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(written, 0u);
  EXPECT_EQ(std::string(stretto_message()), "values is NULL with count 10000");
  EXPECT_EQ(stretto_compress(STRETTO_U8, x.data(), kN, kEps, nullptr, 0, &written, 0), STRETTO_UNSUPPORTED);
  EXPECT_EQ(std::string(stretto_message()), "type u8 has no streams");
  EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), kN, kEps, out.data(), 16, &written, 0), STRETTO_BUFFER_TOO_SMALL);
  EXPECT_EQ(written, 0u);
  EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), kN, kEps, out.data(), out.size(), nullptr, 0),
            STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), kN, kEps, out.data(), out.size(), &written, 8),
            STRETTO_INVALID_ARGUMENT);
  for (double bad : {0.0, -1.0, double{NAN}, double{INFINITY}})
    EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), kN, bad, out.data(), out.size(), &written, 0),
              STRETTO_INVALID_BOUND);
  EXPECT_EQ(stretto_decompress(s.data(), s.size(), y.data(), kN - 1, 1), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_decompress(s.data(), s.size(), y.data(), kN, 0), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_decompress(s.data(), s.size() / 2, y.data(), kN, 1), STRETTO_CORRUPT_STREAM);
  EXPECT_EQ(stretto_decompress(nullptr, 0, y.data(), kN, 1), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_inspect(s.data(), s.size(), nullptr), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_stream_scale(s.data(), s.size(), 0, out.data(), out.size(), &written, 0), STRETTO_INVALID_ARGUMENT);
  const Stream other = compressed(std::vector<float>(5, 1.0f));
  EXPECT_EQ(stretto_stream_add(s.data(), s.size(), other.data(), other.size(), out.data(), out.size(), &written, 0),
            STRETTO_INCOMPATIBLE);
  Stream broken = compressed(x, STRETTO_CHECKSUM);
  broken[broken.size() / 2] ^= 4;
  EXPECT_EQ(stretto_validate(broken.data(), broken.size()), STRETTO_CORRUPT_STREAM);
  EXPECT_EQ(stretto_compress_bound(STRETTO_U8, kN), 0u);
}

TEST(Streams, MissingDataKeepTheirBitsAndLeaveTheRange) {
  auto x = wave(0, kN);
  for (std::size_t i = 0; i < kN; i += 3) x[i] = -999;
  x[1] = 1e20f;
  const double marks[] = {-999, 7};
  stretto_missing missing = STRETTO_MISSING_INIT;
  missing.marks = marks;
  missing.count = 2;
  double lo = 0, hi = 0;
  std::uint64_t ignored = 0;
  ASSERT_STRETTO_OK(stretto_value_range_missing(STRETTO_F32, x.data(), kN, &missing, &lo, &hi, &ignored));
  EXPECT_GT(lo, -100);
  EXPECT_LT(hi, 100);
  EXPECT_EQ(ignored, 1u);
  Stream s(stretto_compress_bound(STRETTO_F32, kN));
  std::size_t written = 0;
  ASSERT_STRETTO_OK(stretto_compress_missing(STRETTO_F32, x.data(), kN, 0.7, &missing, s.data(), s.size(), &written,
                                             STRETTO_CHECKSUM));
  s.resize(written);
  const auto y = decoded(s);
  for (std::size_t i = 0; i < kN; ++i) {
    ASSERT_EQ(x[i] == -999, y[i] == -999) << i;
    ASSERT_EQ(x[i] == 7, y[i] == 7) << i;
  }
  EXPECT_EQ(y[1], 1e20f);
}

// 60 x 100 values, rough along each row and alike from row to row; a corner of it is missing.
TEST(Streams, AShapeSavesBytesKeepsTheBoundAndTellsItself) {
  constexpr std::size_t rows = 60, columns = 100;
  std::vector<float> x(rows * columns);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t column = i % columns, row = i / columns;
    x[i] = column + row < 40 ? -9999.0f : static_cast<float>(column * 37 % 101) + 0.01f * static_cast<float>(row);
  }
  const double mark = -9999;
  stretto_missing missing = STRETTO_MISSING_INIT;
  missing.marks = &mark;
  missing.count = 1;
  const uint64_t extents[] = {rows, columns};
  const auto made = [&](unsigned flags, int axes) {
    Stream s(stretto_compress_bound(STRETTO_F32, x.size()));
    std::size_t written = 7;
    const stretto_status status = axes > 0 ? stretto_compress_shaped(STRETTO_F32, x.data(), extents, axes, kEps,
                                                                     &missing, s.data(), s.size(), &written, flags)
                                           : stretto_compress_missing(STRETTO_F32, x.data(), x.size(), kEps, &missing,
                                                                      s.data(), s.size(), &written, flags);
    EXPECT_EQ(status, STRETTO_OK) << stretto_message();
    s.resize(written);
    return s;
  };
  const Stream s = made(STRETTO_CHECKSUM, 2), dense = made(STRETTO_CHECKSUM | STRETTO_DENSE, 0);
  EXPECT_LT(2 * s.size(), dense.size());
  EXPECT_EQ(s, made(STRETTO_CHECKSUM | STRETTO_DENSE, 2));
  uint64_t found[STRETTO_AXES_MAX] = {};
  int axes = -1;
  ASSERT_STRETTO_OK(stretto_stream_shape(s.data(), s.size(), found, &axes));
  EXPECT_EQ(axes, 2);
  EXPECT_EQ(found[0], rows);
  EXPECT_EQ(found[1], columns);
  ASSERT_STRETTO_OK(stretto_stream_shape(dense.data(), dense.size(), found, &axes));
  EXPECT_EQ(axes, 0);
  ASSERT_STRETTO_OK(stretto_validate(s.data(), s.size()));
  const auto y = decoded(s, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(std::fabs(double{x[i]} - double{y[i]}), kEps);
    ASSERT_EQ(x[i] == -9999, y[i] == -9999);
  }
  stretto_stream_info info;
  ASSERT_STRETTO_OK(stretto_inspect(s.data(), s.size(), &info));
  EXPECT_EQ(info.coding, STRETTO_CODING_DENSE);
  Stream out(stretto_combine_bound(STRETTO_F32, x.size()));
  std::size_t written = 7;
  EXPECT_EQ(stretto_stream_add(s.data(), s.size(), s.data(), s.size(), out.data(), out.size(), &written, 0),
            STRETTO_UNSUPPORTED);
  EXPECT_EQ(written, 0u);
  EXPECT_NE(std::string(stretto_message()).find("shaped"), std::string::npos) << stretto_message();
}

TEST(Streams, ArgumentsOfAShapeAreChecked) {
  const float x[6] = {};
  const uint64_t extents[] = {2, 3}, many[] = {uint64_t{1} << 40, uint64_t{1} << 40};
  Stream out(1000);
  std::size_t written = 7;
  const auto status = [&](const uint64_t* of, int axes, double bound, unsigned flags) {
    return stretto_compress_shaped(STRETTO_F32, x, of, axes, bound, nullptr, out.data(), out.size(), &written, flags);
  };
  EXPECT_EQ(status(extents, 2, 1, 0), STRETTO_OK) << stretto_message();
  EXPECT_EQ(status(extents, 0, 1, 0), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(written, 0u);
  EXPECT_EQ(status(extents, STRETTO_AXES_MAX + 1, 1, 0), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(status(nullptr, 2, 1, 0), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(status(many, 2, 1, 0), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(status(extents, 2, 1, STRETTO_FIXED), STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(stretto_message()).find("fixed"), std::string::npos) << stretto_message();
  EXPECT_EQ(status(extents, 2, 1, 64), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(status(extents, 2, 0, 0), STRETTO_INVALID_BOUND);
  uint64_t found[STRETTO_AXES_MAX];
  int axes = 0;
  EXPECT_EQ(stretto_stream_shape(out.data(), 10, found, &axes), STRETTO_CORRUPT_STREAM);
  EXPECT_EQ(stretto_stream_shape(nullptr, 10, found, &axes), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_stream_shape(out.data(), 10, nullptr, &axes), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(stretto_stream_shape(out.data(), 10, found, nullptr), STRETTO_INVALID_ARGUMENT);
}

TEST(Streams, MissingDataThatMakeNoSenseAreNamed) {
  const float x[] = {1, 2};
  unsigned char out[512];
  std::size_t written = 1;
  const double marks[17] = {};
  const auto status = [&](const stretto_missing& missing) {
    return stretto_compress_missing(STRETTO_F32, x, 2, kEps, &missing, out, sizeof out, &written, 0);
  };
  EXPECT_EQ(status({sizeof(stretto_missing), marks, 17, 0}), STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(stretto_message()).find("17"), std::string::npos);
  EXPECT_EQ(status({sizeof(stretto_missing), nullptr, 1, 0}), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(status({sizeof(stretto_missing), marks, 1, -2}), STRETTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string(stretto_message()).find("-2"), std::string::npos);
  EXPECT_EQ(status({3, marks, 1, 0}), STRETTO_INVALID_ARGUMENT);
  EXPECT_EQ(written, 0u);
}
