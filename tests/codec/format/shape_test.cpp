// Shaped streams: the bound, exceptions bit for bit, one stream on every instruction set, and never more bytes than a
// dense stream but for rare misjudged samples.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "../../fuzz/bounds.hpp"
#include "../every_target.hpp"
#include "../inputs.hpp"
#include "../sums/exactly.hpp"
#include "codec/shape/differences.hpp"
#include "codec/shape/view.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec {
namespace {

Shape shape(std::initializer_list<std::uint64_t> extents) {
  Shape s;
  for (const std::uint64_t n : extents) s.extent[s.axes++] = n;
  return s;
}

std::uint64_t count_of(const Shape& s) {
  std::uint64_t n = 1;
  for (int k = 0; k < s.axes; ++k) n *= s.extent[k];
  return n;
}

Stream shaped_raw(Type t, const void* x, const Shape& s, double eps, const Options& options = {}) {
  Stream out(compress_bound(t, count_of(s)), before());
  std::size_t written = 0;
  EXPECT_EQ(compress_shaped(t, x, s, eps, out, &written, options), Status::ok) << message();
  out.resize(written);
  out.shrink_to_fit();
  return out;
}

template <class T>
Stream shaped(const std::vector<T>& x, const Shape& s, double eps, const Options& options = {}) {
  EXPECT_EQ(x.size(), count_of(s));
  return shaped_raw(type_of<T>(), x.data(), s, eps, options);
}

Options dense(Options o = {}) {
  o.coding = Coding::dense;
  return o;
}

template <class T>
bool equal_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// What a shaped stream of these values has to be. Returns it.
template <class T>
Stream expect_good(const std::vector<T>& x, const Shape& s, double eps, const Options& options = {}) {
  const Type t = type_of<T>();
  const Stream a = shaped(x, s, eps, options);
  EXPECT_EQ(validate(a), Status::ok) << message();
  Options plain = dense(options);
  EXPECT_LE(a.size(), compressed(x, eps, plain).size()) << "longer than a dense stream";
  const auto y = decoded<T>(a);
  std::uint64_t exceptions = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_mark = std::any_of(options.marks.begin(), options.marks.end(),
                                     [&](double mark) { return static_cast<T>(mark) == x[i]; });
    if (equal_bits(x[i], y[i])) {
      exceptions += is_mark || !std::isfinite(static_cast<double>(x[i]));
    } else if (is_mark || !kept(t, x[i], y[i], eps)) {
      ADD_FAILURE() << "place " << i << ": " << x[i] << " decodes to " << y[i] << " within " << eps;
      break;
    }
  }
  const Info info = info_of(a);
  EXPECT_GE(info.exceptions, exceptions);
  EXPECT_EQ(info.count, x.size());
  EXPECT_EQ(info.bytes, a.size());
  Shape found;
  EXPECT_EQ(inspect_shape(a, &found), Status::ok) << message();
  if (found.axes != 0) {
    EXPECT_EQ(found.axes, s.axes);
    for (int k = 0; k < s.axes; ++k) EXPECT_EQ(found.extent[k], s.extent[k]);
  }
  on_every_instruction_set([&](const Options& of_set, const char* target) {
    SCOPED_TRACE(target);
    Options o = options;
    o.isa = of_set.isa;
    EXPECT_EQ(shaped(x, s, eps, o), a);
    EXPECT_TRUE(x.empty() || std::memcmp(decoded<T>(a, o).data(), y.data(), y.size() * sizeof(T)) == 0);
  });
  Options o = options;
  const Parallel parallel = threads(3);
  o.isa = Isa::reference;
  EXPECT_EQ(shaped(x, s, eps, o), a) << "the reference";
  EXPECT_TRUE(x.empty() || std::memcmp(decoded<T>(a, o).data(), y.data(), y.size() * sizeof(T)) == 0);
  o.isa = Isa::best;
  o.parallel = &parallel;
  EXPECT_EQ(shaped(x, s, eps, o), a) << "three parts";
  EXPECT_TRUE(x.empty() || std::memcmp(decoded<T>(a, o).data(), y.data(), y.size() * sizeof(T)) == 0);
  const std::size_t first = x.size() / 3, n = x.size() / 2;
  std::vector<T> part(n);
  EXPECT_EQ(decompress_slice(a, first, n, part.data()), Status::ok) << message();
  EXPECT_TRUE(n == 0 || std::memcmp(part.data(), y.data() + first, n * sizeof(T)) == 0);
  return a;
}

