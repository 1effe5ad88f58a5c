// Values at any address; the undefined behaviour sanitizer also checks each access.
#include <bit>
#include <cmath>
#include <cstring>

#include "support.hpp"

namespace stretto::codec {
namespace {

constexpr double kEps = 1e-3;

// Bytes of n values of type t: a wave with steps of other sizes, fills and, of floats, NaN.
std::vector<std::byte> values(Type t, std::size_t n) {
  std::vector<std::byte> raw(n * size_of(t));
  const auto put = [&](std::size_t i, auto v) { std::memcpy(raw.data() + i * sizeof v, &v, sizeof v); };
  for (std::size_t i = 0; i < n; ++i) {
    double v = std::sin(static_cast<double>(i) * 0.01) * (i / 1500 % 3 == 1 ? 3e3 : 1);
    if (i % 997 > 900) v = i % 2 ? 1e4 : 2.5e6;
    const auto bits = static_cast<std::uint16_t>(i % 997 > 900 ? 0x7e00 : i * 7 % 0x3c00);
    switch (t) {
      case Type::f32: put(i, i % 411 == 3 ? NAN : static_cast<float>(v)); break;
      case Type::f64: put(i, i % 411 == 3 ? std::nan("") : v); break;
      case Type::i32: put(i, static_cast<std::int32_t>(v * 100)); break;
      case Type::i64: put(i, static_cast<std::int64_t>(v * 1e9)); break;
      case Type::f16:
      case Type::bf16: put(i, bits); break;
    }
  }
  return raw;
}

void expect_alike(Type t, std::size_t n, std::size_t offset) {
  const auto x = values(t, n);
  std::vector<std::byte> moved(x.size() + offset), back(x.size() + offset), wanted(x.size());
  std::memcpy(moved.data() + offset, x.data(), x.size());
  const Stream s = compress_raw(t, x.data(), n, kEps, with(Isa::reference));
  const Stream sum = with_values(s, x.data(), n, with(Isa::reference));
  double low = 0, high = 0, lo = 0, hi = 0;
  ASSERT_EQ(value_range(t, x.data(), n, &low, &high, with(Isa::reference)), Status::ok) << message();
  for (const Isa isa : isas()) {
    SCOPED_TRACE(std::string(name(t)) + ", " + std::to_string(n) + " values, offset " + std::to_string(offset) + ", " +
                 name(isa));
    ASSERT_TRUE(compress_raw(t, moved.data() + offset, n, kEps, with(isa)) == s);
    ASSERT_TRUE(with_values(s, moved.data() + offset, n, with(isa)) == sum);
    for (const Stream* a : {&s, &sum})
      for (const std::uint32_t divisor : {1u, 3u}) {
        ASSERT_EQ(decompress(*a, wanted.data(), n, with(Isa::reference), divisor), Status::ok) << message();
        ASSERT_EQ(decompress(*a, back.data() + offset, n, with(isa), divisor), Status::ok) << message();
        ASSERT_EQ(std::memcmp(back.data() + offset, wanted.data(), wanted.size()), 0) << "divisor " << divisor;
        ASSERT_EQ(decompress_slice(*a, 7, n - 9, back.data() + offset, with(isa), divisor), Status::ok) << message();
        ASSERT_EQ(std::memcmp(back.data() + offset, wanted.data() + 7 * size_of(t), (n - 9) * size_of(t)), 0);
      }
    ASSERT_EQ(value_range(t, moved.data() + offset, n, &lo, &hi, with(isa)), Status::ok) << message();
    EXPECT_EQ(lo, low);
    EXPECT_EQ(hi, high);
  }
}

class Alignment : public testing::TestWithParam<Type> {};

TEST_P(Alignment, DoesNotMatterByAnyNumberOfBytes) {
  for (const std::size_t offset : {1, 2, 3, 4, 5, 7, 8}) expect_alike(GetParam(), 5 * 1024 + 77, offset);
}

// As many values as are written past the caches.
TEST_P(Alignment, DoesNotMatterToLongOutputs) {
  expect_alike(GetParam(), (std::size_t{4} << 20) / size_of(GetParam()) + 1333, 1);
}

INSTANTIATE_TEST_SUITE_P(Types, Alignment,
                         testing::Values(Type::f32, Type::f64, Type::i32, Type::i64, Type::f16, Type::bf16),
                         [](const auto& i) { return name(i.param); });

}  // namespace
}  // namespace stretto::codec
