// The portable kernels give the bytes and values of the scalar reference, on every instruction set that this build and
// processor have.
#include "codec/portable/portable.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "../sanitized.hpp"
#include "codec/codec.hpp"
#include "codec/numbers/grid.hpp"
#include "golden/hand_made.hpp"
#include "portable_targets.hpp"

namespace stretto::codec {
namespace {

using Stream = std::vector<std::byte>;

constexpr std::size_t kCount = 4 * kGroup + 77;  // full groups and a tail, which is the scalar code's

template <class T>
constexpr Type kType = sizeof(T) == 4 ? Type::f32 : Type::f64;

Options with(Isa isa) {
  Options o;
  o.isa = isa;
  return o;
}

struct Outcome {
  Status status;
  Stream bytes;
  bool operator==(const Outcome&) const = default;
};

// Room for the longest result of the tests, handed out again and again.
MutableBytes room(std::size_t bytes) {
  static Stream buffer;
  if (buffer.size() < bytes) buffer.resize(bytes);
  return MutableBytes(buffer).first(bytes);
}

Outcome written(Status status, MutableBytes out, std::size_t n) {
  if (status != Status::ok) return {status, {}};
  return {status, Stream(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n))};
}

template <class T>
Outcome compressed(const std::vector<T>& x, double eps, Isa isa, double magnitude = 0) {
  const MutableBytes out = room(compress_bound(kType<T>, x.size()));
  std::size_t n = 0;
  Options o = with(isa);
  o.magnitude = magnitude;
  const Status s = compress(kType<T>, x.data(), x.size(), eps, out, &n, o);
  return written(s, out, n);
}

Outcome combined(Combine op, const Stream& a, const Stream& b, Isa isa) {
  Info ia, ib;
  if (inspect(a, &ia) != Status::ok || inspect(b, &ib) != Status::ok) return {Status::corrupt_stream, {}};
  const MutableBytes out = room(combine_bound(ia.type, ia.count) + (1 << 14));
  std::size_t n = 0;
  const Status s = combine(op, a, b, out, &n, with(isa));
  return written(s, out, n);
}

template <class T>
Outcome with_values(const Stream& a, const std::vector<T>& x, Isa isa) {
  const MutableBytes out = room(combine_bound(kType<T>, x.size()) + (1 << 14));
  std::size_t n = 0;
  const Status s = add_values(a, x.data(), x.size(), out, &n, with(isa));
  return written(s, out, n);
}

template <class T>
Outcome decoded(const Stream& a, Isa isa, std::uint32_t divisor = 1) {
  const MutableBytes out = room(kCount * sizeof(T));
  const Status s = decompress(a, out.data(), kCount, with(isa), divisor);
  return written(s, out, kCount * sizeof(T));
}

template <class T>
struct Field {
  std::string name;
  std::vector<T> x;
};

// Values of every temper, about 1 in size; blocks of every width among them.
template <class T>
std::vector<Field<T>> fields() {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Field<T>> all;
  const auto add = [&](const char* name, const std::function<double(std::size_t)>& f) {
    std::vector<T> x(kCount);
    for (std::size_t i = 0; i < kCount; ++i) x[i] = static_cast<T>(f(i));
    all.push_back({name, std::move(x)});
  };
  double walk = 0;
  add("zero", [](std::size_t) { return 0.0; });
  add("constant", [](std::size_t) { return 0.37; });
  add("negative constant", [](std::size_t) { return -0.37; });
  add("walk", [&](std::size_t) { return walk += 0.01 * normal(random); });
  add("gaussian", [&](std::size_t) { return 0.3 * normal(random); });
  add("uniform", [&](std::size_t) { return uniform(random); });
  add("positive", [&](std::size_t) { return std::fabs(0.3 * normal(random)); });
  add("sine", [](std::size_t i) { return std::sin(0.003 * static_cast<double>(i)); });
  add("parabola", [](std::size_t i) { return 1e-6 * static_cast<double>(i % 900) * static_cast<double>(i % 900); });
  add("alternating", [](std::size_t i) { return i % 2 ? -1.0 : 1.0; });
  add("sparse", [&](std::size_t i) { return i % 197 == 0 ? uniform(random) : 0.0; });
  add("one block", [&](std::size_t i) { return i % kGroup / kBlock == 17 ? uniform(random) : 0.0; });
  add("steps", [](std::size_t i) { return static_cast<double>(i / 48 % 7) / 7; });
  add("widths", [&](std::size_t i) { return uniform(random) * std::ldexp(1.0, -static_cast<int>(i / kBlock % 16)); });
  add("jumps",
      [&](std::size_t i) { return (i / kGroup % 2 ? 1e-3 : 0.9) * normal(random) * (i % 300 == 0 ? 3 : 0.01); });
  add("mixed tempers", [&](std::size_t i) {
    const double t = static_cast<double>(i);
    switch (i / kGroup % 4) {
      case 0: return normal(random) * 0.1;
      case 1: return walk += 0.001 * normal(random);
      case 2: return std::sin(0.002 * t);
      default: return i % 50 == 0 ? 0.5 : 0.0;
    }
  });
  add("tiny", [&](std::size_t) { return uniform(random) * std::numeric_limits<T>::denorm_min() * 100; });
  add("large", [&](std::size_t) { return uniform(random) * 1e30; });
  add("fills", [&](std::size_t i) { return i / 64 % 5 == 3 ? 1e20 : std::sin(0.01 * static_cast<double>(i)); });
  add("not numbers", [&](std::size_t i) {
    if (i % 111 == 5) return std::numeric_limits<double>::quiet_NaN();
    if (i % 1500 == 7) return -std::numeric_limits<double>::infinity();
    return uniform(random);
  });
  // Runs of any length, of one fill, of another, of several in a group; and groups that are all missing.
  bool missing = false;
  add("ragged gaps", [&](std::size_t i) {
    if (random() % 13 == 0) missing = !missing;
    const std::size_t group = i / kGroup % 5;
    if (!missing && group != 4) return 0.2 * normal(random);
    return group == 1 ? -9999.0 : group == 2 && random() % 2 ? std::numeric_limits<double>::quiet_NaN() : 1e20;
  });
  add("every order of magnitude",
      [&](std::size_t) { return std::ldexp(uniform(random), static_cast<int>(random() % 60) - 40); });
  return all;
}

// For each instruction set of the build that the processor has.
class PortableKernels : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { ASSERT_TRUE(choose_portable_target(GetParam())); }
  void TearDown() override { choose_portable_target(nullptr); }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PortableKernels);

