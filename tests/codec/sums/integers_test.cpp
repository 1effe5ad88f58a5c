#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "../../sanitized.hpp"
#include "../support.hpp"
#include "codec/kernels.hpp"

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

// Groups of `bits` bits at most: steps of steps, steps or noise, from a start of any size; with the least or the
// largest number now and then.
template <class T>
std::vector<T> numbers(Random& r, int order, int bits, int start, bool extremes) {
  std::vector<T> x(1024 + 77);
  std::uint64_t code = start > 0 ? r.bits() >> (64 - start) : 0, step = 0;
  for (auto& v : x) {
    const std::uint64_t e = bits == 0 ? 0 : r.bits() >> (64 - bits);
    const std::uint64_t residual = r.below(2) ? e : 0 - e;
    step = order == 2 ? step + residual : residual;
    code = order == 0 ? residual : code + step;
    v = static_cast<T>(code);
    if (extremes && r.below(700) == 0) v = r.below(2) ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  }
  return x;
}

TYPED_TEST(Integers, GiveReferenceBytesAndValuesOnEveryInstructionSet) {
  using T = TypeParam;
  constexpr int kBits = 8 * sizeof(T), kStride = stride_if_sanitized(3), kStep = 2 * kStride + 3;
  Random r(36);
  std::vector<std::vector<T>> values;
  std::vector<Stream> streams;
  for (const Coding coding : {Coding::fixed, Coding::dense})
    for (int order = 0; order < 3; ++order)
      for (int bits = 0; bits <= kBits; bits += kStep)
        for (const int start : {0, 20, 27, 31, kBits - 2}) {
          const auto x = numbers<T>(r, order, bits, start, r.below(5) == 0);
          Options slow = with(Isa::reference);
          slow.coding = coding;
          streams.push_back(compressed(x, 0, slow));
          values.push_back(x);
          for (Isa isa : isas()) {
            SCOPED_TRACE(std::to_string(order) + ", " + std::to_string(bits) + " bits from " + std::to_string(start) +
                         ", " + name(isa));
            Options fast = slow;
            fast.isa = isa;
            ASSERT_TRUE(compressed(x, 0, fast) == streams.back());
            ASSERT_EQ(decoded<T>(streams.back(), fast), x);
            ASSERT_EQ(decoded<T>(streams.back(), fast, 3), decoded<T>(streams.back(), slow, 3));
          }
        }
  const auto written = [](auto f) {  // empty: refused
    Stream out(1 << 18);
    std::size_t bytes = 0;
    out.resize(f(MutableBytes(out), &bytes) == Status::ok ? bytes : 0);
    return out;
  };
  int sums = 0, too_large = 0;
  for (int round = 0; round < 1000 / kStride; ++round) {
    const std::size_t i = r.below(streams.size()), j = r.below(streams.size());
    const Combine op = r.below(3) ? Combine::add : Combine::subtract;
    const auto sum = [&](const Options& o) {
      return written([&](auto... to) { return combine(op, streams[i], streams[j], to..., o); });
    };
    const auto fused = [&](const Options& o) {
      return written([&](auto... to) { return add_values(streams[i], values[j].data(), values[j].size(), to..., o); });
    };
    const Stream s = sum(with(Isa::reference)), f = fused(with(Isa::reference));
    sums += !s.empty();
    for (const Isa isa : isas()) {
      ASSERT_TRUE(sum(with(isa)) == s) << i << ", " << j << ", " << name(isa);
      ASSERT_TRUE(fused(with(isa)) == f) << i << ", " << j << ", " << name(isa);
      if (s.empty()) continue;
      std::vector<T> y(values[i].size()), wanted(y.size());
      const Status status = decompress(s, wanted.data(), wanted.size(), with(Isa::reference));
      ASSERT_EQ(decompress(s, y.data(), y.size(), with(isa)), status) << i << ", " << j << ", " << name(isa);
      too_large += status != Status::ok;
      ASSERT_TRUE(status != Status::ok || y == wanted) << i << ", " << j << ", " << name(isa);
    }
  }
  EXPECT_GT(sums, 150 / kStride);
  EXPECT_GE(too_large, sizeof(T) == 4 ? 50 / kStride : 0);
  EXPECT_TRUE(sizeof(T) == 4 || too_large == 0);
}

