#include <cmath>
#include <cstring>
#include <limits>

#include "../golden/hand_made.hpp"
#include "../inputs.hpp"
#include "../support.hpp"

namespace stretto::codec {
namespace {

template <class T>
class Fused : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Fused, Floats);

TYPED_TEST(Fused, AddValuesGivesTheBytesOfCompressAndAdd) {
  const auto all = summands<TypeParam>(2 * 1024 + 77, 1e-4, 12, 21);
  for (const Isa isa : isas()) {
    Stream sum = compressed(all[11], 1e-4);
    for (std::size_t a = 0; a < 12; ++a) {
      const Stream sa = compressed(all[a], 1e-4);
      for (std::size_t b = 0; b < 12; ++b)
        ASSERT_TRUE(with_values(sa, all[b].data(), all[b].size(), with(isa)) ==
                    combined(Combine::add, sa, compressed(all[b], 1e-4), with(Isa::reference)))
            << a << " and " << b << ", " << name(isa);
      const Stream next = with_values(sum, all[a].data(), all[a].size(), with(isa));
      ASSERT_TRUE(next == combined(Combine::add, sum, sa)) << a << " to a sum, " << name(isa);
      sum = next;
    }
  }
}

// Codes near 2^29 of any sign, in groups whose samples ask for second differences: these need 32 bits, so that the
// values' own group is verbatim.
TEST(Fused, AddValuesOfGroupsThatAreVerbatimAreExactSums) {
  for (const double most : {0.24, 0.249, 0.4, 0.499, 0.6}) {
    Random r(29);
    std::vector<float> x(kGroup);
    for (int i = 0; i < kGroup; ++i) {
      const bool sampled = i >= 108 && (i - 108) % 160 < 20;
      const double v = sampled ? 1000 + 3.0 * i * i / 64 : std::ldexp(most, 30) * (r.below(2) ? 1 : -1);
      x[static_cast<std::size_t>(i)] = static_cast<float>(v);
    }
    const Stream a = compressed(std::vector<float>(kGroup), 0.5), sum = combined(Combine::add, a, compressed(x, 0.5));
    for (const Isa isa : isas()) EXPECT_TRUE(with_values(a, x.data(), x.size(), with(isa)) == sum) << name(isa) << most;
  }
}

TYPED_TEST(Fused, AddValuesUsesTheGridOfTheStream) {
  const auto all = summands<TypeParam>(2000, 1e-4, 3, 21);
  Options o;
  o.magnitude = sizeof(TypeParam) == 4 ? 50 : 1e10;
  const Stream a = compressed(all[0], 1e-4, o);
  ASSERT_NE(info_of(a).width, info_of(compressed(all[0], 1e-4)).width);
  EXPECT_TRUE(with_values(a, all[1].data(), all[1].size()) == combined(Combine::add, a, compressed(all[1], 1e-4, o)));
}

// Codes of 1.5e9 in both: the first pass, which assumes narrow sums, may need more room than wide sums.
TEST(Fused, AddValuesThatWidenNeedNoMoreRoomThanTheirResult) {
  std::vector<float> x(128), y(128);
  x[39] = y[78] = 1500.0f;
  std::fill(y.begin(), y.begin() + 39, 1e20f);
  std::fill(y.begin() + 109, y.end() - 1, 1e-6f);
  const Stream a = compressed(x, 5e-7);
  for (const Isa isa : isas()) {
    const Stream whole = with_values(a, y.data(), y.size(), with(isa));
    Stream out(whole.size());
    std::size_t written = 0;
    ASSERT_EQ(add_values(a, y.data(), y.size(), out, &written, with(isa)), Status::ok) << message();
    EXPECT_TRUE(out == whole) << name(isa);
    out.resize(whole.size() - 1);
    EXPECT_EQ(add_values(a, y.data(), y.size(), out, &written, with(isa)), Status::buffer_too_small) << name(isa);
  }
}

// The group that is longer as a narrow sum precedes the group that reveals wide sums.
TEST(Fused, AddValuesThatWidenLaterNeedNoMoreRoomThanTheirResult) {
  std::vector<float> x(2 * 1024, 1500.0f), y(2 * 1024, 1500.0f);
  for (std::size_t i = 0; i < 1024; ++i) {
    x[i] = 1e-3f * static_cast<float>(i);
    y[i] = i < 39 ? 1e20f : 1e-6f;
  }
  const Stream a = compressed(x, 5e-7), wanted = combined(Combine::add, a, compressed(y, 5e-7), with(Isa::reference));
  for (const Isa isa : isas()) {
    Stream out(wanted.size());
    std::size_t written = 0;
    ASSERT_EQ(add_values(a, y.data(), y.size(), out, &written, with(isa)), Status::ok) << message() << name(isa);
    EXPECT_TRUE(out == wanted) << name(isa);
  }
}

// As a narrow sum, the first group keeps a's base and exceeds the longest group; as a wide sum, it has its own base and
// fits. Another group, added by another thread, may decide this.
TEST(Fused, AddValuesThatWidenMayFillTheLongestGroup) {
  const Parallel two = threads(2);
  for (const std::size_t groups : {1, 65}) {
    const Stream a = longest_group(groups);
    ASSERT_EQ(validate(a), Status::ok) << message();
    std::vector<double> x(groups * kGroup);
    x[50] = 2;               // code 1
    x[x.size() - 1000] = 4;  // code 2: sums widen
    const Stream wanted = combined(Combine::add, a, compressed(x, 1), with(Isa::reference));
    for (const Isa isa : isas())
      for (const std::size_t room : {wanted.size(), combine_bound(Type::f64, x.size())})
        for (const Parallel* parallel : {static_cast<const Parallel*>(nullptr), &two}) {
          Options options = with(isa);
          options.parallel = parallel;
          Stream out(room);
          std::size_t written = 0;
          EXPECT_EQ(add_values(a, x.data(), x.size(), out, &written, options), Status::ok)
              << message() << ", " << name(isa) << ", room " << room << (parallel ? ", two threads" : "");
          out.resize(written);
          EXPECT_TRUE(out == wanted) << name(isa);
        }
  }
}

// Wide or not, with residuals of 32 bits in all blocks such a group is too long, and refused as by combine().
TEST(Fused, AddValuesRefuseGroupsThatAreTooLong) {
  const Stream a = longest_group(1);
  std::vector<double> x(kGroup);
  for (std::size_t i = 0; i < 64; ++i) x[i] = i % 2 ? 0x1p31 : -0x1p31;
  Stream out(combine_bound(Type::f64, x.size()));
  std::size_t written = 0;
  for (const Isa isa : isas())
    EXPECT_EQ(add_values(a, x.data(), x.size(), out, &written, with(isa)), Status::overflow) << name(isa);
}

TEST(Fused, AddValuesOfHalvesAndIntegersEqualsTwoSteps) {
  Random r(8);
  std::vector<std::uint16_t> h(1700), g(1700);
  for (std::size_t i = 0; i < h.size(); ++i) {
    h[i] = static_cast<std::uint16_t>(0x3800 + r.below(0x400));
    g[i] = static_cast<std::uint16_t>(r.bits());
  }
  for (const Type t : {Type::f16, Type::bf16}) {
    const Stream a = compress_raw(t, h.data(), h.size(), 1e-3);
    EXPECT_TRUE(with_values(a, g.data(), g.size()) ==
                combined(Combine::add, a, compress_raw(t, g.data(), g.size(), 1e-3)));
  }
  std::vector<std::int32_t> x(1700), y(1700);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int32_t>(i * i);
    y[i] = static_cast<std::int32_t>(r.bits());
  }
  const Stream a = compressed(x, 0);
  EXPECT_TRUE(with_values(a, y.data(), y.size()) == combined(Combine::add, a, compressed(y, 0)));
}