std::vector<const char*> targets() {
  std::vector<const char*> here;
  for (const char* name : kPortableTargets)
    if (choose_portable_target(name)) here.push_back(name);
  choose_portable_target(nullptr);
  return here;
}

template <class T>
void expect_same_streams() {
  for (const auto& f : fields<T>())
    for (const double eps : {2.0, 0.1, 1e-2, 1e-3, 1.3e-4, 1e-5, 1e-7, 1e-9, 1e-14, 1e-30}) {
      const Outcome portable = compressed(f.x, eps, Isa::portable), reference = compressed(f.x, eps, Isa::reference);
      ASSERT_EQ(reference.status, Status::ok);
      ASSERT_TRUE(portable == reference) << f.name << ", bound " << eps;
      for (const std::uint32_t divisor : {1u, 3u, 1000u})
        ASSERT_TRUE(decoded<T>(reference.bytes, Isa::portable, divisor) ==
                    decoded<T>(reference.bytes, Isa::reference, divisor))
            << f.name << ", bound " << eps << ", divisor " << divisor;
    }
}

TEST_P(PortableKernels, CompressAndDecompressFloat32AsTheReference) { expect_same_streams<float>(); }
TEST_P(PortableKernels, CompressAndDecompressFloat64AsTheReference) { expect_same_streams<double>(); }

TEST_P(PortableKernels, UseTheGridOfAStatedMagnitude) {
  for (const auto& f : fields<float>())
    for (const double eps : {1e-3, 1.3e-4, 3e-5})
      ASSERT_TRUE(compressed(f.x, eps, Isa::portable, 1.0) == compressed(f.x, eps, Isa::reference, 1.0))
          << f.name << " " << eps;
}

