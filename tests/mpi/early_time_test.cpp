#include "mpi/process/early_time.hpp"

#include <gtest/gtest.h>

using std::chrono::microseconds;
using stretto::mpi::EarlyTime;

TEST(EarlyTime, making_takes_a_fiftieth_of_short_calls) {
  EarlyTime t;
  for (int k = 0; k < 1000; ++k) t.add(k % 2 == 0 ? 0 : EarlyTime::longest_short, microseconds(50));
  EXPECT_EQ(t.affordable(), microseconds(1000));
}

TEST(EarlyTime, making_takes_a_fifth_of_long_calls) {
  EarlyTime t;
  t.add(EarlyTime::longest_short + 1, microseconds(500));
  EXPECT_EQ(t.affordable(), microseconds(100));
  t.add(8, microseconds(500));
  EXPECT_EQ(t.affordable(), microseconds(110));
}

TEST(EarlyTime, nothing_is_affordable_before_a_call) { EXPECT_EQ(EarlyTime().affordable(), microseconds(0)); }
