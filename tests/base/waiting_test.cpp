#include "base/waiting.hpp"

#include <time.h>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>

namespace stretto {
namespace {

TEST(WaitMode, IsOneOfThreeWords) {
  WaitMode mode = WaitMode::spin;
  EXPECT_EQ(parse_wait_mode("", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::automatic);
  EXPECT_EQ(parse_wait_mode("sleep", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::sleep);
  EXPECT_EQ(parse_wait_mode("spin", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::spin);
  EXPECT_EQ(parse_wait_mode("auto", &mode), Status::ok);
  EXPECT_EQ(mode, WaitMode::automatic);
}

TEST(WaitMode, NamesAWordThatItDoesNotKnow) {
  WaitMode mode = WaitMode::spin;
  EXPECT_EQ(parse_wait_mode("doze", &mode), Status::invalid_argument);
  EXPECT_EQ(std::string(message()), "STRETTO_WAIT is 'doze'; it takes auto, spin or sleep");
}

TEST(Waiting, SleepsLongerTheLongerItHasWaited) {
  Waiting waiting(false, Wakes::by_the_peer);
  const double begin = 100;
  EXPECT_EQ(waiting.next(begin), 0);
  const double first = waiting.next(begin + 1e-3);
  EXPECT_GT(first, 0);
  EXPECT_LE(first, 1e-4);
  EXPECT_GT(waiting.next(begin + 10e-3), first);
  EXPECT_EQ(waiting.next(begin + 1), kLongestSleep);
}

TEST(Waiting, SleepsInOneGoWhereAllWakesIt) {
  Waiting waiting(false, Wakes::by_all, 0.5);
  EXPECT_EQ(waiting.next(100), 0);
  EXPECT_EQ(waiting.next(100.001), 0.5);
  waiting.reset();
  EXPECT_EQ(waiting.next(200), 0);
}

TEST(Waiting, ForMessagesSleepsAtOnceInABackgroundThread) {
  std::thread([] {
    wait_in_background(true);
    EXPECT_EQ(Waiting(true, Wakes::by_messages, 0.5).next(100), 0.5);
    EXPECT_EQ(Waiting(true, Wakes::by_all, 0.5).next(100), 0);
    wait_in_background(false);
    EXPECT_EQ(Waiting(true, Wakes::by_messages, 0.5).next(100), 0);
  }).join();
}

TEST(Waiting, DelaysByAFiftiethAtMostWhereNothingWakesIt) {
  Waiting waiting(false);
  const double begin = 100;
  EXPECT_EQ(waiting.next(begin), 0);
  for (const double waited : {1e-3, 2e-3, 3e-3, 0.01, 0.1, 1.0})
    EXPECT_LE(waiting.next(begin + waited), 0.0201 * waited);
}

// Two checks of more than 0.4 ms: the core was another program's. Time between two waits is the caller's own.
// Checks come every 0.5 ms. Each case has a thread of its own, since a thread keeps the signs that it has found.
void expect_sleep(bool sleeps, const std::function<void(Waiting&, double)>& before) {
  std::thread([&] {
    Waiting waiting(true);
    waiting.check_yields();
    for (int check = 0; check < 4; ++check) {
      const double now = 100 + 0.5e-3 * check;
      before(waiting, now);
      EXPECT_EQ(waiting.next(now), 0);
    }
    EXPECT_EQ(waiting.next(100 + 1.6e-3) > 0, sleeps);
  }).join();
}

TEST(Waiting, FindsLongAbsencesInChecksThatYield) {
  expect_sleep(true, [](Waiting&, double) {});
}

TEST(Waiting, DoesNotTakeOtherWorkForAnAbsence) {
  expect_sleep(false, [](Waiting& waiting, double now) { waiting.resume(now); });
}

TEST(Waiting, DoesNotTakeAnMpiAtWorkForAnAbsence) {
  const auto ran = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  expect_sleep(false, [&](Waiting&, double) {
    for (const double begun = ran(); ran() - begun < 0.5e-3;) {
    }
  });
}

// From Linux 6.18 on a program of the thread's own group comes more often.
TEST(Waiting, TakesRareLongYieldsForAnotherGroupsShare) {
  expect_sleep(!yields_make_way(), [](Waiting& waiting, double now) {
    waiting.resume(now - 0.45e-3);
    for (int brief = 1; brief <= 16; ++brief) EXPECT_EQ(waiting.next(now - 0.45e-3 + 1e-6 * brief), 0);
  });
}

TEST(CoreWasTaken, ByALongAbsenceAlone) {
  const SchedulerSample before{3, 0.5, 100};
  EXPECT_TRUE(core_was_taken(before, {4, 0.503, 100.005}));
  EXPECT_FALSE(core_was_taken(before, {40, 0.5001, 100.0002}));
  EXPECT_FALSE(core_was_taken(before, {3, 0.503, 100.005}));
}

TEST(CoreWasTaken, NotByManyShortAbsences) { EXPECT_FALSE(core_was_taken({3, 0.5, 100}, {4, 0.51, 100.1})); }

TEST(CoreWasTaken, ByAnySwitchWhereTheKernelTellsNoTimes) {
  EXPECT_TRUE(core_was_taken({3, -1, 100}, {4, -1, 101}));
  EXPECT_FALSE(core_was_taken({3, -1, 100}, {3, -1, 101}));
}

}  // namespace
}  // namespace stretto