// All pairs, under a sanitizer some with each.
template <class T>
void expect_same_sums() {
  constexpr std::size_t stride = stride_if_sanitized(5);
  const auto all = fields<T>();
  for (const double eps : {1.3e-4, 1e-7}) {
    std::vector<Stream> streams;
    for (const auto& f : all) streams.push_back(compressed(f.x, eps, Isa::reference).bytes);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = i % stride; j < all.size(); j += stride) {
        for (const Combine op : {Combine::add, Combine::subtract})
          ASSERT_TRUE(combined(op, streams[i], streams[j], Isa::portable) ==
                      combined(op, streams[i], streams[j], Isa::reference))
              << all[i].name << (op == Combine::add ? " + " : " - ") << all[j].name << ", bound " << eps;
        ASSERT_TRUE(with_values(streams[i], all[j].x, Isa::portable) ==
                    with_values(streams[i], all[j].x, Isa::reference))
            << all[i].name << " + values of " << all[j].name << ", bound " << eps;
      }
  }
}

TEST_P(PortableKernels, AddFloat32AsTheReference) { expect_same_sums<float>(); }
TEST_P(PortableKernels, AddFloat64AsTheReference) { expect_same_sums<double>(); }

// Sums of many grow past 16 bits, where the kernels change their arithmetic.
template <class T>
void expect_same_long_sums(double eps) {
  for (const auto& f : fields<T>()) {
    Stream sum = compressed(f.x, eps, Isa::reference).bytes;
    for (int doubling = 0; doubling < 20; ++doubling) {
      const Outcome portable = combined(Combine::add, sum, sum, Isa::portable),
                    reference = combined(Combine::add, sum, sum, Isa::reference);
      ASSERT_TRUE(portable == reference) << f.name << ", doubling " << doubling;
      if (reference.status != Status::ok) break;
      sum = reference.bytes;
      ASSERT_TRUE(decoded<T>(sum, Isa::portable) == decoded<T>(sum, Isa::reference))
          << f.name << ", doubling " << doubling;
      ASSERT_TRUE(decoded<T>(sum, Isa::portable, 7) == decoded<T>(sum, Isa::reference, 7))
          << f.name << ", doubling " << doubling;
      ASSERT_TRUE(with_values(sum, f.x, Isa::portable) == with_values(sum, f.x, Isa::reference))
          << f.name << ", doubling " << doubling;
    }
  }
}

TEST_P(PortableKernels, CarryLongSumsOfFloat32AsTheReference) { expect_same_long_sums<float>(1.3e-4); }
TEST_P(PortableKernels, CarryLongSumsOfFloat64AsTheReference) { expect_same_long_sums<double>(1e-6); }

// Damaged streams: the same verdict and the same values, whatever their bits claim.
template <class T>
void expect_same_on_damage() {
  std::mt19937_64 random(11);
  const auto all = fields<T>();
  for (const std::size_t which : {3u, 4u, 7u, 10u, 13u, 18u}) {
    const Stream whole = compressed(all[which].x, 1e-3, Isa::reference).bytes;
    const Stream other = compressed(all[(which + 1) % all.size()].x, 1e-3, Isa::reference).bytes;
    const std::size_t body = kHeaderBytes + 8 + 16;
    for (int trial = 0; trial < 300; trial += stride_if_sanitized(4)) {
      Stream damaged = whole;
      for (int k = 0; k < 1 + trial % 3; ++k)
        damaged[body + random() % (damaged.size() - body)] ^= std::byte{1} << random() % 8;
      ASSERT_TRUE(decoded<T>(damaged, Isa::portable) == decoded<T>(damaged, Isa::reference))
          << all[which].name << " " << trial;
      ASSERT_TRUE(combined(Combine::add, damaged, other, Isa::portable) ==
                  combined(Combine::add, damaged, other, Isa::reference))
          << all[which].name << " " << trial;
      ASSERT_TRUE(combined(Combine::subtract, other, damaged, Isa::portable) ==
                  combined(Combine::subtract, other, damaged, Isa::reference))
          << all[which].name << " " << trial;
    }
  }
}