bool is_shaped(const Stream& a) { return shaped::is_shaped(a); }

// Smooth along all axes, on an offset, with noise of a few eps.
template <class T>
std::vector<T> field(const Shape& s, double noise, std::uint64_t seed) {
  Random r(seed);
  std::vector<T> x(count_of(s));
  for (std::size_t i = 0; i < x.size(); ++i) {
    double v = 300, phase = 0;
    std::size_t rest = i;
    for (int k = s.axes; k-- > 0; rest /= s.extent[k]) {
      const auto at = static_cast<double>(rest % s.extent[k]);
      phase += at * 0.37;
      v += std::fmod(at * (17.1 + 3 * k), 23);  // rough along each axis, equal from row to row
    }
    x[i] = static_cast<T>(v + std::fmod(phase, 2.0) * 0.01 + noise * r.symmetric());
  }
  return x;
}

template <class T>
class Shaped : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(Shaped, Floats);

TYPED_TEST(Shaped, AdversarialValuesKeepTheBoundInAnyShape) {
  for (const auto& in : inputs<TypeParam>()) {
    SCOPED_TRACE(in.name);
    const std::uint64_t n = in.x.size();
    expect_good(in.x, shape({n}), in.eps);
    for (const std::uint64_t columns : {2, 3, 32, 100}) {
      const std::uint64_t rows = n / columns;
      if (rows == 0) continue;
      const std::vector<TypeParam> x(in.x.begin(), in.x.begin() + static_cast<std::ptrdiff_t>(rows * columns));
      expect_good(x, shape({rows, columns}), in.eps);
      if (rows % 2 == 0) expect_good(x, shape({2, 1, rows / 2, columns}), in.eps);
    }
  }
}

TYPED_TEST(Shaped, FieldsOfEveryNumberOfAxesTakeFewerBytes) {
  for (const Shape& s : {shape({60, 77}), shape({12, 33, 40}), shape({3, 5, 30, 20}), shape({300, 300}),
                         shape({2, 2, 2, 2, 2, 2, 2, 100}), shape({40, 1, 60, 1, 33})}) {
    SCOPED_TRACE(s.axes);
    const auto x = field<TypeParam>(s, 0.02, 3);
    const Stream a = expect_good(x, s, 0.01);
    EXPECT_TRUE(is_shaped(a));
    EXPECT_LT(static_cast<double>(a.size()), 0.85 * static_cast<double>(compressed(x, 0.01, dense()).size()));
  }
}

TYPED_TEST(Shaped, MissingDataKeepTheirBits) {
  const Shape s = shape({6, 50, 70});
  using L = std::numeric_limits<TypeParam>;
  const double marks[] = {-9999, 301.25};
  for (int kind = 0; kind < 7; ++kind) {
    SCOPED_TRACE(kind);
    auto x = field<TypeParam>(s, 0.02, 4);
    Random r(5);
    Options o;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t column = i % 70, row = i / 70 % 50;
      const bool land = (row * row + column * 20) % 1500 < 600;
      if (kind == 0 && land) x[i] = L::quiet_NaN();
      if (kind == 1 && land) x[i] = TypeParam(1e20);
      if (kind == 2 && land) x[i] = TypeParam(-9999);
      if (kind == 3 && r.below(50) == 0) x[i] = r.below(2) ? L::infinity() : TypeParam(-9999);
      if (kind == 4) x[i] = L::quiet_NaN();
      if (kind == 5 && i < 9000) x[i] = -L::infinity();
      if (kind == 6 && i > 4000) x[i] = TypeParam(1e30 + static_cast<double>(i) * 1e25);
    }
    if (kind == 2 || kind == 3) o.marks = marks;
    if (kind == 1) o.keep_from = 1e15;
    const Stream a = expect_good(x, s, 0.01, o);
    EXPECT_TRUE(kind > 1 || is_shaped(a));
    const auto y = decoded<TypeParam>(a, {}, 3);  // means
    const auto sums = decoded<TypeParam>(a);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || std::fabs(x[i]) > 1e15)
        ASSERT_TRUE(std::isnan(x[i]) ? std::isnan(y[i])
                                     : y[i] == static_cast<TypeParam>(static_cast<double>(x[i]) / 3));
      else
        ASSERT_NEAR(y[i], sums[i] / 3, 1e-4);
    }
  }
}

