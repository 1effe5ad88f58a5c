// Property: a timeline loses no call and no second, however long the program runs and however timelines are put
// together.
#include "mpi/report/timeline.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace stretto::mpi {
namespace {

template <typename Counts>
double total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

TEST(Timeline, CallsCountWhereTheyEndedAndSecondsWhereTheyPassed) {
  Timeline t;
  t.add(0.0025, 0.002, 3);
  EXPECT_EQ(t.calls()[2], 3u);
  EXPECT_NEAR(t.seconds()[0], 0.0005, 1e-12);
  EXPECT_NEAR(t.seconds()[1], 0.001, 1e-12);
  EXPECT_NEAR(t.seconds()[2], 0.0005, 1e-12);
}

TEST(Timeline, StretchesDoubleAsTheProgramGoesOn) {
  Timeline t;
  t.add(0.0305, 0, 1);
  t.add(0.0315, 0, 1);
  t.add(0.1, 0, 1);
  EXPECT_DOUBLE_EQ(t.stretch(), 2 * Timeline::kShortest);
  EXPECT_EQ(t.calls()[15], 2u);
  EXPECT_EQ(t.calls()[50], 1u);
}

TEST(Timeline, NothingIsLostWhenTimelinesOfAnyLengthAreAdded) {
  std::mt19937_64 random(7);
  for (const double longest : {0.01, 1.0, 1e4, 1e9}) {
    Timeline all;
    double seconds = 0, calls = 0;
    for (const double length : {longest, 0.05, longest / 7}) {
      Timeline one;
      for (int i = 0; i < 200; ++i) {
        const double end = std::uniform_real_distribution(0.0, length)(random);
        const double took = std::uniform_real_distribution(0.0, end)(random);
        one.add(end, took, 2);
        seconds += took;
        calls += 2;
      }
      all.add(one);
    }
    EXPECT_EQ(total(all.calls()), calls) << longest;
    EXPECT_NEAR(total(all.seconds()), seconds, 1e-9 * seconds) << longest;
  }
}

TEST(Timeline, ACallThatBeganBeforeTheProgramHasTheTimeSince) {
  Timeline t;
  t.add(0.0015, 10, 1);
  t.add(-1, 1, 1);
  EXPECT_NEAR(total(t.seconds()), 0.0015, 1e-12);
  EXPECT_EQ(total(t.calls()), 2);
}

TEST(Timeline, CountsOfAnotherProcessAreTakenAsFarAsTheyFit) {
  Timeline t = Timeline::empty(4 * Timeline::kShortest);
  t.put(63, 2, 0.5);
  t.put(64, 9, 9);
  EXPECT_DOUBLE_EQ(t.stretch(), 4 * Timeline::kShortest);
  EXPECT_EQ(total(t.calls()), 2);
  t.lengthen(8 * Timeline::kShortest);
  EXPECT_EQ(t.calls()[31], 2u);
}

}  // namespace
}  // namespace stretto::mpi