TEST_P(PortableKernels, JudgeDamagedFloat32AsTheReference) { expect_same_on_damage<float>(); }
TEST_P(PortableKernels, JudgeDamagedFloat64AsTheReference) { expect_same_on_damage<double>(); }

TEST_P(PortableKernels, ReadHandMadeGroupsAsTheReference) {
  std::mt19937_64 random(13);
  const Grid<float> grid = make_grid<float>(Type::f32, 1e-3, grid_width(Type::f32, 1e-3, 0));
  const auto& kernels = portable_kernels()->f32;
  int taken = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const std::vector<std::uint32_t> words = hand_made_group(random, trial % 33);
    // On the heap and of the exact size, so that a sanitizer sees reads past the end.
    std::vector<std::uint8_t> bytes(4 * words.size());
    std::memcpy(bytes.data(), words.data(), bytes.size());
    Info info;
    info.type = Type::f32;
    info.width = grid.width;
    info.code_bound = trial % 2 ? 1000 : std::uint64_t{1} << 30;
    GroupView view;
    const bool legal = parse_group(bytes.data(), words.size(), kGroup, Type::f32, &view);
    std::vector<float> portable(kGroup), reference(kGroup);
    if (!kernels.decompress(bytes.data(), words.size(), grid, info.code_bound, 1, false, portable.data())) continue;
    ++taken;
    ASSERT_TRUE(legal) << trial;
    ASSERT_TRUE(decode_group(view, info, 1, reference.data()));
    ASSERT_EQ(std::memcmp(portable.data(), reference.data(), sizeof(float) * kGroup), 0) << trial;
  }
  EXPECT_GT(taken, 3000);
}

TEST_P(PortableKernels, FindTheRangeOfTheReference) {
  const auto check = [](const auto& x) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{31}, std::size_t{1000}, kCount}) {
      double lo[2], hi[2];
      ASSERT_EQ(value_range(kType<T>, x.data(), n, &lo[0], &hi[0], with(Isa::portable)), Status::ok);
      ASSERT_EQ(value_range(kType<T>, x.data(), n, &lo[1], &hi[1], with(Isa::reference)), Status::ok);
      EXPECT_EQ(lo[0], lo[1]);
      EXPECT_EQ(hi[0], hi[1]);
    }
  };
  for (const auto& f : fields<float>()) check(f.x);
  for (const auto& f : fields<double>()) check(f.x);
  check(std::vector<float>(kCount, std::numeric_limits<float>::quiet_NaN()));
  check(std::vector<double>(kCount, -std::numeric_limits<double>::infinity()));
}

// The comparisons above would pass if the kernels always declined.
TEST_P(PortableKernels, DeclineNoPlainGroup) {
  const auto check = [](const auto& all, double eps) {
    using T = typename std::decay_t<decltype(all[0].x)>::value_type;
    const Grid<T> grid = make_grid<T>(kType<T>, eps, grid_width(kType<T>, eps, 0));
    const auto& kernels = value_kernels<T>(*portable_kernels());
    for (const std::size_t which : {0u, 1u, 3u, 4u, 5u, 7u, 10u, 13u}) {
      const auto& f = all[which];
      std::vector<std::uint8_t> out(kKernelRoom), sum(kKernelRoom), twice(kKernelRoom);
      Tally tally;
      const std::size_t n = kernels.compress(f.x.data(), grid, out.data(), &tally);
      ASSERT_NE(n, kDeclined) << f.name;
      EXPECT_NE(kernels.add_values(out.data(), n, f.x.data(), grid, sum.data(), sum.size(), &tally), kDeclined)
          << f.name;
      EXPECT_NE(portable_kernels()->add(out.data(), n, out.data(), n, false, twice.data()), kDeclined) << f.name;
      std::vector<T> y(kGroup);
      EXPECT_TRUE(kernels.decompress(out.data(), n, grid, tally.bound, 1, false, y.data())) << f.name;
    }
  };
  check(fields<float>(), 1e-3);
  check(fields<float>(), 1e-5);  // codes beyond 16 bits, and none of them good without looking
  check(fields<double>(), 1e-3);
  check(fields<double>(), 1e-7);
}

