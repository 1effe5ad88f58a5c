// Counts, offsets and addresses beyond 32 bits, in sparse memory.
#include <sys/mman.h>

#include <array>
#include <limits>
#include <memory>

#include "../inputs.hpp"
#include "codec/cuda/block_emulated.hpp"
#include "codec/cuda/decompress.hpp"
#include "codec/numbers/grid.hpp"
#include "codec/stream/format.hpp"
#include "emulated.hpp"

namespace stretto::codec {
namespace {

using cuda::EmulatedWarp;
using cuda::Outcome;
using cuda::u32;
using cuda::u64;

// Zeros; pages that nobody touches take no memory.
class Sparse {
 public:
  explicit Sparse(std::size_t bytes)
      : p_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)),
        bytes_(bytes) {}
  ~Sparse() {
    if (there()) munmap(p_, bytes_);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  bool there() const { return p_ != MAP_FAILED; }
  template <class T>
  T* as() const {
    return static_cast<T*>(p_);
  }

 private:
  void* p_;
  std::size_t bytes_;
};

TEST(CudaSizes, PartsOfAStreamLieWhereTheHostPutsThemForAnyCount) {
  Random r(12);
  for (int bits = 0; bits <= 48; ++bits)
    for (int k = 0; k < 20; ++k) {
      const u64 count = bits == 48 ? u64{1} << 48 : (u64{1} << bits) + r.below(u64{1} << bits);
      const cuda::Layout got = cuda::layout_of(count);
      const Layout expected(count);
      ASSERT_EQ(got.groups, expected.groups) << count;
      ASSERT_EQ(got.lengths, expected.lengths) << count;
      ASSERT_EQ(got.body, expected.body) << count;
    }
}

// Writes no group, but records each group's length and checks its position.
struct Placed {
  struct State {};
  static constexpr bool kMayWiden = false;
  const u32* body;
  u64* seen;  // for each group the words before it
  Outcome open() { return Outcome::ok; }
  template <class Memory>
  Outcome plan(u64, const Memory&, State*) const {
    return Outcome::ok;
  }
  template <class Memory>
  void write(u64 g, const Memory&, const State&, u32* out) const {
    seen[g] = static_cast<u64>(out - body);
  }
  Outcome finish(u64, cuda::Header* h) const {
    *h = {cuda::Type::f32, 1, 0, 0, 0, 0, 1, 2};
    return Outcome::ok;
  }
  static u32 words(const State&) { return cuda::kMaxGroupWords; }
  static u64 bound(const State&) { return 1; }
  static u64 exceptions(const State&) { return 1; }
};

TEST(CudaSizes, GroupsAndTheIndexAreRightBeyondFourGigabytes) {
  constexpr std::size_t kGroups = 40000, kCount = kGroups * 1024;
  const cuda::Layout layout = cuda::layout_of(kCount);
  const std::size_t capacity = layout.body + std::size_t{4} * kGroups * cuda::kMaxGroupWords;
  ASSERT_GT(capacity, std::size_t{8} << 30);
  const Sparse out(capacity);
  if (!out.there()) GTEST_SKIP() << "no address space for " << capacity << " bytes";
  std::vector<u64> descriptors(kGroups), seen(kGroups);
  cuda::Control control{};
  cuda::Result result{};
  const cuda::Output output{out.as<cuda::u8>(), capacity, kCount, &control, descriptors.data(), &result};
  Placed op{reinterpret_cast<const u32*>(out.as<cuda::u8>() + layout.body), seen.data()};
  const auto block = std::make_unique<cuda::EmulatedBlock<cuda::i32, 4>>(0, 1);
  cuda::StreamWriter<cuda::EmulatedBlock<cuda::i32, 4>, Placed>(*block, op, output).run();
  EXPECT_EQ(result.outcome, 0u);
  EXPECT_EQ(result.bytes, capacity);
  const auto* chunks = reinterpret_cast<const u64*>(out.as<cuda::u8>() + cuda::kHeaderBytes);
  for (std::size_t g = 0; g < kGroups; ++g) {
    ASSERT_EQ(seen[g], g * cuda::kMaxGroupWords);
    if (g % cuda::kChunk == 0) {
      ASSERT_EQ(chunks[g / cuda::kChunk], layout.body + 4 * seen[g]);
    }
  }
}

// The group of values that begins at 2^33 (32 or 64 GB from the first) equals that of the same values at 0.
template <class T>
void a_group_far_away() {
  constexpr u64 kFar = u64{1} << 33;
  constexpr double kEps = 1e-3;
  const Sparse x((kFar + 1024) * sizeof(T)), codes((kFar + 1024) * sizeof(cuda::Code<T>));
  if (!x.there() || !codes.there()) GTEST_SKIP() << "no address space";
  Random r(4);
  std::vector<T> near(1024);
  for (T& v : near) v = static_cast<T>(r.symmetric());
  near[5] = std::numeric_limits<T>::quiet_NaN();
  std::copy(near.begin(), near.end(), x.as<T>() + kFar);

  const double width = grid_width(type_of<T>(), kEps, 0);
  const auto type = static_cast<cuda::Type>(type_of<T>());
  const auto block = std::make_unique<cuda::EmulatedBlock<cuda::Code<T>, 4>>(0, 1);
  const auto group_at = [&](const T* values, u64 first) {
    cuda::Compress<EmulatedWarp, T> op{};
    op.x = {values, type};
    op.header = {type, 1, first + 1024, 0, 0, 0, kEps, width};
    EXPECT_EQ(op.open(), Outcome::ok);
    cuda::Plan<EmulatedWarp> plan{};
    EXPECT_EQ(op.plan(first / 1024, block->memory(0), &plan), Outcome::ok);
    std::vector<u32> words(plan.words);
    op.write(first / 1024, block->memory(0), plan, words.data());
    return words;
  };
  EXPECT_EQ(group_at(x.as<T>(), kFar), group_at(near.data(), 0));

  std::vector<cuda::Code<T>> near_codes(1024);
  const auto quantise = [&](const T* values, cuda::Code<T>* q, u64 first) {
    cuda::Quantise<EmulatedWarp, T> op{};
    op.x = {values, type};
    op.count = first + 1024;
    op.eps = kEps;
    op.width = width;
    op.q = q;
    EXPECT_EQ(op.open(), Outcome::ok);
    EXPECT_EQ(op.run(first / 1024, block->memory(0)), Outcome::ok);
  };
  quantise(near.data(), near_codes.data(), 0);
  quantise(x.as<T>(), codes.template as<cuda::Code<T>>(), kFar);
  EXPECT_TRUE(std::equal(near_codes.begin(), near_codes.end(), codes.template as<cuda::Code<T>>() + kFar));
}
TEST(CudaSizes, ValuesBeyond32BitsOfIndexGiveTheirGroupFloat32) { a_group_far_away<float>(); }
TEST(CudaSizes, ValuesBeyond32BitsOfIndexGiveTheirGroupFloat64) { a_group_far_away<double>(); }

}  // namespace
}  // namespace stretto::codec
