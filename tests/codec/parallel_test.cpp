#include "exactly.hpp"
#include "inputs.hpp"
#include "support.hpp"

namespace stretto::codec {
namespace {

template <class T>
void expect_same_in_parallel(std::size_t kind_a, std::size_t kind_b) {
  const std::size_t n = 2 * 64 * 1024 + 12345;
  const auto all = summands<T>(n, 1e-3, std::max(kind_a, kind_b) + 1, 71);
  const auto &x = all[kind_a], &y = all[kind_b];
  for (const Isa isa : isas()) {
    const Options serial = with(isa);
    const Stream a = compressed(x, 1e-3, serial), b = compressed(y, 1e-3, serial),
                 sum = combined(Combine::add, a, b, serial);
    const auto decoded_sum = decoded<T>(sum, serial);
    for (const int width : {2, 3, 9}) {
      const Parallel parallel = threads(width);
      Options o = serial;
      o.parallel = &parallel;
      ASSERT_TRUE(compressed(x, 1e-3, o) == a) << name(isa) << ", " << width;
      ASSERT_TRUE(combined(Combine::add, a, b, o) == sum) << name(isa) << ", " << width;
      const auto again = decoded<T>(sum, o);
      ASSERT_EQ(std::memcmp(again.data(), decoded_sum.data(), n * sizeof(T)), 0) << name(isa) << ", " << width;
      if (width != 3) continue;
      for (const Combine op : {Combine::subtract, Combine::max})
        ASSERT_TRUE(combined(op, a, b, o) == combined(op, a, b, serial));
      ASSERT_TRUE(with_values(a, y.data(), n, o) == sum);
      ASSERT_TRUE(sliced(a, 777, n - 9999, o) == sliced(a, 777, n - 9999, serial));
      o.checksum = true;
      Options checked = serial;
      checked.checksum = true;
      ASSERT_TRUE(compressed(x, 1e-3, o) == compressed(x, 1e-3, checked));
    }
  }
}

TEST(Parallel, GivesTheBytesOfSerialWork) {
  expect_same_in_parallel<float>(0, 1);
  expect_same_in_parallel<float>(5, 8);
  expect_same_in_parallel<double>(2, 7);
}

TEST(Parallel, GivesTheBytesOfSerialWorkWhereSumsWiden) { expect_same_in_parallel<float>(10, 0); }

// Where room is scarce all is done in one part, and gives the same bytes: so it must be seen that it is not.
TEST(Parallel, WorkIsSharedOutWhereTheOutputHasTheRoomThatIsSaidToSuffice) {
  const std::size_t n = 2 * 64 * 1024 + 12345;
  const auto all = summands<float>(n, 1e-3, 2, 5);
  int runs = 0;
  Parallel parallel;
  parallel.width = 3;
  parallel.self = &runs;
  parallel.run = [](void* self, int parts, void (*task)(void*, int), void* arg) {
    ++*static_cast<int*>(self);
    for (int i = parts; i-- > 0;) task(arg, i);
  };
  Options o;
  o.parallel = &parallel;
  const Stream a = compressed(all[0], 1e-3), b = compressed(all[1], 1e-3);
  EXPECT_TRUE(compressed(all[0], 1e-3, o) == a);
  EXPECT_EQ(runs, 1);
  Stream sum(combine_bound(Type::f32, n));
  std::size_t written = 0;
  ASSERT_EQ(combine(Combine::add, a, b, sum, &written, o), Status::ok) << message();
  sum.resize(written);
  EXPECT_TRUE(sum == combined(Combine::add, a, b));
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(with_values(a, all[1].data(), n, o) == sum);
  EXPECT_EQ(runs, 3);
}

// What the parts wrote closes up at the end: by all threads, unless pieces stand where others belong, as they do with many parts.
TEST(Parallel, LongStreamsCloseUpToTheBytesOfSerialWork) {
  constexpr double kEps = 1.5e-4;
  Random r(72);
  std::vector<float> x(2'000'000);
  for (auto& v : x) v = static_cast<float>(r.symmetric());
  const Stream a = compressed(x, kEps), sum = combined(Combine::add, a, a);
  for (const int width : {2, 3, 7}) {
    const Parallel parallel = threads(width);
    Options o;
    o.parallel = &parallel;
    EXPECT_TRUE(compressed(x, kEps, o) == a) << width;
    EXPECT_TRUE(combined(Combine::add, a, a, o) == sum) << width;
    EXPECT_TRUE(with_values(a, x.data(), x.size(), o) == sum) << width;
  }
}

TEST(Parallel, OutputsTooSmallAreRefusedAndTightOnesServe) {
  const std::size_t n = 3 * 64 * 1024;
  const auto x = summands<float>(n, 1e-3, 2, 5)[1];
  const Parallel parallel = threads(3);
  Options o;
  o.parallel = &parallel;
  const Stream a = compressed(x, 1e-3);
  std::size_t written = 0;
  Stream out(a.size());
  ASSERT_EQ(compress(Type::f32, x.data(), n, 1e-3, out, &written, o), Status::ok) << message();
  EXPECT_TRUE(out == a);
  out.resize(a.size() - 1);
  EXPECT_EQ(compress(Type::f32, x.data(), n, 1e-3, out, &written, o), Status::buffer_too_small);
}

TEST(Parallel, MalformedGroupsAreFoundInEveryPart) {
  const std::size_t n = 3 * 64 * 1024;
  const auto x = summands<float>(n, 1e-3, 2, 5)[1];
  const Parallel parallel = threads(3);
  Options o;
  o.parallel = &parallel;
  Stream a = compressed(x, 1e-3);
  a[a.size() - 1] = std::byte{0xff};  // a width of the last group
  std::vector<float> y(n);
  EXPECT_EQ(decompress(a, y.data(), n, o), Status::corrupt_stream);
}

}  // namespace
}  // namespace stretto::codec
