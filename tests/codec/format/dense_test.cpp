// Dense streams: the values, the sums and the errors of fixed ones, in fewer bytes.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../every_target.hpp"
#include "../inputs.hpp"
#include "codec/dense/head.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace {

Options dense(Options o = {}) {
  o.coding = Coding::dense;
  return o;
}
Options fixed(Options o = {}) {
  o.coding = Coding::fixed;
  return o;
}

// Fixed streams of the groups that dense ones have.
Options grouped() {
  Options o = fixed();
  o.orders = Coding::dense;
  return o;
}

Stream recoded(const Stream& s, const Options& o) { return sliced(s, 0, info_of(s).count, o); }

// Expected relations of a dense stream of these values to the fixed one.
void expect_same(Type t, const void* x, std::size_t n, double eps) {
  const Stream f = compress_raw(t, x, n, eps, grouped()), d = compress_raw(t, x, n, eps, dense());
  EXPECT_EQ(validate(d), Status::ok) << message();
  EXPECT_LE(d.size(), f.size());
  EXPECT_EQ(info_of(d).coding, Coding::dense);
  EXPECT_EQ(recoded(d, fixed()), f) << "the same groups";
  EXPECT_EQ(recoded(f, dense()), d) << "the same chunks";
  EXPECT_EQ(recoded(d, {}), d);
  on_every_instruction_set([&](const Options& o, const char* target) {
    SCOPED_TRACE(target);
    EXPECT_EQ(compress_raw(t, x, n, eps, dense(o)), d);
    Options own = o;
    own.orders = Coding::dense;
    EXPECT_EQ(compress_raw(t, x, n, eps, own), f);
    Stream y(n * size_of(t)), z(y.size());
    EXPECT_EQ(decompress(f, y.data(), n, o), Status::ok) << message();
    EXPECT_EQ(decompress(d, z.data(), n, o), Status::ok) << message();
    EXPECT_EQ(y, z);
    EXPECT_EQ(decompress(compress_raw(t, x, n, eps, fixed()), z.data(), n, o), Status::ok) << message();
    EXPECT_EQ(y, z) << "whatever the orders";
    std::fill(z.begin(), z.end(), std::byte{});
    EXPECT_EQ(decompress_slice(d, n / 3, n / 2, z.data(), o), Status::ok) << message();
    EXPECT_TRUE(n == 0 || std::memcmp(z.data(), y.data() + n / 3 * size_of(t), n / 2 * size_of(t)) == 0);
  });
}

void expect_same_sums(Type t, const void* x, const void* y, std::size_t n, double eps) {
  const Stream fx = compress_raw(t, x, n, eps, grouped()), fy = compress_raw(t, y, n, eps, grouped());
  const Stream dx = compress_raw(t, x, n, eps, dense()), dy = compress_raw(t, y, n, eps, dense());
  for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max}) {
    const Stream f = combined(op, fx, fy), d = recoded(f, dense());
    on_every_instruction_set([&](const Options& o, const char* target) {
      SCOPED_TRACE(target);
      EXPECT_EQ(combined(op, dx, dy, o), d);
      EXPECT_EQ(combined(op, fx, dy, o), d) << "a sum with one dense operand is dense";
      EXPECT_EQ(recoded(combined(op, dx, dy, o), fixed(o)), f);
      EXPECT_EQ(combined(op, fx, fy, dense(o)), d);
    });
  }
  const Stream f = with_values(fx, y, n, grouped()), d = recoded(f, dense());
  EXPECT_EQ(f, combined(Combine::add, fx, fy));
  on_every_instruction_set([&](const Options& o, const char* target) {
    SCOPED_TRACE(target);
    EXPECT_EQ(with_values(dx, y, n, o), d);
    EXPECT_EQ(with_values(fx, y, n, dense(o)), d);
  });
  EXPECT_EQ(scaled(dx, -3), recoded(scaled(fx, -3), dense()));
  EXPECT_EQ(sliced(dx, n / 3, n / 2), recoded(sliced(fx, n / 3, n / 2), dense()));
  EXPECT_EQ(joined(dx, dy), recoded(joined(fx, fy), dense()));
}

