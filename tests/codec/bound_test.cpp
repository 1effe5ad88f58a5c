#include <algorithm>
#include <cmath>

#include "codec/group_io.hpp"
#include "codec/stream/group_places.hpp"
#include "inputs.hpp"
#include "sums/exactly.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

template <class T>
void expect_bound(const std::vector<T>& x, double eps, const Options& options) {
  const Stream s = compressed(x, eps, options);
  ASSERT_EQ(validate(s), Status::ok) << message();
  const std::vector<T> y = decoded<T>(s, options);
  std::size_t broken = 0, first = x.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (same_bits(x[i], y[i])) continue;
    if (std::isfinite(x[i]) && std::isfinite(y[i]) && within(x[i], y[i], eps)) continue;
    first = std::min(first, i);
    ++broken;
  }
  ASSERT_EQ(broken, 0u) << "first at " << first << ": " << x[first] << " became " << y[first];
  EXPECT_LE(s.size(), compress_bound(type_of<T>(), x.size()));
}

template <class T>
class Bound : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Bound, Floats);

TYPED_TEST(Bound, EveryValueIsWithinEpsOrBitForBit) {
  for (const Isa isa : isas())
    for (const auto& in : inputs<TypeParam>()) {
      SCOPED_TRACE(in.name + ", eps " + std::to_string(in.eps) + ", " + name(isa));
      expect_bound(in.x, in.eps, with(isa));
    }
}

TYPED_TEST(Bound, HoldsWhateverMagnitudeIsStated) {
  for (const Isa isa : isas())
    for (const auto& in : inputs<TypeParam>())
      for (const double magnitude : {1e-3, 1.0, 1e4, 1e30}) {
        SCOPED_TRACE(in.name + ", eps " + std::to_string(in.eps) + ", magnitude " + std::to_string(magnitude) + ", " +
                     name(isa));
        Options o = with(isa);
        o.magnitude = magnitude;
        expect_bound(in.x, in.eps, o);
      }
}

TYPED_TEST(Bound, HoldsForRandomBoundsAndScales) {
  Random r(7);
  std::vector<TypeParam> x(1024);
  for (int round = 0; round < 200; ++round) {
    const double eps = std::ldexp(1 + r.uniform(), static_cast<int>(r.below(250)) - 125);
    const double scale = eps * std::ldexp(1 + r.uniform(), static_cast<int>(r.below(36)));
    for (auto& v : x) v = static_cast<TypeParam>(scale * r.symmetric());
    SCOPED_TRACE("eps " + std::to_string(eps) + " scale " + std::to_string(scale));
    expect_bound(x, eps, {});
  }
}

// The largest magnitude of a code that is not an exception's.
std::uint64_t largest_code(const Stream& s) {
  StreamView view;
  EXPECT_EQ(open_stream(s, &view, true), Status::ok) << message();
  Tally tally;
  GroupSource source(view, *find_kernels(Isa::reference), 0);
  for (std::uint64_t g = 0; g < view.layout.groups; ++g) {
    GroupView group;
    EXPECT_EQ(source.read(g), Status::ok);
    EXPECT_TRUE(source.view(&group));
    Codes q;
    read_codes(group, q);
    count(q, group.m, group.lanes, &tally);
  }
  return tally.bound;
}

TYPED_TEST(Bound, IsStoredAndNoCodeExceedsTheCodeBound) {
  for (const auto& in : inputs<TypeParam>()) {
    Stream s = compressed(in.x, in.eps);
    const Info info = info_of(s);
    const std::uint64_t largest = largest_code(s);
    EXPECT_EQ(largest, info.code_bound) << in.name;
    if (largest > 0) {
      store(reinterpret_cast<std::uint8_t*>(s.data()) + 40, largest - 1);
      EXPECT_EQ(validate(s), Status::corrupt_stream) << in.name;
      EXPECT_NE(std::string(message()).find(std::to_string(largest)), std::string::npos) << message();
    }
    EXPECT_EQ(info.eps, in.eps);
    EXPECT_LE(info.width, std::max(2 * in.eps, 0x1p-126));
    EXPECT_EQ(info.count, in.x.size());
    EXPECT_EQ(info.contributions, 1u);
    EXPECT_EQ(info.promised(), in.eps);
  }
}

TEST(Bound, NaNKeepTheirPayloadBitForBit) {
  std::vector<std::uint32_t> bits(1500);
  Random r(3);
  for (auto& b : bits) b = 0x7f800000 | static_cast<std::uint32_t>(r.bits() & 0x807fffff) | 1;
  for (const Isa isa : isas()) {
    const Stream s = compress_raw(Type::f32, bits.data(), bits.size(), 1e-3, with(isa));
    std::vector<std::uint32_t> y(bits.size());
    ASSERT_EQ(decompress(s, y.data(), y.size(), with(isa)), Status::ok) << message();
    EXPECT_EQ(y, bits) << name(isa);
  }
}

TEST(Bound, WhatIsNoBoundIsRefusedByName) {
  const float x = 1;
  Stream out(1000);
  std::size_t written = 0;
  for (const double eps : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_EQ(compress(Type::f32, &x, 1, eps, out, &written), Status::invalid_bound) << eps;
    EXPECT_NE(std::string(message()).find("bound"), std::string::npos) << message();
  }
}

TEST(Bound, TheTestItselfSeesADifferenceOfOneUlp) {
  EXPECT_TRUE(within(1.0f, 1.5f, 0.5));
  EXPECT_FALSE(within(1.0f, std::nextafter(1.5f, 2.0f), 0.5));
  EXPECT_FALSE(within(1e20f, 1.0f, 1e20 - 2e4));
  EXPECT_FALSE(within(1e20f, -0x1p-149f, static_cast<double>(1e20f)));  // exceeds it by a denormal
  EXPECT_TRUE(within(1e20f, 0x1p-149f, static_cast<double>(1e20f)));
}

}  // namespace
}  // namespace stretto::codec
