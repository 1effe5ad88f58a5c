#include <cmath>
#include <functional>
#include <limits>

#include "../inputs.hpp"
#include "../support.hpp"

namespace stretto::codec {
namespace {

using Call = std::function<Status(MutableBytes, std::size_t*, const Options&)>;

// At every capacity (of the last `near` below the length, and some below those) the call reports that the output is too
// small, or gives the same stream; at the stream's length it succeeds. The buffers have exactly that size.
void expect_refusals(const Call& call, std::size_t bound, std::size_t near) {
  Stream whole(bound);
  std::size_t length = 0;
  ASSERT_EQ(call(whole, &length, with(Isa::reference)), Status::ok) << message();
  whole.resize(length);
  for (const Isa isa : isas())
    for (std::size_t n = 0; n <= length + 3; n += length - std::min(n, length) > near ? 101 : 1) {
      Stream out(n);
      std::size_t written = 0;
      const Status s = call(out, &written, with(isa));
      if (n < length) {
        ASSERT_EQ(s, Status::buffer_too_small) << n << " of " << length << ", " << name(isa);
        ASSERT_NE(std::string(message()).find(std::to_string(n)), std::string::npos) << message();
      } else {
        ASSERT_EQ(s, Status::ok) << n << " of " << length << ", " << name(isa) << ": " << message();
        out.resize(written);
        ASSERT_TRUE(out == whole) << n << " of " << length << ", " << name(isa);
      }
    }
}

template <class T>
void expect_refusals_of_all(const std::vector<T>& x, const std::vector<T>& y, double eps, std::size_t near) {
  const Type t = type_of<T>();
  const std::size_t n = x.size(), bound = combine_bound(t, n);
  const Stream a = compressed(x, eps), b = compressed(y, eps);
  expect_refusals(
      [&](MutableBytes out, std::size_t* w, const Options& o) { return compress(t, x.data(), n, eps, out, w, o); },
      compress_bound(t, n), near);
  expect_refusals(
      [&](MutableBytes out, std::size_t* w, const Options& o) { return add_values(a, y.data(), n, out, w, o); }, bound,
      near);
  for (const Combine op : {Combine::add, Combine::subtract, Combine::min})
    expect_refusals([&](MutableBytes out, std::size_t* w, const Options& o) { return combine(op, a, b, out, w, o); },
                    bound, near);
  expect_refusals([&](MutableBytes out, std::size_t* w, const Options& o) { return scale(a, -3, out, w, o); }, bound,
                  near);
  expect_refusals([&](MutableBytes out, std::size_t* w, const Options& o) { return slice(a, n / 3, n / 2, out, w, o); },
                  bound, near);
  expect_refusals([&](MutableBytes out, std::size_t* w, const Options& o) { return concatenate(a, b, out, w, o); },
                  combine_bound(t, 2 * n), near);
}

template <class T>
class Capacity : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Capacity, Floats);

TYPED_TEST(Capacity, TooSmallIsRefusedAtEveryByteOfASmallStream) {
  const auto all = summands<TypeParam>(70, 1e-3, 12, 61);
  for (std::size_t k = 0; k < 12; ++k) {
    SCOPED_TRACE(k);
    expect_refusals_of_all(all[k], all[(k + 4) % 12], 1e-3, 1 << 20);
  }
}

TYPED_TEST(Capacity, TooSmallIsRefusedNearTheEndOfFullGroups) {
  const auto all = summands<TypeParam>(1024, 1e-3, 12, 62);
  for (std::size_t k = 0; k < 12; ++k) {
    SCOPED_TRACE(k);
    expect_refusals_of_all(all[k], all[(k + 4) % 12], 1e-3, 40);
  }
}

TYPED_TEST(Capacity, NoStreamExceedsItsBound) {
  for (const auto& in : inputs<TypeParam>()) {
    const Stream a = compressed(in.x, in.eps);
    EXPECT_LE(a.size(), compress_bound(type_of<TypeParam>(), in.x.size()));
    const std::size_t raw = in.x.size() * sizeof(TypeParam), groups = (in.x.size() + 1023) / 1024;
    EXPECT_LE(a.size(), raw + 64 + 6 * groups + 8 * ((groups + 63) / 64) + 8) << in.name;
    const Stream sum = combined(Combine::add, a, a);
    EXPECT_LE(sum.size(), combine_bound(info_of(a), info_of(a))) << in.name;
    EXPECT_LE(combine_bound(type_of<TypeParam>(), in.x.size()), ~std::size_t{0} / 2);
  }
}

TYPED_TEST(Capacity, AsksForNoMoreRoomThanTheStreamTakes) {
  constexpr TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const std::size_t count : {1, 2, 3, 5, 40}) {
    expect_refusals_of_all(std::vector<TypeParam>(count, nan), std::vector<TypeParam>(count, TypeParam{1e25f}), 1e-3,
                           1000);
    expect_refusals_of_all(std::vector<TypeParam>(count, TypeParam{1e25f}), std::vector<TypeParam>(count, nan), 1e-3,
                           1000);
  }
  EXPECT_EQ(compressed(std::vector<TypeParam>(2, nan), 1e-3).size(), 88u);  // a word and a map, shorter than the values
}