// A stream of zeros as somebody else may have written it: on a grid that this library does not choose.
template <class T>
Stream zeros_on(double eps, double width, std::size_t count) {
  Stream s = compressed(std::vector<T>(count), 1);
  std::memcpy(s.data() + 16, &eps, sizeof eps);  // docs/format.md, section 1
  std::memcpy(s.data() + 24, &width, sizeof width);
  return s;
}

// Values of a few, of many, and of no codes, some of them missing, some all alike.
template <class T>
std::vector<std::vector<T>> values_on(double width) {
  Random r(22);
  std::vector<std::vector<T>> all(6, std::vector<T>(1024 + 7));
  for (std::size_t i = 0; i < all[0].size(); ++i) {
    all[0][i] = static_cast<T>(width * std::round(100 * r.symmetric()));
    all[1][i] = static_cast<T>(width * 0x1p30 * r.symmetric());
    all[2][i] = static_cast<T>(std::ldexp(r.symmetric(), static_cast<int>(r.below(200)) - 140));
    all[3][i] = i / 60 % 3 == 1 ? static_cast<T>(1e20f) : all[0][i];
    all[4][i] = static_cast<T>(3 * width);
    all[5][i] = T{0};
  }
  return all;
}

// Grids finer than any that compress() chooses, down to those whose reciprocal is infinite, and coarser ones.
TYPED_TEST(Fused, AddValuesTakesAnyGridThatAStreamMayHave) {
  using T = TypeParam;
  constexpr int finest = std::numeric_limits<T>::min_exponent - std::numeric_limits<T>::digits,
                coarsest = std::numeric_limits<T>::max_exponent - 1;
  for (const int e : {finest, finest + 1, -128, -127, std::numeric_limits<T>::min_exponent - 3, coarsest})
    for (const double odd : {1.0, 1.75})
      for (const double bound : {0.501, 100.0}) {
        const auto width = static_cast<double>(static_cast<T>(std::ldexp(odd, e)));
        const double eps = std::fmin(width * bound, std::numeric_limits<double>::max());
        if (width == 0 || eps == 0) continue;
        const auto all = values_on<T>(width);
        const Stream zeros = zeros_on<T>(eps, width, all[0].size());
        std::vector<Stream> streams;
        for (std::size_t k = 0; k < all.size(); ++k) {
          SCOPED_TRACE(testing::Message() << "width " << width << ", eps " << eps << ", values " << k);
          streams.push_back(with_values(zeros, all[k].data(), all[k].size(), with(Isa::reference)));
          const Stream& held = streams[k / 2];
          const Stream sum = with_values(held, all[k].data(), all[k].size(), with(Isa::reference));
          const Stream both = combined(Combine::subtract, held, streams[k], with(Isa::reference));
          for (const Isa isa : isas()) {
            ASSERT_TRUE(with_values(zeros, all[k].data(), all[k].size(), with(isa)) == streams[k]) << name(isa);
            ASSERT_TRUE(with_values(held, all[k].data(), all[k].size(), with(isa)) == sum) << name(isa);
            ASSERT_TRUE(combined(Combine::subtract, held, streams[k], with(isa)) == both) << name(isa);
            const auto wanted = decoded<T>(sum, with(Isa::reference)), got = decoded<T>(sum, with(isa));
            ASSERT_EQ(std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(T)), 0) << name(isa);
          }
        }
      }
}

TEST(Fused, AddValuesRefusesAnotherCount) {
  const std::vector<float> x(100, 1.0f);
  const Stream a = compressed(x, 1e-3);
  Stream out(5000);
  std::size_t written = 0;
  EXPECT_EQ(add_values(a, x.data(), 99, out, &written), Status::incompatible);
  EXPECT_NE(std::string(message()).find("99"), std::string::npos) << message();
}

}  // namespace
}  // namespace stretto::codec