template <class T>
class Dense : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Dense, Floats);

TYPED_TEST(Dense, StreamsHaveTheGroupsOfFixedOnes) {
  for (const auto& in : inputs<TypeParam>()) {
    SCOPED_TRACE(in.name);
    expect_same(type_of<TypeParam>(), in.x.data(), in.x.size(), in.eps);
  }
}

TYPED_TEST(Dense, SumsHaveTheGroupsOfFixedOnes) {
  const auto all = summands<TypeParam>(3000, 1e-3, 14, 5);
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    expect_same_sums(type_of<TypeParam>(), all[i].data(), all[i + 1].data(), 3000, 1e-3);
}

TYPED_TEST(Dense, ChunksOfEveryLengthHaveTheGroupsOfFixedOnes) {
  const auto all = summands<TypeParam>(150000, 1e-3, 3, 7);
  for (const std::size_t n : {1u, 31u, 1023u, 1024u, 1025u, 40000u, 65535u, 65536u, 65537u, 131073u, 150000u}) {
    SCOPED_TRACE(n);
    expect_same(type_of<TypeParam>(), all[n % 3].data(), n, 1e-3);
  }
  expect_same_sums(type_of<TypeParam>(), all[0].data(), all[2].data(), 150000, 1e-3);
}

// Classes of every length, rare and common, in blocks of every width.
TYPED_TEST(Dense, EveryClassAndWidthIsCoded) {
  Random r(11);
  for (int most = 1; most <= 31; ++most) {
    SCOPED_TRACE(most);
    std::vector<TypeParam> x(20000);
    for (auto& v : x) {
      const auto bits = r.below(static_cast<std::uint64_t>(most) + 1);
      v = static_cast<TypeParam>(static_cast<double>(r.below(std::uint64_t{1} << bits)) * (r.below(2) ? 1 : -1));
    }
    expect_same(type_of<TypeParam>(), x.data(), x.size(), 0.5);
  }
}

TEST(DenseIntegers, OfEveryWidthHaveTheGroupsOfFixedOnes) {
  Random r(12);
  for (int most = 0; most <= 64; ++most) {
    SCOPED_TRACE(most);
    std::vector<std::int64_t> x(7000);
    std::vector<std::int32_t> y(7000);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto bits = r.below(static_cast<std::uint64_t>(most) + 1);
      x[i] = static_cast<std::int64_t>(bits == 0 ? 0 : r.bits() >> (64 - bits));
      y[i] = static_cast<std::int32_t>(x[i]);
    }
    expect_same(Type::i64, x.data(), x.size(), 0);
    expect_same(Type::i32, y.data(), y.size(), 0);
  }
}

TEST(DenseHalves, HaveTheGroupsOfFixedOnes) {
  Random r(13);
  std::vector<std::uint16_t> x(70000), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::uint16_t>(r.bits() & 0xbfff);
    y[i] = static_cast<std::uint16_t>(r.bits() & 0x3cff);
  }
  for (const Type t : {Type::f16, Type::bf16}) {
    expect_same(t, x.data(), x.size(), 1e-3);
    expect_same_sums(t, x.data(), y.data(), x.size(), 1e-3);
  }
}

TEST(DenseParts, AnyNumberOfThemGivesTheSameBytes) {
  const auto all = summands<float>(400000, 1e-3, 3, 9);
  Options o = dense();
  const Stream a = compressed(all[0], 1e-3, o), b = compressed(all[1], 1e-3, o), sum = combined(Combine::add, a, b, o);
  for (const int width : {2, 3, 5}) {
    const Parallel parallel = threads(width);
    o.parallel = &parallel;
    EXPECT_EQ(compressed(all[0], 1e-3, o), a);
    EXPECT_EQ(combined(Combine::add, a, b, o), sum);
    EXPECT_EQ(with_values(a, all[1].data(), all[1].size(), o), sum);
    EXPECT_EQ(decoded<float>(sum, o), decoded<float>(sum));
  }
}