TYPED_TEST(Integers, OfDamagedGroupsAreThoseOfTheReference) {
  using T = TypeParam;
  Random r(37);
  int decodable = 0, refused = 0;
  for (int trial = 0; trial < 3000 / stride_if_sanitized(3); ++trial) {
    const auto x = numbers<T>(r, static_cast<int>(r.below(3)), static_cast<int>(r.below(8 * sizeof(T) + 1)),
                              static_cast<int>(r.below(8 * sizeof(T))), false);
    Stream s = compressed(x, 0, with(Isa::reference));
    const std::size_t body = 64 + 8 + 8;  // header, one chunk, lengths of two groups
    for (std::size_t flips = s.size() > body ? r.below(4) : 0; flips > 0; --flips) {
      const std::size_t near = r.below(2) ? r.below(40) : r.below(s.size() - body);  // mostly in the first group's head
      s[body + std::min(near, s.size() - body - 1)] ^= std::byte{1} << r.below(8);
    }
    std::vector<T> wanted(x.size()), y(x.size());
    const Status status = decompress(s, wanted.data(), wanted.size(), with(Isa::reference));
    ++(status == Status::ok ? decodable : refused);
    for (const Isa isa : isas()) {
      ASSERT_EQ(decompress(s, y.data(), y.size(), with(isa)), status) << trial << ", " << name(isa);
      ASSERT_TRUE(status != Status::ok || y == wanted) << trial << ", " << name(isa);
    }
  }
  EXPECT_GT(decodable, 300);
  EXPECT_GT(refused, 40);
}

// A header may state less than the codes have: sums then leave the widths that it promises.
TYPED_TEST(Integers, SumsBeyondTheBoundOfTheHeaderAreThoseOfTheReference) {
  using T = TypeParam;
  constexpr std::size_t bound_at = 40;
  Random r(41);
  int sums = 0, decodable = 0;
  for (int trial = 0; trial < 600 / stride_if_sanitized(3); ++trial) {
    const int bits = 1 + static_cast<int>(r.below(8 * sizeof(T) - 1));
    std::vector<T> x(kGroup), v(kGroup);
    for (auto* of : {&x, &v})
      for (T& value : *of)
        value = static_cast<T>((std::uint64_t{1} << (bits - 1)) | (r.bits() & ((std::uint64_t{1} << (bits - 1)) - 1)));
    Stream s = compressed(x, 0, with(Isa::reference)), t = compressed(v, 0, with(Isa::reference));
    const std::uint64_t bound = std::uint64_t{1} << r.below(bits);
    for (Stream* damaged : {&s, &t}) std::memcpy(damaged->data() + bound_at, &bound, sizeof bound);
    const auto out_of = [](auto f) {
      Stream out(1 << 16);
      std::size_t bytes = 0;
      const Status status = f(MutableBytes(out), &bytes);
      out.resize(status == Status::ok ? bytes : 0);
      return std::pair(status, out);
    };
    const auto sum = [&](const Options& o) {
      return out_of([&](auto... to) { return combine(Combine::add, s, t, to..., o); });
    };
    const auto fused = [&](const Options& o) {
      return out_of([&](auto... to) { return add_values(s, v.data(), v.size(), to..., o); });
    };
    const auto wanted = sum(with(Isa::reference)), wanted_fused = fused(with(Isa::reference));
    sums += wanted.first == Status::ok;
    if (wanted.first == Status::ok) {
      std::vector<T> y(kGroup);
      decodable += decompress(wanted.second, y.data(), y.size(), with(Isa::reference)) == Status::ok;
    }
    for (const Isa isa : isas()) {
      ASSERT_TRUE(sum(with(isa)) == wanted) << trial << ", " << bits << " bits, " << name(isa);
      ASSERT_TRUE(fused(with(isa)) == wanted_fused) << trial << ", " << bits << " bits, " << name(isa);
    }
  }
  EXPECT_GT(sums, 100);
  EXPECT_GT(decodable, 20);
}

// The neighbouring tests hold for kernels that decline everything, too.
TEST(IntegerKernels, OfAvx512TakeGroupsOfAnyWidth) {
  const Kernels* const k = find_kernels(Isa::avx512);
  if (k == nullptr) GTEST_SKIP() << "no AVX-512 here";
  const auto expect_taken = [&]<class T>(const ValueKernels<T>& kernels, int bits) {
    SCOPED_TRACE(fmt::format("{} of {} bits", sizeof(T) == 4 ? "int32" : "int64", bits));
    Random r(static_cast<std::uint64_t>(bits));
    std::vector<T> x(kGroup), y(kGroup);
    for (T& value : x) value = static_cast<T>(static_cast<std::int64_t>(r.bits()) >> (64 - bits));
    std::vector<std::uint8_t> group(kKernelRoom + kReadSlack), out(4 * kMaxGroupWords + kKernelRoom);
    Tally tally;
    const std::size_t words = kernels.compress(x.data(), Grid<T>{}, group.data(), &tally);
    ASSERT_NE(words, kDeclined);
    if (bits <= 30) {
      EXPECT_NE(kernels.add_values(group.data(), words, x.data(), Grid<T>{}, out.data(), out.size(), &tally),
                kDeclined);
    }
    EXPECT_NE(k->add_wide(group.data(), words, group.data(), words, false, out.data()), kDeclined);
  };
  for (const int bits : {1, 10, 20, 30}) expect_taken(k->i32, bits);
  for (const int bits : {1, 10, 20, 30, 40, 62}) expect_taken(k->i64, bits);
}

}  // namespace
}  // namespace stretto::codec