TEST(Capacity, OfIntegersIsRefusedToo) {
  Random r(1);
  std::vector<std::int64_t> x(300), y(300);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int64_t>(r.bits()) >> 5;
    y[i] = static_cast<std::int64_t>(i) * 7;
  }
  expect_refusals_of_all(x, y, 0, 60);
}

// Verbatim values grow when they become exact sums, or stand beside some.
TEST(Capacity, ForTheResultsCountServesScaleSliceAndConcatenate) {
  Random r(2);
  std::vector<double> x(2048);
  for (auto& v : x) v = std::ldexp(r.symmetric(), static_cast<int>(r.below(2000)) - 1000);
  const Stream a = compressed(x, 1e-3), sum = combined(Combine::add, a, a);
  std::size_t written = 0;
  Stream out(combine_bound(Type::f64, x.size()));
  EXPECT_EQ(scale(a, 3, out, &written), Status::ok) << message();
  EXPECT_GT(written, compress_bound(Type::f64, x.size()));
  out.resize(combine_bound(Type::f64, 1024));
  EXPECT_EQ(slice(a, 512, 1024, out, &written), Status::ok) << message();
  EXPECT_EQ(slice(sum, 512, 1024, out, &written), Status::ok) << message();
  const Stream twice = scaled(a, 2);
  out.resize(combine_bound(Type::f64, 2 * x.size()));
  EXPECT_EQ(concatenate(sum, twice, out, &written), Status::ok) << message();
}

TEST(Capacity, NullAndNonsenseArgumentsAreRefused) {
  const float x = 1;
  Stream out(1000);
  std::size_t written = 0;
  EXPECT_EQ(compress(Type::f32, nullptr, 1, 1e-3, out, &written), Status::invalid_argument);
  EXPECT_EQ(compress(Type::f32, &x, 1, 1e-3, out, nullptr), Status::invalid_argument);
  EXPECT_EQ(compress(static_cast<Type>(9), &x, 1, 1e-3, out, &written), Status::invalid_argument);
  EXPECT_EQ(compress(Type::f32, &x, ~std::size_t{0}, 1e-3, out, &written), Status::invalid_argument);
  ASSERT_EQ(compress(Type::f32, &x, 1, 1e-3, out, &written), Status::ok);
  float y = 0;
  EXPECT_EQ(decompress(out, nullptr, 1), Status::invalid_argument);
  EXPECT_EQ(decompress(out, &y, 1, {}, 0), Status::invalid_argument);
  EXPECT_EQ(inspect(out, nullptr), Status::invalid_argument);
  EXPECT_EQ(inspect({}, nullptr), Status::invalid_argument);
  EXPECT_EQ(compress_bound(static_cast<Type>(9), 1), 0u);
}

}  // namespace
}  // namespace stretto::codec