// A stream that ends, or begins, at a page that may not be read.
TEST(DensePages, NothingOutsideTheStreamIsRead) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto all = summands<float>(20000, 1e-3, 14, 3);
  for (const auto& x : all) {
    const Stream s = compressed(x, 1e-3, dense());
    const std::size_t room = (s.size() + page - 1) / page * page;
    void* const mapped = mmap(nullptr, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto* const begin = static_cast<std::byte*>(mapped) + page;
    ASSERT_EQ(mprotect(mapped, page, PROT_NONE), 0);
    ASSERT_EQ(mprotect(begin + room, page, PROT_NONE), 0);
    for (std::byte* at : {begin, begin + room - s.size()}) {
      std::memcpy(at, s.data(), s.size());
      for (const Isa isa : isas()) {
        std::vector<float> y(x.size());
        EXPECT_EQ(decompress(Bytes(at, s.size()), y.data(), y.size(), with(isa)), Status::ok) << message();
        Random r(5);
        for (int i = 0; i < 30; ++i) {  // damaged
          std::byte* const place = at + 72 + r.below(s.size() - 72);
          const std::byte before = *place;
          *place = static_cast<std::byte>(r.bits());
          (void)decompress(Bytes(at, s.size()), y.data(), y.size(), with(isa));
          *place = before;
        }
      }
    }
    munmap(mapped, room + 2 * page);
  }
}

// Altered states and words let a group take words down to the heads of the groups after it.
TEST(DensePages, AlteredWordsReadNothingBehindTheStream) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  Random r(7);
  std::vector<float> x(3 * 1024);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(r.below(i < 1024 ? 3 : 2));
  const Stream s = compressed(x, 0.4, dense());
  const std::size_t room = (s.size() + page - 1) / page * page;
  void* const mapped = mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const end = static_cast<std::byte*>(mapped) + room;
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  std::byte* const at = end - s.size();
  for (int i = 0; i < 6000; ++i) {
    std::memcpy(at, s.data(), s.size());
    for (std::size_t n = 1 + r.below(40); n > 0; --n) {
      const std::size_t back = 1 + r.below(std::min<std::size_t>(s.size() - 72, r.below(2) ? 120 : 400));
      at[s.size() - back] = static_cast<std::byte>(r.bits());
    }
    for (const Isa isa : isas()) {
      std::vector<float> y(x.size());
      static_cast<void>(decompress(Bytes(at, s.size()), y.data(), y.size(), with(isa)));
    }
  }
  munmap(mapped, room + page);
}

TEST(DenseHeads, AreTakenApartAsGroupsAreParsed) {
  std::vector<float> x(kGroup);
  for (int blocks = 0; blocks <= kBlocks; ++blocks)
    for (const float most : {3.F, 2e3F, 1e6F}) {
      for (int i = 0; i < kGroup; ++i) {
        const bool zero = i / kBlock * 7 % kBlocks >= blocks;
        x[static_cast<std::size_t>(i)] = zero ? 0 : most * (static_cast<float>(i * 37 % 101) / 50 - 1);
      }
      const Stream stream = compress_raw(Type::f32, x.data(), x.size(), 0.5, fixed());
      StreamView view;
      ASSERT_EQ(open_stream(stream, &view, false), Status::ok);
      const std::uint8_t* const p = view.base + view.layout.body;
      dense::Parts parts;
      GroupView group;
      ASSERT_TRUE(dense::take_apart(p, view.words(0), kGroup, Type::f32, &parts));
      ASSERT_TRUE(parse_group(p, view.words(0), kGroup, Type::f32, &group));
      EXPECT_EQ(std::memcmp(parts.widths.of, group.width, kBlocks), 0) << blocks << " blocks up to " << most;
      EXPECT_EQ(parts.widths.widest, *std::max_element(group.width, group.width + kBlocks));
      EXPECT_EQ(parts.planes, group.planes);
      EXPECT_EQ(parts.predictor, group.predictor);
      EXPECT_EQ(parts.base, group.base);
      EXPECT_EQ(parts.slope, group.slope);
    }
}

