#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "inputs.hpp"
#include "sums/exactly.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

// Real fields, where they are (STRETTO_DATA_DIR); at most this many values of each, from the middle.
#if defined(STRETTO_SANITIZED)
constexpr std::size_t kMost = 40000;
#else
constexpr std::size_t kMost = 150000;
#endif

template <class T>
std::vector<T> field(const std::filesystem::path& file) {
  const std::size_t n = static_cast<std::size_t>(std::filesystem::file_size(file)) / sizeof(T),
                    take = std::min(n, kMost);
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>((n - take) / 2 * sizeof(T)));
  std::vector<T> x(take);
  in.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(take * sizeof(T)));
  return x;
}

template <class T>
void expect_agreement(const std::vector<T>& x) {
  double lo = 0, hi = 0;
  ASSERT_EQ(value_range(type_of<T>(), x.data(), x.size(), &lo, &hi), Status::ok);
  if (!(hi > lo)) {
    lo = 0;
    hi = 1;
  }
  if (hi > 1e19) hi = lo + 30;  // fill values: a range like that of the rest
  const std::vector<T> half(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2)),
      rest(x.end() - static_cast<std::ptrdiff_t>(half.size()), x.end());
  for (const double rel : {1e-2, 1e-3, 1e-4, 1e-6}) {
    SCOPED_TRACE(rel);
    const double eps = rel * (hi - lo);
    const Options slow = with(Isa::reference);
    const Stream a = compressed(half, eps, slow), b = compressed(rest, eps, slow),
                 sum = combined(Combine::add, a, b, slow), difference = combined(Combine::subtract, a, b, slow);
    const auto y = decoded<T>(a, slow), z = decoded<T>(sum, slow);
    for (std::size_t i = 0; i < half.size(); ++i)
      ASSERT_TRUE(same_bits(half[i], y[i]) || within(half[i], y[i], eps)) << i;
    for (const Isa isa : isas()) {
      SCOPED_TRACE(name(isa));
      ASSERT_TRUE(compressed(half, eps, with(isa)) == a);
      ASSERT_TRUE(compressed(rest, eps, with(isa)) == b);
      ASSERT_TRUE(combined(Combine::add, a, b, with(isa)) == sum);
      ASSERT_TRUE(combined(Combine::subtract, a, b, with(isa)) == difference);
      ASSERT_TRUE(with_values(a, rest.data(), rest.size(), with(isa)) == sum);
      const auto u = decoded<T>(a, with(isa)), v = decoded<T>(sum, with(isa));
      ASSERT_EQ(std::memcmp(u.data(), y.data(), y.size() * sizeof(T)), 0);
      ASSERT_EQ(std::memcmp(v.data(), z.data(), z.size() * sizeof(T)), 0);
    }
  }
}

TEST(Fields, KeepTheirBoundWithEqualBytesOnEveryInstructionSet) {
  const char* folder = std::getenv("STRETTO_DATA_DIR");
  if (!folder || !std::filesystem::is_directory(folder))
    GTEST_SKIP() << "no real fields: STRETTO_DATA_DIR is " << (folder ? folder : "not set");
  int fields = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().filename().string());
    if (entry.path().extension() == ".f32")
      expect_agreement(field<float>(entry.path()));
    else if (entry.path().extension() == ".f64")
      expect_agreement(field<double>(entry.path()));
    else
      continue;
    ++fields;
  }
  EXPECT_GT(fields, 0);
}

}  // namespace
}  // namespace stretto::codec
