// Invalid, altered or truncated streams in the kernels' logic: it accepts the same streams as the host, decodes them
// alike, and accesses nothing outside (checked by AddressSanitizer).
#include <cstring>

#include "../inputs.hpp"
#include "emulated.hpp"

namespace stretto::codec {
namespace {

using cuda::Outcome;

// The host's verdict, except for the exceptions' count and the checksum, which kernels ignore.
template <class T>
void compare(const Stream& s, std::size_t n, const std::string& what) {
  std::vector<T> expected(n), got(n);
  const Status host = decompress(s, expected.data(), n, with(Isa::reference));
  const Outcome device = emulated_decompress<T>(s, got.data(), n);
  ASSERT_EQ(device == Outcome::ok, host == Status::ok) << what << ": " << (host == Status::ok ? "" : message());
  ASSERT_TRUE(host != Status::ok || std::memcmp(expected.data(), got.data(), n * sizeof(T)) == 0) << what;
}

template <class T>
std::vector<Stream> samples(std::size_t n) {
  const double eps = 1e-3;
  std::vector<Stream> s;
  for (const auto& x : summands<T>(n, eps, 12, 21)) s.push_back(compressed(x, eps, with(Isa::reference)));
  const std::size_t single = s.size();
  for (std::size_t i = 0; i < single; i += 2) s.push_back(combined(Combine::add, s[i], s[(i + 7) % single]));
  return s;
}

template <class T>
void alter_and_compare() {
  const std::size_t n = 1024 + 77;
  Random r(sizeof(T));
  std::size_t accepted = 0, refused = 0;
  for (const Stream& s : samples<T>(n))
    for (int k = 0; k < 150; ++k) {
      Stream t = s;
      const std::size_t changes = 1 + r.below(3);
      for (std::size_t c = 0; c < changes; ++c) {
        // Mostly where the structure is: the index, and the first words of groups.
        const std::size_t at = r.below(3) ? 64 + r.below(std::min<std::size_t>(t.size() - 64, 100)) : r.below(t.size());
        t[at] ^= static_cast<std::byte>(1u << r.below(8));
      }
      std::vector<T> y(n);
      (decompress(t, y.data(), n, with(Isa::reference)) == Status::ok ? accepted : refused) += 1;
      compare<T>(t, n, "alteration " + std::to_string(k));
      if (testing::Test::HasFatalFailure()) return;
    }
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 100u);
}

TEST(CudaDamage, DenseStreamsAreUnsupported) {
  Options dense = with(Isa::reference);
  dense.coding = Coding::dense;
  const Stream s = compressed(summands<float>(5000, 1e-3, 1, 21)[0], 1e-3, dense);
  std::vector<float> y(5000);
  EXPECT_EQ(emulated_decompress<float>(s, y.data(), y.size()), Outcome::unsupported);
}

TEST(CudaDamage, AlteredStreamsAreJudgedAsTheHostJudgesThem) {
  alter_and_compare<float>();
  alter_and_compare<double>();
}

TEST(CudaDamage, AlteredStreamsDoNotLeadSumsAstray) {
  Random r(5);
  const auto all = samples<float>(1024 + 77);
  for (const Stream& s : all)
    for (int k = 0; k < 20; ++k) {
      Stream t = s;
      t[64 + r.below(std::min<std::size_t>(t.size() - 64, 200))] ^= static_cast<std::byte>(1u << r.below(8));
      const Stream& other = all[r.below(all.size())];
      for (const Combine op : {Combine::add, Combine::min}) {
        std::vector<std::byte> out(combine_bound(Type::f32, 1024 + 77));
        std::size_t written = 0;
        const Status host = combine(op, t, other, out, &written, with(Isa::reference));
        const Emulated device = emulated_combine<float>(op, t, other);
        ASSERT_EQ(device.outcome == Outcome::ok, host == Status::ok) << message();
      }
    }
}

TEST(CudaDamage, StreamsCutShortAreRefused) {
  for (const Stream& s : samples<float>(1024 + 77))
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{8}, std::size_t{63}, std::size_t{64}, s.size() / 2, s.size() - 1})
      compare<float>(Stream(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(size)), 1024 + 77,
                     std::to_string(size) + " bytes");
}

TEST(CudaDamage, StreamsThatDoNotCombineAreRefused) {
  const std::vector<float> x(3000, 1.5f), shorter(2000, 1.5f);
  const std::vector<double> wide(3000, 1.5);
  const Stream a = compressed(x, 1e-3);
  EXPECT_EQ(emulated_combine<float>(Combine::add, a, compressed(x, 1e-4)).outcome, Outcome::incompatible);
  EXPECT_EQ(emulated_combine<float>(Combine::max, a, compressed(shorter, 1e-3)).outcome, Outcome::incompatible);
  EXPECT_EQ(emulated_combine<float>(Combine::add, a, compressed(wide, 1e-3)).outcome, Outcome::incompatible);
  EXPECT_EQ(emulated_combine<float>(Combine::add, compressed(std::vector<std::int32_t>(3000, 4), 1),
                                    compressed(std::vector<std::int32_t>(3000, 4), 1))
                .outcome,
            Outcome::unsupported);
}

}  // namespace
}  // namespace stretto::codec
