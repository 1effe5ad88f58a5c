// The real fields, where they are (STRETTO_DATA_DIR): every operation on emulated warps gives the reference's bytes.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "emulated.hpp"

namespace stretto::codec {
namespace {

using cuda::Outcome;

constexpr std::size_t kMost = 40000;  // values of each, from the middle

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
  emulated_range<T>(type_of<T>(), x.data(), x.size(), kIgnoreAbove, &lo, &hi);
  if (!(hi > lo)) {
    lo = 0;
    hi = 1;
  }
  const std::vector<T> half(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2)),
      rest(x.end() - static_cast<std::ptrdiff_t>(half.size()), x.end());
  for (const double rel : {1e-2, 1e-4, 1e-6}) {
    SCOPED_TRACE(rel);
    const double eps = rel * (hi - lo);
    const Options slow = with(Isa::reference);
    const Stream a = compressed(half, eps, slow), b = compressed(rest, eps, slow);
    ASSERT_TRUE(emulated_compress<T>(type_of<T>(), half.data(), half.size(), eps).stream == a);
    ASSERT_TRUE(emulated_compress<T>(type_of<T>(), rest.data(), rest.size(), eps).stream == b);
    for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max})
      ASSERT_TRUE(emulated_combine<T>(op, a, b).stream == combined(op, a, b, slow)) << static_cast<int>(op);
    const Stream sum = combined(Combine::add, a, b, slow);
    for (const bool two_kernels : {false, true})
      ASSERT_TRUE(emulated_add_values<T>(a, rest.data(), rest.size(), two_kernels).stream == sum);
    const auto expected = decoded<T>(sum, slow);
    std::vector<T> got(expected.size());
    ASSERT_EQ(emulated_decompress<T>(sum, got.data(), got.size()), Outcome::ok);
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)), 0);
  }
}

TEST(CudaFields, GiveTheReferencesBytes) {
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
