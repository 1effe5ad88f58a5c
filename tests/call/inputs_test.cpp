// Samples of a call's input tell the ratio of its streams.
#include "call/inputs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "call/call.hpp"
#include "codec/codec.hpp"

using namespace stretto;
using namespace stretto::call;

namespace {

// Waves in 7 of 8 stretches of 5,000 values; in the others the range is a tenth.
std::vector<float> waves(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i);
    values[i] = static_cast<float>((std::sin(x / 90) + std::sin(x / 7) / 20) * (i / 5000 % 8 == 0 ? 0.1 : 1));
  }
  return values;
}

double ratio(const std::vector<float>& values, double eps, codec::Coding coding) {
  std::vector<std::byte> out(codec::compress_bound(codec::Type::f32, values.size()));
  codec::Options options;
  options.coding = coding;
  std::size_t bytes = 0;
  EXPECT_EQ(codec::compress(codec::Type::f32, values.data(), values.size(), eps, out, &bytes, options), Status::ok);
  return static_cast<double>(values.size() * sizeof(float)) / static_cast<double>(bytes);
}

Call allreduce(const std::vector<float>& values) {
  Call c;
  c.collective = Collective::allreduce;
  c.send = values.data();
  c.count = values.size();
  c.type = STRETTO_F32;
  return c;
}

}  // namespace

TEST(Samples, HaveTheRatioOfALongStream) {
  const std::vector<float> values = waves(std::size_t{5} << 20);
  for (const double eps : {1e-2, 1e-3}) {
    const Shrinks sampled = sampled_ratios(allreduce(values), 0, 3, eps);
    const double fixed = ratio(values, eps, codec::Coding::fixed), dense = ratio(values, eps, codec::Coding::dense);
    EXPECT_NEAR(sampled.fixed, fixed, 0.08 * fixed) << eps;
    EXPECT_NEAR(sampled.dense, dense, 0.15 * dense) << eps;
  }
}

TEST(Samples, OfAShortInputCountTheHeader) {
  const std::vector<float> values = waves(1024);
  const double fixed = ratio(values, 1e-2, codec::Coding::fixed);
  EXPECT_NEAR(sampled_ratios(allreduce(values), 0, 2, 1e-2).fixed, fixed, 1e-9 * fixed);
}
