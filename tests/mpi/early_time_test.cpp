#include "mpi/process/early_time.hpp"

#include <gtest/gtest.h>

using std::chrono::microseconds;
using stretto::mpi::EarlyTime;

namespace {

void take(EarlyTime* t, int calls, std::int64_t bytes, microseconds each) {
  for (int k = 0; k < calls; ++k)
    if (t->samples(bytes)) t->add(bytes, each);
}

}  // namespace

TEST(EarlyTime, MakingTakesAFiftiethOfShortCalls) {
  EarlyTime t;
  take(&t, 770, 0, microseconds(50));
  take(&t, 230, EarlyTime::kLongestShort, microseconds(50));
  take(&t, 1, 0, microseconds(50));
  EXPECT_EQ(t.affordable(), microseconds(1001));
}

TEST(EarlyTime, MakingTakesAFifthOfLongCalls) {
  EarlyTime t;
  take(&t, 1, EarlyTime::kLongestShort + 1, microseconds(500));
  EXPECT_EQ(t.affordable(), microseconds(100));
  take(&t, 7, 8, microseconds(50));
  EXPECT_EQ(t.affordable(), microseconds(107));
}

TEST(EarlyTime, MakingTakesAThirdOfCallsThatShrink) {
  EarlyTime t;
  if (t.samples(20000)) t.add(20000, microseconds(300), true);
  for (int k = 0; k < 7; ++k)
    if (t.samples(2000)) t.add(2000, microseconds(30), true);
  EXPECT_EQ(t.affordable(), microseconds(170));
}

TEST(EarlyTime, OneShortCallInSevenIsTimedAndNotTheFirst) {
  EarlyTime t;
  EXPECT_FALSE(t.samples(8));
  int timed = 0;
  for (int k = 1; k < 70; ++k) timed += t.samples(8);
  EXPECT_EQ(timed, 10);
}

TEST(EarlyTime, NothingIsAffordableBeforeACall) { EXPECT_EQ(EarlyTime().affordable(), microseconds(0)); }
