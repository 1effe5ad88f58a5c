#include <limits>

#include "../support.hpp"

namespace stretto::codec {
namespace {

template <class T>
class Integers : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Integers, Types);

TYPED_TEST(Integers, AreLossless) {
  using T = TypeParam;
  using L = std::numeric_limits<T>;
  Random r(2);
  std::vector<std::vector<T>> fields(10, std::vector<T>(2 * 1024 + 99));
  for (std::size_t i = 0; i < fields[0].size(); ++i) {
    const auto n = static_cast<T>(i);
    std::size_t k = 0;
    fields[k++][i] = 0;
    fields[k++][i] = n;
    fields[k++][i] = n * n - 70000;
    fields[k++][i] = static_cast<T>(r.bits());
    fields[k++][i] = i % 2 ? L::max() : L::min();
    fields[k++][i] = L::min();
    fields[k++][i] = static_cast<T>(r.below(16));
    fields[k++][i] = L::max() - n;
    fields[k++][i] = static_cast<T>(r.bits() >> r.below(64));
    fields[k++][i] = i == 1500 ? T{-1} : T{0};
  }
  for (const Isa isa : isas())
    for (const auto& x : fields)
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{33}, std::size_t{1024}, x.size()}) {
        const std::vector<T> part(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
        const Stream s = compressed(part, 0, with(isa));
        ASSERT_EQ(validate(s), Status::ok) << message();
        ASSERT_EQ(decoded<T>(s, with(isa)), part);
        ASSERT_LE(s.size(), compress_bound(type_of<T>(), count));
      }
}

TYPED_TEST(Integers, SmoothOnesTakeLittleRoom) {
  std::vector<TypeParam> x(1 << 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<TypeParam>(1000000 + 17 * i);
  EXPECT_LT(compressed(x, 0).size(), x.size() * sizeof(TypeParam) / 100);
}

}  // namespace
}  // namespace stretto::codec
