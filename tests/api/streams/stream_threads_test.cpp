// Calls on streams with several threads: equal bytes for every number of threads, also if the system gives none. The
// number applies only to the requesting thread.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>

#include "../ranks.hpp"
#include "stretto/stretto_stream.h"

using namespace api_test;

namespace {

std::atomic<int> started{0}, allowed{1 << 30};

}  // namespace

// Every thread of this process starts here.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* arg) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (started.fetch_add(1) >= allowed) return EAGAIN;
  return real(thread, attributes, start, arg);
}

namespace {

using Stream = std::vector<std::byte>;
constexpr std::size_t kN = 5 * 65536 + 777;

// The outputs of all functions of streams, one behind the other.
Stream all_outputs() {
  const auto x = wave(0, kN), z = wave(1, kN);
  const std::size_t room = stretto_combine_bound(STRETTO_F32, 2 * kN);
  Stream all, out(room);
  std::size_t written = 0;
  const auto stream = [&](stretto_status s) {
    EXPECT_EQ(s, STRETTO_OK) << stretto_message();
    const Stream one(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
    all.insert(all.end(), one.begin(), one.end());
    return one;
  };
  const auto values = [&](const auto& v) {
    const auto* p = reinterpret_cast<const std::byte*>(v.data());
    all.insert(all.end(), p, p + v.size() * sizeof v[0]);
  };
  void* const o = out.data();
  const Stream a = stream(stretto_compress(STRETTO_F32, x.data(), kN, 1e-4, o, room, &written, STRETTO_CHECKSUM));
  const Stream b = stream(stretto_compress(STRETTO_F32, z.data(), kN, 1e-4, o, room, &written, 0));
  for (const auto combine : {stretto_stream_add, stretto_stream_subtract, stretto_stream_min, stretto_stream_max,
                             stretto_stream_concatenate})
    stream(combine(a.data(), a.size(), b.data(), b.size(), o, room, &written, 0));
  stream(stretto_stream_add_values(a.data(), a.size(), z.data(), kN, o, room, &written, 0));
  stream(stretto_stream_scale(a.data(), a.size(), -3, o, room, &written, 0));
  stream(stretto_stream_slice(a.data(), a.size(), 99, kN - 1000, o, room, &written, 0));
  std::vector<float> y(kN);
  EXPECT_EQ(stretto_decompress(a.data(), a.size(), y.data(), kN, 1), STRETTO_OK);
  values(y);
  EXPECT_EQ(stretto_decompress_slice(a.data(), a.size(), 5, kN - 7, y.data(), 2), STRETTO_OK);
  values(y);
  std::vector<double> range(2);
  EXPECT_EQ(stretto_value_range(STRETTO_F32, x.data(), kN, &range[0], &range[1]), STRETTO_OK);
  values(range);
  std::uint64_t ignored = 0;
  EXPECT_EQ(stretto_value_range_below(STRETTO_F32, x.data(), kN, 1, &range[0], &range[1], &ignored), STRETTO_OK);
  range.push_back(static_cast<double>(ignored));
  values(range);
  return all;
}

class StreamThreads : public testing::Test {
 protected:
  void TearDown() override {
    allowed = 1 << 30;
    EXPECT_EQ(stretto_use_threads(1), STRETTO_OK);
  }
  int starts_of(const std::function<void()>& work) {
    started = 0;
    work();
    return started;
  }
};

TEST_F(StreamThreads, GiveTheBytesOfOne) {
  const Stream alone = all_outputs();
  for (const int threads : {2, 3, STRETTO_THREADS_MAX, 1}) {
    ASSERT_STRETTO_OK(stretto_use_threads(threads));
    EXPECT_TRUE(all_outputs() == alone) << threads;
  }
}

TEST_F(StreamThreads, AreAsManyAsWereAskedForAndNoneForShortInputs) {
  const auto x = wave(0, kN);
  Stream out(stretto_compress_bound(STRETTO_F32, kN));
  std::size_t written = 0;
  const auto compress = [&](std::size_t count) {
    return starts_of([&] {
      EXPECT_EQ(stretto_compress(STRETTO_F32, x.data(), count, 1e-4, out.data(), out.size(), &written, 0), STRETTO_OK);
    });
  };
  EXPECT_EQ(compress(kN), 0);  // as it is at first
  ASSERT_STRETTO_OK(stretto_use_threads(3));
  EXPECT_EQ(compress(kN), 2);
  EXPECT_EQ(compress(65536), 0);
  ASSERT_STRETTO_OK(stretto_use_threads(100));
  EXPECT_EQ(compress(kN), 5);
  ASSERT_STRETTO_OK(stretto_use_threads(1));
  EXPECT_EQ(compress(kN), 0);
}

TEST_F(StreamThreads, ThatTheSystemDoesNotGiveAreDoneWithout) {
  const Stream alone = all_outputs();
  ASSERT_STRETTO_OK(stretto_use_threads(4));
  for (const int given : {0, 1}) {
    started = 0;
    allowed = given;
    EXPECT_TRUE(all_outputs() == alone) << given;
    EXPECT_GT(started, given);
  }
}

TEST_F(StreamThreads, AreOfTheThreadThatAsked) {
  const Stream alone = all_outputs();
  ASSERT_STRETTO_OK(stretto_use_threads(2));
  std::thread other([&] {
    EXPECT_EQ(starts_of([&] { EXPECT_TRUE(all_outputs() == alone); }), 0);
    EXPECT_EQ(stretto_use_threads(3), STRETTO_OK);
  });
  other.join();
  EXPECT_GT(starts_of([&] { EXPECT_TRUE(all_outputs() == alone); }), 0);
}

TEST_F(StreamThreads, OfNoNumberAreRefusedAndNothingChanges) {
  ASSERT_STRETTO_OK(stretto_use_threads(2));
  for (const int bad : {0, -1, STRETTO_THREADS_MAX + 1}) {
    EXPECT_EQ(stretto_use_threads(bad), STRETTO_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(stretto_message()), "threads is " + std::to_string(bad) + "; 1 to 256");
  }
  EXPECT_GT(starts_of([&] { all_outputs(); }), 0);
}

}  // namespace