TEST(DenseEstimate, IsNearTheBytesOfDenseStreams) {
  Random r(21);
  for (const int bits : {1, 3, 6, 12}) {
    SCOPED_TRACE(bits);
    std::vector<float> x(200000);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double noise = static_cast<double>(r.below(std::uint64_t{1} << bits)) * (r.below(4) ? 0.1 : 1);
      x[i] = static_cast<float>(noise + std::sin(static_cast<double>(i) * 1e-3));
    }
    const Stream f = compressed(x, 0.5, grouped()), d = compressed(x, 0.5, dense());
    double of_fixed = 0, of_dense = 0;
    ASSERT_TRUE(estimate_dense(f, &of_fixed, &of_dense));
    EXPECT_NEAR(of_fixed, static_cast<double>(f.size()), 64 + 0.01 * static_cast<double>(f.size()));
    EXPECT_NEAR(of_dense, static_cast<double>(d.size()), 0.05 * static_cast<double>(d.size()));
    EXPECT_FALSE(estimate_dense(d, &of_fixed, &of_dense)) << "of fixed streams alone";
  }
}

// The widest of few values set the fixed form's costs, but hardly those of an entropy coder.
TEST(DenseRatio, RareStepsDoNotSpoilTheOrder) {
  std::vector<float> x(200000);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(8 * std::sin(static_cast<double>(i) / 40)) + (i % 16 == 5 ? 23.F : 0.F);
  Options old = dense();
  old.orders = Coding::fixed;
  const Stream s = compressed(x, 0.5, dense()), t = compressed(x, 0.5, old);
  EXPECT_LT(5 * s.size(), 4 * t.size()) << s.size() << " " << t.size();
}

// Codes at the ends of 16, 21 and 32 bits, of either sign, in samples and elsewhere; groups without any sample.
TEST(DenseIntegers, AtTheEndsOfWordsHaveTheGroupsOfFixedOnes) {
  Random r(16);
  for (const int bits : {14, 15, 16, 20, 21, 30, 31})
    for (const bool negative : {false, true})
      for (const std::uint64_t rare : {1, 3, 40})
        for (const std::size_t n : {70, 1024, 2100}) {
          SCOPED_TRACE(testing::Message() << bits << " " << negative << " " << rare << " " << n);
          const std::int64_t most = (std::int64_t{1} << bits) - 1, end = negative ? -most - 1 : most;
          std::vector<std::int32_t> x(n);
          for (auto& v : x) {
            const auto step = static_cast<std::int64_t>(r.below(r.below(rare) ? 4 : 16000));
            v = static_cast<std::int32_t>(negative ? end + step : end - step);
          }
          expect_same(Type::i32, x.data(), n, 0);
          for (auto& v : x)
            if (!r.below(rare + 1)) v = static_cast<std::int32_t>(r.below(2) ? end : -end - negative);
          expect_same(Type::i32, x.data(), n, 0);
          const std::vector<float> y(x.begin(), x.end());
          expect_same(Type::f32, y.data(), n, 0.75);
        }
}

TEST(DenseRatio, SmoothFieldsTakeThreeQuartersOfTheBytes) {
  Random r(14);
  std::vector<float> x(300000);
  double v = 0, d = 0;
  for (auto& e : x) e = static_cast<float>(v += d += 1e-3 * r.symmetric() * r.symmetric() * r.symmetric() - 1e-3 * d);
  const Stream f = compressed(x, 1e-4), s = compressed(x, 1e-4, dense());
  EXPECT_LT(4 * s.size(), 3 * f.size()) << f.size() << " " << s.size();
}

}  // namespace
}  // namespace stretto::codec
