#include "stack/quality.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace stretto::stacking {
namespace {

const std::vector<float> kImages{1, 2, 3, 4, 0.5F, -2, 1, -1};  // two of four values

Reference reference() {
  Reference r;
  add_to_reference(STRETTO_F32, kImages.data(), 2, 4, &r);
  return r;
}

// The error map, with kLeftOut in place of NaN, which is equal to nothing.
constexpr float kLeftOut = -99;
std::vector<float> errors(const std::vector<float>& result, const Reference& r) {
  std::vector<float> out = error_map(STRETTO_F32, result.data(), r);
  for (float& v : out) v = std::isnan(v) ? kLeftOut : v;
  return out;
}

TEST(Quality, ReferenceIsTheSumAndTheSumOfMagnitudes) {
  const Reference r = reference();
  EXPECT_EQ(r.sum, (std::vector<double>{1.5, 0, 4, 3}));
  EXPECT_EQ(r.magnitude, (std::vector<double>{1.5, 4, 4, 5}));
}

TEST(Quality, AnExactStackHasNoErrorAndKeepsItsPromise) {
  const std::vector<float> exact{1.5F, 0, 4, 3};
  const Quality q = compare(STRETTO_F32, exact.data(), reference(), {0, 1});
  EXPECT_EQ(q.worst, 0.0);
  EXPECT_TRUE(std::isinf(q.psnr));
  EXPECT_LE(q.excess, 0.0);
}

TEST(Quality, ErrorsAreJudgedAgainstTheBoundAndNothingLooser) {
  const std::vector<float> off{1.5F, 0.25F, 4, 3};
  EXPECT_LE(compare(STRETTO_F32, off.data(), reference(), {0.25, 0}).excess, 0.0);
  EXPECT_GT(compare(STRETTO_F32, off.data(), reference(), {0.25 - 1e-6, 0}).excess, 0.0);
  const Quality q = compare(STRETTO_F32, off.data(), reference(), {0.25, 0});
  EXPECT_EQ(q.worst, 0.25);
  // The range is 4, the root of the mean square error 0.25 / 2.
  EXPECT_NEAR(q.psnr, 20 * std::log10(4 / 0.125), 1e-9);
}

TEST(Quality, ANaNInTheResultIsTheWorstErrorThereIs) {
  const std::vector<float> bad{1.5F, std::numeric_limits<float>::quiet_NaN(), 4, 3};
  const Quality q = compare(STRETTO_F32, bad.data(), reference(), {1e30, 1});
  EXPECT_TRUE(std::isnan(q.worst));
  EXPECT_FALSE(q.excess <= 0);
}

TEST(Quality, PixelsThatHaveNoFiniteSumAreNotCompared) {
  std::vector<float> fill = kImages;
  fill[1] = std::numeric_limits<float>::quiet_NaN();
  fill[6] = std::numeric_limits<float>::infinity();
  Reference r;
  add_to_reference(STRETTO_F32, fill.data(), 2, 4, &r);
  EXPECT_EQ(r.finite, (std::vector<std::uint8_t>{1, 0, 0, 1}));
  const std::vector<float> result{1.5F, fill[1], fill[6], 3};
  EXPECT_EQ(compare(STRETTO_F32, result.data(), r, {0, 1}).worst, 0.0);
  EXPECT_EQ(errors(result, r), (std::vector<float>{0, kLeftOut, kLeftOut, 0}));
}

TEST(Quality, FillValuesKeepTheirPromiseAndAreInNoFigure) {
  std::vector<float> filled = kImages;
  filled[1] = 1e20F;
  filled[6] = -1e20F;
  Reference r;
  add_to_reference(STRETTO_F32, filled.data(), 2, 4, &r);
  r.fills_from = 1e15;
  EXPECT_TRUE(is_fill(r, 1));
  EXPECT_FALSE(is_fill(r, 0));
  std::vector<float> result{1.5F, 1e20F, -1e20F, 3.25F};
  const Quality q = compare(STRETTO_F32, result.data(), r, {0.25, 1});
  EXPECT_EQ(q.worst, 0.25);
  EXPECT_NEAR(q.psnr, 20 * std::log10(1.5 / std::sqrt(0.25 * 0.25 / 2)), 1e-9);
  EXPECT_LE(q.excess, 0.0);
  EXPECT_NEAR(largest_promise(STRETTO_F32, r, {0.25, 1}), 0.25, 1e-6);
  EXPECT_EQ(errors(result, r), (std::vector<float>{0, kLeftOut, kLeftOut, 0.25F}));
  result[1] = 1.1e20F;
  EXPECT_GT(compare(STRETTO_F32, result.data(), r, {0.25, 1}).excess, 0.0);
}

constexpr float kHuge = 3e38F;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// Sums of two images that overflow float32 upwards or downwards, that overflow only in parts, and small sums.
Reference beyond() {
  const std::vector<float> two{kHuge, -kHuge, kHuge, 1, kHuge, -kHuge, -kHuge, 2};
  Reference r;
  add_to_reference(STRETTO_F32, two.data(), 2, 4, &r);
  return r;
}

TEST(Quality, ASumThatTheTypeCannotHoldIsAnInfinityOfItsSign) {
  const std::vector<float> right{kInfinite, -kInfinite, 0, 3};
  const Quality q = compare(STRETTO_F32, right.data(), beyond(), {1e30, 1});
  EXPECT_LE(q.excess, 0.0);
  EXPECT_EQ(q.worst, 0.0);
  EXPECT_EQ(q.overflowed, 2U);
  for (const float wrong : {-kInfinite, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}) {
    std::vector<float> result = right;
    result[0] = wrong;
    EXPECT_FALSE(compare(STRETTO_F32, result.data(), beyond(), {1e30, 1}).excess <= 0) << wrong;
  }
}

TEST(Quality, OnlyPartialSumsOverflowWhereTheSumDoesNot) {
  const std::vector<float> result{kInfinite, -kInfinite, kInfinite, 3};
  EXPECT_FALSE(compare(STRETTO_F32, result.data(), beyond(), {1e30, 1}).excess <= 0);
  EXPECT_LE(compare(STRETTO_F32, result.data(), beyond(), {1e30, 1, true}).excess, 0.0);
  const std::vector<float> small{kInfinite, -kInfinite, 0, kInfinite};
  EXPECT_FALSE(compare(STRETTO_F32, small.data(), beyond(), {1e30, 1, true}).excess <= 0);
}

TEST(Quality, OverflowsAreInNeitherPromiseNorErrorMap) {
  EXPECT_LE(largest_promise(STRETTO_F32, beyond(), {0, 1}), 6e38 * 0x1.1p-24);
  const std::vector<float> two{kHuge, 1, kHuge, 2};
  Reference r;
  add_to_reference(STRETTO_F32, two.data(), 2, 2, &r);
  EXPECT_NEAR(largest_promise(STRETTO_F32, r, {0, 1}), 3 * 0x1p-24, 1e-12);
  const std::vector<float> result{kInfinite, 3};
  EXPECT_EQ(errors(result, r), (std::vector<float>{kLeftOut, 0}));
}

TEST(Quality, WhereDoublesOverflowNothingIsKnown) {
  const std::vector<double> d{1e308, 1, 1e308, 2};
  Reference r;
  add_to_reference(STRETTO_F64, d.data(), 2, 2, &r);
  const std::vector<double> result{std::numeric_limits<double>::infinity(), 3};
  const Quality q = compare(STRETTO_F64, result.data(), r, {1, 0});
  EXPECT_EQ(q.worst, 0.0);
  EXPECT_LE(q.excess, 0.0);
}

TEST(Quality, RoundingIsPromisedInTheUnitsOfTheType) {
  const Reference r = reference();
  EXPECT_NEAR(largest_promise(STRETTO_F32, r, {0, 1}), 5 * 0x1p-24, 1e-9 * 5);
  EXPECT_LT(largest_promise(STRETTO_F64, r, {0, 1}), 1e-13);
  EXPECT_NEAR(largest_promise(STRETTO_F32, r, {1, 1}), 1 + 6 * 0x1p-24, 1e-9);
}

TEST(Quality, DoublesAreReadAsDoubles) {
  const std::vector<double> d{1, 2, 3, 4};
  Reference r;
  add_to_reference(STRETTO_F64, d.data(), 2, 2, &r);
  EXPECT_EQ(r.sum, (std::vector<double>{4, 6}));
  const std::vector<double> result{4, 7};
  EXPECT_EQ(compare(STRETTO_F64, result.data(), r, {1, 0}).worst, 1.0);
}

}  // namespace
}  // namespace stretto::stacking
