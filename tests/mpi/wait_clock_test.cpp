// How the report accounts for the program's waits, by times that are given.
#include <gtest/gtest.h>

#include "mpi/requests/wait_clock.hpp"

using stretto::mpi::hidden;
using stretto::mpi::WaitClock;

namespace {

// The hidden part of a collective of 8 s that begins at 100, with a start of no time, and a wait that begins `work`
// seconds later. Its end is noticed inside that wait.
double share(WaitClock& clock, double work) {
  const double begun = clock.total(100);
  clock.enter(100 + work);
  const double noticed = std::max(108.0, 100 + work);
  const double part = hidden(8, 0, clock.total(noticed) - begun) / 8;
  clock.leave(noticed);
  return part;
}

}  // namespace

TEST(WaitClock, AWaitThatNoticesTheEndIsCounted) {
  WaitClock none, half, all, more;
  EXPECT_EQ(share(none, 0), 0);
  EXPECT_EQ(share(half, 4), 0.5);
  EXPECT_EQ(share(all, 8), 1);
  EXPECT_EQ(share(more, 20), 1);
}

TEST(WaitClock, ALoopOfTestsIsCountedTestByTest) {
  WaitClock clock;
  for (int i = 0; i < 4; ++i) {  // one second of work, then one of testing
    clock.enter(2 * i + 1);
    clock.leave(2 * i + 2);
  }
  EXPECT_EQ(hidden(8, 0, clock.total(8)), 4);
}

TEST(WaitClock, AStartIsNoWorkOfTheProgram) { EXPECT_EQ(hidden(8, 6, 1), 1); }

TEST(WaitClock, ThreadsThatWaitAtOnceCountOnce) {
  WaitClock clock;
  clock.enter(1);
  clock.enter(2);
  clock.leave(3);
  EXPECT_EQ(clock.total(4), 3);
  clock.leave(5);
  EXPECT_EQ(clock.total(9), 4);
}

TEST(WaitClock, CollectivesThatEndInOneWaitAreChargedItOnce) {
  WaitClock clock;
  const double first = clock.total(0), second = clock.total(1);
  clock.enter(2);
  EXPECT_EQ(clock.charge(first, 6), 4);
  EXPECT_EQ(clock.charge(second, 7), 1);
  clock.leave(8);
  EXPECT_EQ(clock.charge(clock.total(9), 9), 0);
}
