// Contests end, alike on all ranks, with the way that is usually the fastest.
#include "api/contest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

using stretto::api::Contest;

namespace {

// Runs a contest on several ranks; seconds(rank, contestant, round). Expects the same turns on all ranks, and returns the winner.
std::size_t winner(std::size_t contestants, int ranks, const std::function<double(int, std::size_t, int)>& seconds,
                   std::size_t* calls = nullptr) {
  std::vector<Contest> all(static_cast<std::size_t>(ranks), Contest(contestants));
  std::size_t made = 0;
  for (int round = 0, before = -1; !all[0].settled() && made < 1000; ++made) {
    const std::size_t now = all[0].turn();
    round += static_cast<int>(now) <= before;
    before = static_cast<int>(now);
    bool look = false;
    for (int r = 0; r < ranks; ++r) {
      Contest& c = all[static_cast<std::size_t>(r)];
      EXPECT_EQ(c.turn(), now);
      look = c.took(seconds(r, now, round));
    }
    if (!look) continue;
    std::vector<double> slowest = all[0].times();
    for (const Contest& c : all) {
      const std::vector<double> own = c.times();
      EXPECT_EQ(own.size(), slowest.size());
      std::transform(own.begin(), own.end(), slowest.begin(), slowest.begin(),
                     [](double a, double b) { return std::max(a, b); });
    }
    for (Contest& c : all) c.compare(slowest);
  }
  for (const Contest& c : all) EXPECT_TRUE(c.settled());
  for (const Contest& c : all) EXPECT_EQ(c.turn(), all[0].turn());
  if (calls) *calls = made;
  return all[0].turn();
}

constexpr double us = 1e-6;

}  // namespace

TEST(Contest, TheFirstRoundDoesNotCount) {
  EXPECT_EQ(
      winner(3, 2,
             [](int, std::size_t c, int round) { return round == 0 ? 1 + 10.0 * (c == 2) : (c == 2 ? 70 : 120) * us; }),
      2u);
}

TEST(Contest, OneDisturbedTurnDecidesNothing) {
  for (int disturbed = 0; disturbed < 6; ++disturbed)
    EXPECT_EQ(winner(4, 3,
                     [=](int r, std::size_t c, int round) {
                       const double usual = (c == 3 ? 70 : c == 0 ? 100 : 120) * us;
                       return round == disturbed && c == 3 && r == 1 ? 20 * usual : usual;
                     }),
              3u)
        << "in round " << disturbed;
}

TEST(Contest, OneLuckyTurnDecidesNothing) {
  for (int lucky = 0; lucky < 6; ++lucky)
    EXPECT_EQ(winner(3, 1,
                     [=](int, std::size_t c, int round) {
                       return (c == 1 ? 80 : round == lucky && c == 2 ? 40 : 130) * us;
                     }),
              1u)
        << "in round " << lucky;
}

TEST(Contest, TheSlowestRankCounts) {
  EXPECT_EQ(winner(2, 5, [](int r, std::size_t c, int) { return (c == 0 ? 90 : r == 3 ? 140 : 30) * us; }), 0u);
}

TEST(Contest, NumberZeroWinsWhatIsClose) {
  EXPECT_EQ(winner(3, 2, [](int, std::size_t c, int) { return (c == 0 ? 100 : 97) * us; }), 0u);
  EXPECT_EQ(winner(3, 2, [](int, std::size_t c, int) { return (c == 1 ? 70 : 100) * us; }), 1u);
}

TEST(Contest, WhatIsClearTakesThreeRoundsAndWhatIsCloseSixAtMost) {
  std::size_t calls = 0;
  EXPECT_EQ(winner(
                4, 2, [](int, std::size_t c, int) { return (c == 1 ? 50 : 100) * us; }, &calls),
            1u);
  EXPECT_EQ(calls, 12u);
  EXPECT_EQ(
      winner(
          4, 2,
          [](int, std::size_t c, int round) { return (100 + 3 * ((c + static_cast<std::size_t>(round)) % 4)) * us; },
          &calls),
      0u);
  EXPECT_EQ(calls, 4 * Contest::most_rounds);
  EXPECT_EQ(winner(
                4, 2, [](int, std::size_t, int) { return 0.5; }, &calls),
            0u)
      << "long turns";
  EXPECT_EQ(calls, 12u);
}

TEST(Contest, AWayThatFailsLosesAndWhereAllFailNumberZeroStays) {
  constexpr double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(winner(3, 2, [=](int r, std::size_t c, int) { return c != 2 && r == 1 ? never : 100 * us; }), 2u);
  EXPECT_EQ(winner(3, 2, [=](int, std::size_t, int) { return never; }), 0u);
}