// A grid of 1/512 below 2 eps keeps few of these values of float32; the shaped stream's own is finer.
TEST(ShapedGrid, KeepsValuesThatAreLargeBesideTheBound) {
  const Shape s = shape({100, 200});
  auto x = field<float>(s, 0.02, 6);
  const Stream a = expect_good(x, s, 1e-3);
  EXPECT_TRUE(is_shaped(a));
  EXPECT_EQ(info_of(a).exceptions, 0u);
  EXPECT_GT(info_of(compressed(x, 1e-3, dense())).exceptions, 100u);
}

TEST(ShapedIntegers, AreLossless) {
  for (const Shape& s : {shape({50, 90}), shape({7, 30, 30})}) {
    std::vector<std::int32_t> x(count_of(s));
    std::vector<std::int64_t> wide(x.size());
    Random r(7);
    for (const int bits : {4, 20, 31, 32}) {
      SCOPED_TRACE(bits);
      const auto smooth = field<double>(s, 0.02, 8);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto n =
            static_cast<std::int64_t>(smooth[i] * 100) + static_cast<std::int64_t>(r.bits() >> (64 - bits)) / 8;
        x[i] = static_cast<std::int32_t>(bits == 32 ? static_cast<std::int64_t>(r.bits()) : n);
        wide[i] = bits == 32 ? static_cast<std::int64_t>(r.bits()) : n;
      }
      const Stream a = expect_good(x, s, 1), b = expect_good(wide, s, 1);
      EXPECT_EQ(decoded<std::int32_t>(a), x);
      EXPECT_EQ(decoded<std::int64_t>(b), wide);
      EXPECT_TRUE(bits > 4 || (is_shaped(a) && is_shaped(b)));
    }
  }
}

TEST(ShapedHalves, KeepTheBound) {
  const Shape s = shape({90, 100});
  const auto x = field<float>(s, 0.5, 9);
  for (const Type t : {Type::f16, Type::bf16}) {
    std::vector<std::uint16_t> h(x.size()), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) h[i] = t == Type::f16 ? round_f16(x[i]) : round_bf16(x[i]);
    for (std::size_t i = 0; i < 40; ++i) h[i * i] = static_cast<std::uint16_t>(0xfff0 + i % 16);
    const Stream a = shaped_raw(t, h.data(), s, 1);
    EXPECT_TRUE(is_shaped(a));
    EXPECT_EQ(validate(a), Status::ok) << message();
    ASSERT_EQ(decompress(a, y.data(), y.size()), Status::ok) << message();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_TRUE(h[i] == y[i] || kept(t, h[i], y[i], 1)) << i;
    on_every_instruction_set([&](const Options& o, const char*) {
      std::vector<std::uint16_t> z(x.size());
      EXPECT_EQ(shaped_raw(t, h.data(), s, 1, o), a);
      ASSERT_EQ(decompress(a, z.data(), z.size(), o), Status::ok) << message();
      EXPECT_EQ(y, z);
    });
  }
}

TEST(ShapedValues, MayLieAnywhere) {
  const Shape s = shape({30, 40});
  const auto x = field<float>(s, 0.02, 10);
  const Stream a = shaped(x, s, 0.01);
  Stream raw(x.size() * 4 + 1), back(raw.size());
  std::memcpy(raw.data() + 1, x.data(), x.size() * 4);
  EXPECT_EQ(shaped_raw(Type::f32, raw.data() + 1, s, 0.01), a);
  ASSERT_EQ(decompress(a, back.data() + 1, x.size()), Status::ok);
  EXPECT_EQ(std::memcmp(back.data() + 1, decoded<float>(a).data(), x.size() * 4), 0);
  Stream behind(a);
  behind.insert(behind.end(), 100, std::byte{7});
  EXPECT_EQ(decoded<float>(behind), decoded<float>(a)) << "bytes behind a stream are legal";
}