TEST_P(PortableKernels, DeclineNoMissingData) {
  const auto check = [](const auto& all) {
    using T = typename std::decay_t<decltype(all[0].x)>::value_type;
    const Grid<T> grid = make_grid<T>(kType<T>, 1e-3, grid_width(kType<T>, 1e-3, 0));
    for (const auto& f : all) {
      if (f.name != "fills" && f.name != "not numbers") continue;
      const auto& kernels = value_kernels<T>(*portable_kernels());
      // Equal places in both, and the places of two groups of the field.
      std::vector<std::uint8_t> a(kKernelRoom), b(kKernelRoom), sum(4 * kMaxGroupWords);
      Tally tally;
      const T* const x = f.x.data();
      const std::size_t n = kernels.compress(x, grid, a.data(), &tally),
                        m = kernels.compress(x + kGroup, grid, b.data(), &tally);
      ASSERT_NE(n, kDeclined) << f.name;
      ASSERT_NE(m, kDeclined) << f.name;
      EXPECT_GT(tally.exceptions, 0u) << f.name;
      const auto add = [&](const std::uint8_t* from, std::size_t words) {
        return kernels.add_filled(a.data(), n, from, words, false, grid.width, sum.data(), sum.size(), &tally);
      };
      EXPECT_NE(add(a.data(), n), kDeclined) << f.name;
      EXPECT_NE(add(b.data(), m), kDeclined) << f.name;
      for (const T* v : {x, x + kGroup})
        EXPECT_NE(kernels.add_values(a.data(), n, v, grid, sum.data(), sum.size(), &tally), kDeclined) << f.name;
    }
  };
  check(fields<float>());
  check(fields<double>());
}

// Groups without gaps, with one fill, and with several; aligned for vectors, and not.
template <class T>
void expect_same_past_the_caches() {
  std::vector<T> x((std::size_t{5} << 20) / sizeof(T) + 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(std::sin(0.01 * static_cast<double>(i)));
    if (i / kGroup % 3 > 0 && i / 50 % 4 == 1) x[i] = static_cast<T>(i / kGroup % 3 == 1 || i % 2 ? 1e20 : -1e20);
  }
  Stream out(compress_bound(kType<T>, x.size()));
  std::size_t n = 0;
  ASSERT_EQ(compress(kType<T>, x.data(), x.size(), 1e-3, out, &n, with(Isa::portable)), Status::ok);
  for (const std::size_t shift : {0u, 1u, 2u, 4u}) {  // memory begins at 16 bytes of a page, so one of them is at 32
    std::vector<T> portable(x.size() + 8), reference(x.size() + 8);
    ASSERT_EQ(decompress(out, portable.data() + shift, x.size(), with(Isa::portable)), Status::ok);
    ASSERT_EQ(decompress(out, reference.data() + shift, x.size(), with(Isa::reference)), Status::ok);
    EXPECT_EQ(portable, reference) << shift;
  }
}

TEST_P(PortableKernels, WriteTheSameFloat32PastTheCaches) { expect_same_past_the_caches<float>(); }
TEST_P(PortableKernels, WriteTheSameFloat64PastTheCaches) { expect_same_past_the_caches<double>(); }

INSTANTIATE_TEST_SUITE_P(Targets, PortableKernels, testing::ValuesIn(targets()),
                         [](const auto& info) { return std::string(info.param); });

TEST(PortableTarget, IsTheOneChosen) {
  const std::string best = portable_target();
  EXPECT_FALSE(choose_portable_target("no such thing"));
  EXPECT_EQ(portable_target(), best);
  if (choose_portable_target("AVX2")) {
    EXPECT_STREQ(portable_target(), "AVX2");
  }
  EXPECT_TRUE(choose_portable_target(nullptr));
  EXPECT_EQ(portable_target(), best);
}

}  // namespace
}  // namespace stretto::codec
