// Explains when the neighbouring tests have nothing to compare, and checks that the kernels decline no work that the
// portable kernels take.
#include <cmath>
#include <limits>

#include "codec/kernels.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

TEST(Avx512Emulated, IsAmongTheInstructionSetsThatAreCompared) {
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vnni"))
    GTEST_SKIP() << "a processor without AVX-512 (BW, VNNI)";
  EXPECT_EQ(best_isa(), Isa::avx512);
}

// A group of codes of few or many bits. At every `period`-th value, `length` consecutive values are missing: equal or
// not.
template <class T>
std::vector<T> group(double size, std::size_t period, std::size_t length, bool alike) {
  Random r(period + length);
  std::vector<T> x(kGroup);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(size * std::sin(static_cast<double>(i) / 50));
    if (i % period < length) x[i] = alike || r.below(2) ? static_cast<T>(1e20f) : std::numeric_limits<T>::infinity();
  }
  return x;
}

// The calls that these kernels take, on groups a and b with given streams, and on the values x of b: compress,
// add_values, sum.
template <class T>
std::vector<bool> taken(const Kernels& kernels, const Grid<T>& grid, const std::vector<T>& x,
                        const std::vector<std::uint8_t>& a, std::size_t a_words, const std::vector<std::uint8_t>& b,
                        std::size_t b_words) {
  const auto& k = value_kernels<T>(kernels);
  std::vector<std::uint8_t> out(4 * kMaxGroupWords);
  Tally tally;
  std::size_t sum = kernels.add(a.data(), a_words, b.data(), b_words, false, out.data());
  if (sum == kDeclined)
    sum = k.add_filled(a.data(), a_words, b.data(), b_words, false, grid.width, out.data(), out.size(), &tally);
  return {k.compress(x.data(), grid, out.data(), &tally) != kDeclined,
          k.add_values(a.data(), a_words, x.data(), grid, out.data(), out.size(), &tally) != kDeclined,
          sum != kDeclined};
}

template <class T>
void expect_no_fewer_taken() {
  const Kernels *const fast = find_kernels(Isa::avx512), *const portable = find_kernels(Isa::portable);
  if (!fast || !portable) GTEST_SKIP() << "not both of AVX-512 and the portable kernels here";
  const Grid<T> grid = make_grid<T>(type_of<T>(), 1e-3, grid_width(type_of<T>(), 1e-3, 0));
  std::vector<std::vector<T>> values;
  for (const double size : {1.0, 1e5})
    for (const bool alike : {true, false})
      for (const std::size_t period : {1, 2, 70, 1024, 5000})
        for (const std::size_t length : {std::size_t{0}, period / 2, period})
          values.push_back(group<T>(size, period, length, alike));
  std::vector<std::vector<std::uint8_t>> groups;
  std::vector<std::size_t> words;
  for (const auto& x : values) {
    Tally tally;
    groups.emplace_back(kKernelRoom + kReadSlack);
    words.push_back(compress_group(x.data(), kGroup, grid, groups.back().data(), kKernelRoom, &tally));
  }
  int all = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t j = 0; j < values.size(); ++j) {
      const auto wanted = taken(*portable, grid, values[j], groups[i], words[i], groups[j], words[j]),
                 got = taken(*fast, grid, values[j], groups[i], words[i], groups[j], words[j]);
      for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_TRUE(got[k] || !wanted[k]) << i << ", " << j << ": " << k;
      all += wanted[1] && wanted[2];
    }
  EXPECT_GT(all, 2000);
}

TEST(Avx512Emulated, DeclinesNoFloat32WorkThatPortableKernelsTake) { expect_no_fewer_taken<float>(); }
TEST(Avx512Emulated, DeclinesNoFloat64WorkThatPortableKernelsTake) { expect_no_fewer_taken<double>(); }

}  // namespace
}  // namespace stretto::codec