TEST(ShapedArguments, AreChecked) {
  const std::vector<float> x(24, 1.0f);
  Stream out(1000);
  std::size_t written = 0;
  const auto status = [&](const Shape& s) { return compress_shaped(Type::f32, x.data(), s, 0.5, out, &written); };
  EXPECT_EQ(status(Shape{}), Status::invalid_argument);
  Shape many;
  many.axes = 9;
  EXPECT_EQ(status(many), Status::invalid_argument);
  EXPECT_EQ(status(shape({1ull << 40, 1ull << 40})), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("axis 1"), std::string::npos) << message();
  EXPECT_EQ(compress_shaped(Type::f32, x.data(), shape({4, 6}), 0, out, &written), Status::invalid_bound);
  EXPECT_EQ(compress_shaped(Type::f32, nullptr, shape({4, 6}), 1, out, &written), Status::invalid_argument);
  EXPECT_EQ(compress_shaped(Type::f32, nullptr, shape({4, 0, 6}), 1, out, &written), Status::ok);
  EXPECT_EQ(written, 64u) << "an empty array is a header";
  EXPECT_EQ(status(shape({1})), Status::ok);
}

TEST(ShapedStreams, RefuseOperationsByName) {
  const Shape s = shape({60, 70});
  const auto x = field<float>(s, 0.02, 11);
  const Stream a = shaped(x, s, 0.01), b = compressed(x, 0.01);
  ASSERT_TRUE(is_shaped(a));
  Stream out(combine_bound(Type::f32, 2 * x.size()));
  std::size_t written = 0;
  const auto refused = [](Status status) {
    EXPECT_EQ(status, Status::unsupported);
    EXPECT_NE(std::string(message()).find("shaped stream"), std::string::npos) << message();
  };
  for (const Combine op : {Combine::add, Combine::subtract, Combine::min, Combine::max}) {
    refused(combine(op, a, b, out, &written));
    refused(combine(op, b, a, out, &written));
    refused(combine(op, a, a, out, &written));
  }
  refused(add_values(a, x.data(), x.size(), out, &written));
  refused(scale(a, 2, out, &written));
  refused(slice(a, 3, 5, out, &written));
  refused(concatenate(a, b, out, &written));
  refused(concatenate(b, a, out, &written));
  double fixed = 0, of_dense = 0;
  EXPECT_FALSE(estimate_dense(a, &fixed, &of_dense));
}

TEST(ShapedStreams, ThatDoNotFitAreRefused) {
  const Shape s = shape({60, 70});
  const auto x = field<float>(s, 0.02, 12);
  const Stream a = shaped(x, s, 0.01);
  for (const std::size_t room : {std::size_t{0}, std::size_t{63}, std::size_t{90}, a.size() / 2, a.size() - 1}) {
    Stream out(room);
    std::size_t written = 0;
    EXPECT_EQ(compress_shaped(Type::f32, x.data(), s, 0.01, out, &written), Status::buffer_too_small) << room;
  }
  Stream out(a.size());
  std::size_t written = 0;
  EXPECT_EQ(compress_shaped(Type::f32, x.data(), s, 0.01, out, &written), Status::ok) << message();
  EXPECT_EQ(out, a);
}

