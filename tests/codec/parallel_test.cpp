#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "../sanitized.hpp"
#include "codec/driver.hpp"
#include "codec/thread_pool.hpp"
#include "inputs.hpp"
#include "sums/exactly.hpp"
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
      if (kSanitized && width != 3) continue;
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

// Runs parts one after the other, the last one first, and says how often it was asked to.
Parallel counted(int width, int* runs) {
  Parallel parallel;
  parallel.width = width;
  parallel.self = runs;
  parallel.run = [](void* self, int parts, void (*task)(void*, int), void* arg) {
    ++*static_cast<int*>(self);
    for (int i = parts; i-- > 0;) task(arg, i);
  };
  return parallel;
}

// With scarce room the work runs in one part with the same bytes, so the test must check that it does not.
TEST(Parallel, WorkIsSplitWhereTheOutputHasTheDocumentedRoom) {
  const std::size_t n = 2 * 64 * 1024 + 12345;
  const auto all = summands<float>(n, 1e-3, 2, 5);
  int runs = 0;
  const Parallel parallel = counted(3, &runs);
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
  // Less than any bound, more than the result.
  Stream little(sum.size() * 3 / 2);
  for (const bool fused : {false, true}) {
    const Status s =
        fused ? add_values(a, all[1].data(), n, little, &written, o) : combine(Combine::add, a, b, little, &written, o);
    ASSERT_EQ(s, Status::ok) << message();
    EXPECT_TRUE(written == sum.size() && std::equal(sum.begin(), sum.end(), little.begin()));
    EXPECT_EQ(runs, fused ? 5 : 4);
  }
}

// The parts' outputs close up at the end: by all threads, unless destinations overlap pending sources, as with many
// parts.
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

// Parts share a tight output by their estimated need, too little for some: the second half of the second field takes
// far more than the first.
TEST(Parallel, OutputsTooSmallAreRefusedAndTightOnesServe) {
  const std::size_t n = 8 * 64 * 1024 + 100;
  auto all = summands<float>(n, 1e-3, 6, 5);
  std::fill_n(all[1].begin(), n / 2, 0.0f);
  const auto expect = [](const Stream& wanted, const auto& call) {
    std::size_t written = 0;
    Stream out(wanted.size());
    ASSERT_EQ(call(out, &written), Status::ok) << message();
    EXPECT_TRUE(out == wanted);
    out.resize(wanted.size() - 1);
    EXPECT_EQ(call(out, &written), Status::buffer_too_small);
  };
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{5}}) {
    const Stream a = compressed(all[k], 1e-3), b = compressed(all[0], 1e-3), sum = combined(Combine::add, a, b);
    for (const int width : {1, 2, 3, 7}) {
      SCOPED_TRACE(std::to_string(k) + ", " + std::to_string(width));
      const Parallel parallel = threads(width);
      Options o;
      o.parallel = &parallel;
      expect(a, [&](Stream& out, std::size_t* written) {
        return compress(Type::f32, all[k].data(), n, 1e-3, out, written, o);
      });
      expect(sum, [&](Stream& out, std::size_t* written) { return combine(Combine::add, a, b, out, written, o); });
      expect(sum, [&](Stream& out, std::size_t* written) { return add_values(a, all[0].data(), n, out, written, o); });
    }
  }
}

TEST(Parallel, PartsShareTheRoomThereIs) {
  std::uint8_t memory[1000];
  const std::size_t need[] = {100, 300};
  std::uint8_t* start[3];
  const auto at = [&](int i) { return start[i] - memory; };
  share_room(need, 2, memory, memory + 400, start);  // just enough
  EXPECT_TRUE(at(0) == 0 && at(1) == 100 && at(2) == 400);
  share_room(need, 2, memory, memory + 200, start);  // half of it
  EXPECT_TRUE(at(0) == 0 && at(1) <= 52 && at(1) >= 48 && at(2) == 200);
  share_room(need, 2, memory, memory + 800, start);  // twice as much
  EXPECT_TRUE(at(0) == 0 && at(1) == 200 && at(2) == 800);
  share_room(need, 2, memory, memory, start);  // nothing
  EXPECT_TRUE(at(0) == 0 && at(1) == 0 && at(2) == 0);
  const std::size_t nothing[] = {0, 0};
  share_room(nothing, 2, memory, memory + 100, start);
  EXPECT_TRUE(at(0) == 0 && at(1) == 0 && at(2) == 0);
}

// Distances that are longer than the pieces, about a third of them, and too short to be worth threads.
TEST(Parallel, PiecesCloseUpWhereverTheyStand) {
  constexpr std::size_t kPiece = 4'000'003, kMost = 2 * kPiece + 6'000'000;
  std::vector<std::uint8_t> before(kMost);
  Random r(73);
  for (auto& v : before) v = static_cast<std::uint8_t>(r.bits());
  for (const std::size_t distance :
       {std::size_t{5'000'000}, std::size_t{1'300'000}, std::size_t{1000}, std::size_t{0}}) {
    auto got = before, wanted = before;
    const auto pieces = [&](std::uint8_t* p) {
      return std::vector<Piece>{{p, p + distance, kPiece}, {p + kPiece, p + kPiece + distance + 500, kPiece}};
    };
    for (const Piece& p : pieces(wanted.data())) std::memmove(p.to, p.from, p.bytes);
    int runs = 0;
    const Parallel parallel = counted(3, &runs);
    const auto all = pieces(got.data());
    close_up(all.data(), 2, &parallel);
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + 2 * kPiece, wanted.begin())) << distance;
    EXPECT_EQ(runs > 0, distance > 1000) << distance;
  }
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

// Adds each part's number plus one; a part that runs twice, or after its call, shows.
struct Sum {
  std::atomic<int> total{0};
  std::atomic<bool> over{false}, late{false};
  static void add(void* self, int i) {
    auto& s = *static_cast<Sum*>(self);
    if (s.over) s.late = true;
    s.total += i + 1;
  }
};

void expect_all_parts(const Parallel& parallel, int parts) {
  Sum sum;
  parallel.run(parallel.self, parts, Sum::add, &sum);
  sum.over = true;
  EXPECT_EQ(sum.total, parts * (parts + 1) / 2);
  EXPECT_FALSE(sum.late);
}

TEST(ThreadPool, RunsEachPartOnceBeforeItsCallReturns) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.parallel().width, 4);
  for (int call = 0; call < 2000; ++call) expect_all_parts(pool.parallel(), 1 + call % 9);
}

TEST(ThreadPool, ServesCallersThatComeTogether) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int call = 0; call < 500; ++call) expect_all_parts(pool.parallel(), 5);
    });
  for (auto& c : callers) c.join();
}

TEST(ThreadPool, IsSharedByThoseWhoAskForOneWidth) {
  EXPECT_EQ(ThreadPool::shared(1), nullptr);
  const auto first = ThreadPool::shared(2);
  EXPECT_EQ(ThreadPool::shared(2), first);
  EXPECT_NE(ThreadPool::shared(3), first);
}

// The threads of the parent are not in its child.
TEST(ThreadPool, ServesAForkedChildWithoutThreads) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer permits no new threads after a fork of several";
#endif
  auto pool = ThreadPool::shared(3);
  expect_all_parts(pool->parallel(), 7);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    expect_all_parts(pool->parallel(), 7);
    const auto own = ThreadPool::shared(3);
    const bool fresh = own != pool;
    pool.reset();
    expect_all_parts(own->parallel(), 7);
    _exit(fresh && !testing::Test::HasFailure() ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace stretto::codec
