#include "base/progress/fiber.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <numeric>
#include <thread>
#include <vector>

namespace stretto {
namespace {

// On both sides of a suspension the compiler takes it for the same.
[[gnu::noinline]] std::thread::id this_thread() {
  asm volatile("");
  return std::this_thread::get_id();
}

// Counts, and suspends after each.
struct Counter {
  Fiber fiber;
  int count = 0, end = 3;
  int rounding = -1;
  std::vector<std::thread::id> threads;

  void begin() {
    fiber.begin(
        [](void* self) noexcept {
          auto& c = *static_cast<Counter*>(self);
          c.rounding = std::fegetround();
          while (++c.count < c.end) {
            c.threads.push_back(this_thread());
            c.fiber.suspend();
          }
        },
        this);
  }
};

TEST(Fiber, ResumesWhereItSuspendedUntilItEnds) {
  Counter c;
  c.begin();
  EXPECT_EQ(c.count, 0);
  EXPECT_FALSE(c.fiber.resume());
  EXPECT_EQ(c.count, 1);
  EXPECT_FALSE(c.fiber.resume());
  EXPECT_TRUE(c.fiber.resume());
  EXPECT_EQ(c.count, 3);
}

TEST(Fiber, StartsAgainAfterItsEnd) {
  Counter c;
  for (int i = 0; i < 100; ++i) {
    c.count = 0;
    c.begin();
    while (!c.fiber.resume()) {
    }
    ASSERT_EQ(c.count, 3);
  }
}

TEST(Fiber, ResumesOnAnyThread) {
  Counter c;
  c.begin();
  c.fiber.resume();
  std::thread([&] { c.fiber.resume(); }).join();
  ASSERT_EQ(c.threads.size(), 2u);
  EXPECT_NE(c.threads[0], c.threads[1]);
  EXPECT_TRUE(c.fiber.resume());
}

TEST(Fiber, KeepsItsCallersRoundingModeAndNoOtherThreads) {
  Counter c;
  c.begin();
  std::fesetround(FE_DOWNWARD);
  c.fiber.resume();
  EXPECT_EQ(c.rounding, FE_TONEAREST);
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
  while (!c.fiber.resume()) {
  }
}

// As deep as the codec and the reductions go, with room to spare.
TEST(Fiber, HasItsOwnStack) {
  struct Deep {
    Fiber fiber;
    int sum = 0;
  } deep;
  deep.fiber.begin(
      [](void* self) noexcept {
        auto& d = *static_cast<Deep*>(self);
        volatile char room[100000];
        for (std::size_t i = 0; i < sizeof room; ++i) room[i] = 1;
        d.fiber.suspend();
        for (std::size_t i = 0; i < sizeof room; ++i) d.sum += room[i];
      },
      &deep);
  EXPECT_FALSE(deep.fiber.resume());
  EXPECT_TRUE(deep.fiber.resume());
  EXPECT_EQ(deep.sum, 100000);
}

}  // namespace
}  // namespace stretto