// Each byte changed, and each length cut: an error or values, at the edge of mapped memory.
TEST(ShapedStreams, AnyBytesGiveAnErrorOrValues) {
  const Shape s = shape({5, 20, 30});
  auto x = field<float>(s, 0.02, 13);
  Random r(14);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % 30 < 8) x[i] = i % 30 == 3 && r.below(3) == 0 ? 2e20f : 1e20f;
  const Stream a = shaped(x, s, 0.01);
  ASSERT_TRUE(is_shaped(a));
  ASSERT_GT(info_of(a).exceptions, 0u);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t length = (a.size() + page - 1) / page * page;
  auto* const map =
      static_cast<std::byte*>(mmap(nullptr, length + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(map, MAP_FAILED);
  ASSERT_EQ(mprotect(map + length, page, PROT_NONE), 0);
  std::byte* const p = map + length - a.size();
  std::memcpy(p, a.data(), a.size());
  int accepted = 0;
  const auto read = [&](Bytes bytes) {
    Info info;
    const bool valid = validate(bytes) == Status::ok;
    if (inspect(bytes, &info) != Status::ok || info.count > 100000) return;
    Stream y(info.count * size_of(info.type)), z(y.size());
    const Status status = decompress(bytes, y.data(), info.count, with(Isa::reference));
    EXPECT_EQ(decompress(bytes, z.data(), info.count), status);
    EXPECT_TRUE(status != Status::ok || y == z);
    EXPECT_TRUE(!valid || status == Status::ok || status == Status::overflow) << message();
    accepted += valid;
  };
  for (std::size_t at = 0; at < a.size(); ++at)
    for (const std::uint8_t flip : {0x01, 0x10, 0x80, 0xff}) {
      if (at >= 200 && flip != 0x10 && at % 7 != 0) continue;
      p[at] ^= std::byte{flip};
      read({p, a.size()});
      p[at] ^= std::byte{flip};
    }
  EXPECT_GT(accepted, 0);
  for (std::size_t cut = 0; cut < a.size(); ++cut) {
    EXPECT_NE(validate({p + 0, cut}), Status::ok);
    if (cut > 64) {
      const std::uint64_t bytes = cut;
      std::byte before[8];
      std::memcpy(before, p + 48, 8);
      std::memcpy(p + 48, &bytes, 8);
      EXPECT_NE(validate({p, cut}), Status::ok) << cut;
      std::memcpy(p + 48, before, 8);
    }
  }
  munmap(map, length + page);
}

TEST(ShapedStreams, HaveAChecksumOfAll) {
  const Shape s = shape({60, 70});
  const auto x = field<float>(s, 0.02, 15);
  Options o;
  o.checksum = true;
  const Stream a = shaped(x, s, 0.01, o);
  ASSERT_TRUE(is_shaped(a));
  EXPECT_TRUE(info_of(a).checksum);
  EXPECT_EQ(decoded<float>(a), decoded<float>(shaped(x, s, 0.01)));
  std::vector<float> y(x.size());
  for (const std::size_t at : {std::size_t{70}, std::size_t{100}, a.size() / 2, a.size() - 1}) {
    Stream b = a;
    b[at] ^= std::byte{4};
    EXPECT_EQ(validate(b), Status::corrupt_stream) << at;
    EXPECT_EQ(decompress(b, y.data(), y.size()), Status::corrupt_stream) << at;
  }
}

// Sums along axes in any order undo differences, also where they wrap around.
TEST(ShapedDifferences, AreUndoneBySums) {
  Random r(16);
  for (const Shape& s : {shape({5}), shape({1, 1}), shape({7, 3}), shape({2, 300}), shape({4, 5, 6}),
                         shape({3, 1, 70, 41}), shape({2, 3, 2, 1, 2, 3, 2, 5})}) {
    const std::uint64_t n = count_of(s);
    std::vector<std::int32_t> q(n);
    for (auto& v : q) v = static_cast<std::int32_t>(r.bits());
    for (unsigned axes = 0; axes < 1u << (s.axes - 1); ++axes) {
      if (std::popcount(axes) > shaped::kMostDifferences) continue;
      auto d = q;
      shaped::take_differences(s, static_cast<shaped::Axes>(axes), d.data(), nullptr);
      std::vector<std::int32_t> some(n);
      for (std::uint64_t at = 0; at < n; at += 17)
        shaped::differences_at(s, static_cast<shaped::Axes>(axes), q.data(), at,
                               static_cast<int>(std::min<std::uint64_t>(17, n - at)), some.data() + at);
      EXPECT_EQ(some, d);
      shaped::sum_differences(s, static_cast<shaped::Axes>(axes), d.data(), nullptr);
      EXPECT_EQ(d, q);
    }
  }
}

}  // namespace
}  // namespace stretto::codec
