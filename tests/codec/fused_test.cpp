#include "inputs.hpp"
#include "support.hpp"

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

TYPED_TEST(Fused, AddValuesUsesTheGridOfTheStream) {
  const auto all = summands<TypeParam>(2000, 1e-4, 3, 21);
  Options o;
  o.magnitude = sizeof(TypeParam) == 4 ? 50 : 1e10;
  const Stream a = compressed(all[0], 1e-4, o);
  ASSERT_NE(info_of(a).width, info_of(compressed(all[0], 1e-4)).width);
  EXPECT_TRUE(with_values(a, all[1].data(), all[1].size()) == combined(Combine::add, a, compressed(all[1], 1e-4, o)));
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
