// A trial ends, alike on all ranks, with the candidate that is usually the fastest.
#include "select/autotuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <functional>
#include <limits>
#include <set>
#include <vector>

using stretto::select::Autotuner;

namespace {

// Runs a trial on several ranks; seconds(rank, candidate, round). Expects the same turns on all ranks, and returns the winner.
std::size_t winner(std::size_t candidates, int ranks, const std::function<double(int, std::size_t, int)>& seconds,
                   std::size_t* calls = nullptr, double expected = 0) {
  std::vector<Autotuner> all(static_cast<std::size_t>(ranks), Autotuner(candidates, expected));
  std::vector<int> turns(candidates, 0);
  std::size_t made = 0;
  for (; !all[0].settled() && made < 1000; ++made) {
    const std::size_t now = all[0].turn();
    turns[now] += all[0].begins() ? 1 : 0;
    const int round = turns[now] - 1;
    bool look = false;
    for (int r = 0; r < ranks; ++r) {
      Autotuner& c = all[static_cast<std::size_t>(r)];
      EXPECT_EQ(c.turn(), now);
      look = c.took(seconds(r, now, round));
    }
    if (!look) continue;
    std::vector<double> slowest = all[0].times();
    for (const Autotuner& c : all) {
      const std::vector<double> own = c.times();
      EXPECT_EQ(own.size(), slowest.size());
      std::transform(own.begin(), own.end(), slowest.begin(), slowest.begin(),
                     [](double a, double b) { return std::max(a, b); });
    }
    for (Autotuner& c : all) c.compare(slowest);
  }
  for (const Autotuner& c : all) EXPECT_TRUE(c.settled());
  for (const Autotuner& c : all) EXPECT_EQ(c.turn(), all[0].turn());
  if (calls) *calls = made;
  return all[0].turn();
}

// The calls of a look in which candidate c takes seconds[c].
std::size_t look(Autotuner& c, const std::vector<double>& seconds) {
  std::size_t calls = 0;
  for (; !c.settled() && calls < 10000; ++calls)
    if (c.took(seconds[c.turn()])) c.compare(c.times());
  return calls;
}

std::size_t calls_until_the_next(Autotuner& c) {
  std::size_t calls = 0;
  for (; c.settled() && calls < 1000000; ++calls) c.ran();
  return calls;
}

constexpr double us = 1e-6;

}  // namespace

TEST(Autotuner, TheFirstRoundDoesNotCount) {
  EXPECT_EQ(
      winner(3, 2,
             [](int, std::size_t c, int round) { return round == 0 ? 1 + 10.0 * (c == 2) : (c == 2 ? 70 : 120) * us; }),
      2u);
}

TEST(Autotuner, OneDisturbedTurnDecidesNothing) {
  for (int disturbed = 0; disturbed < 6; ++disturbed)
    EXPECT_EQ(winner(4, 3,
                     [=](int r, std::size_t c, int round) {
                       const double usual = (c == 3 ? 70 : c == 0 ? 100 : 120) * us;
                       return round == disturbed && c == 3 && r == 1 ? 20 * usual : usual;
                     }),
              3u)
        << "in round " << disturbed;
}

TEST(Autotuner, OneLuckyTurnDecidesNothing) {
  for (int lucky = 0; lucky < 6; ++lucky)
    EXPECT_EQ(winner(3, 1,
                     [=](int, std::size_t c, int round) {
                       return (c == 1 ? 80 : round == lucky && c == 2 ? 40 : 130) * us;
                     }),
              1u)
        << "in round " << lucky;
}

TEST(Autotuner, TheSlowestRankCounts) {
  EXPECT_EQ(winner(2, 5, [](int r, std::size_t c, int) { return (c == 0 ? 90 : r == 3 ? 140 : 30) * us; }), 0u);
}

TEST(Autotuner, TheBaselineStaysUnlessBeatenByTheMargin) {
  const auto against = [](double part) {
    return winner(3, 2, [=](int, std::size_t c, int) { return (c == 2 ? part : 1) * 100 * us; });
  };
  EXPECT_EQ(against(1 - Autotuner::margin - 0.01), 2u);
  EXPECT_EQ(against(1 - Autotuner::margin + 0.01), 0u);
  EXPECT_EQ(winner(3, 2, [](int, std::size_t c, int) { return (c == 0   ? 100
                                                               : c == 1 ? 60
                                                                        : 55) *
                                                              us; }), 2u)
      << "among those that beat it the lowest median wins";
}

TEST(Autotuner, CandidatesFarBehindDropOutAfterThreeRounds) {
  std::size_t calls = 0;
  const auto times = [](int, std::size_t c, int) { return c == 2 ? 0.014 : 0.010; };
  EXPECT_EQ(winner(3, 2, times, &calls, 0.01), 0u);
  EXPECT_EQ(calls, 3 * (1 + Autotuner::least_rounds) + 2 * (Autotuner::most_rounds - Autotuner::least_rounds));
  EXPECT_EQ(winner(
                2, 2, [](int, std::size_t c, int) { return c == 1 ? 0.014 : 0.010; }, &calls, 0.01),
            0u);
  EXPECT_EQ(calls, 2 * (1 + Autotuner::least_rounds)) << "with nobody to beat the baseline the look is over";
  EXPECT_EQ(winner(
                2, 2, [](int, std::size_t c, int) { return c == 0 ? 0.1 : 0.01; }, &calls, 0.01),
            1u);
  EXPECT_EQ(calls, 2 * (1 + Autotuner::most_rounds)) << "the baseline stays in";
}

TEST(Autotuner, LongCallsOfHopelessCandidatesHaveOneTurn) {
  std::size_t calls = 0;
  const auto times = [](int, std::size_t c, int round) { return c == 2 || (round == 0 && c == 1) ? 0.9 : 0.4; };
  EXPECT_EQ(winner(3, 2, times, &calls, 0.4), 0u);
  EXPECT_EQ(calls, 3 * 2 + 2 * (Autotuner::least_rounds - 1)) << "one that was slow at first only stays";
  EXPECT_EQ(winner(
                2, 2, [](int, std::size_t c, int) { return c == 1 ? 0.9 : 0.4; }, &calls, 0.4),
            0u);
  EXPECT_EQ(calls, 2u * 2);
}

TEST(Autotuner, LongCallsHaveFewerRounds) {
  std::size_t calls = 0;
  const auto of = [&](double seconds) {
    static_cast<void>(winner(
        2, 2, [=](int, std::size_t, int) { return seconds; }, &calls, seconds));
    return calls / 2 - 1;
  };
  EXPECT_EQ(of(0.01), Autotuner::most_rounds);
  EXPECT_EQ(of(0.1), 5u);
  EXPECT_EQ(of(10), Autotuner::least_rounds);
}

TEST(Autotuner, ATurnIsSeveralCallsWhereTheyAreShort) {
  Autotuner c(2);
  const auto turn = [&](double seconds) {
    const std::size_t whose = c.turn();
    std::size_t calls = 0;
    bool look = false;
    do {
      EXPECT_EQ(c.turn(), whose);
      look = c.took(seconds);
      ++calls;
    } while (!c.begins());
    if (look) c.compare(c.times());
    return calls;
  };
  EXPECT_EQ(turn(100 * us), 2u);
  EXPECT_EQ(turn(100 * us), 2u);
  EXPECT_EQ(turn(100 * us), 4u);
  EXPECT_EQ(turn(100 * us), 4u);
  EXPECT_EQ(c.times().size(), 2u);
  // A slow baseline has turns of one call beside a candidate that has more.
  c = Autotuner(2);
  std::size_t of_the_slow = 0, of_the_fast = 0;
  for (int k = 0; k < 4; ++k) {
    const bool slow = c.turn() == 0;
    const std::size_t calls = turn(slow ? 5e-3 : 20 * us);
    if (k >= 2) (slow ? of_the_slow : of_the_fast) = calls;
  }
  EXPECT_EQ(of_the_slow, 1u);
  EXPECT_EQ(of_the_fast, Autotuner::most_calls);
  c = Autotuner(2, 1.0);
  for (int k = 0; k < 4; ++k) EXPECT_EQ(turn(1), 1u);
}

TEST(Autotuner, EachRoundHasAnOrderOfItsOwn) {
  Autotuner c(4, 1.0);
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t round = 0; round < 6; ++round) {
    std::vector<std::size_t> order;
    bool look = false;
    for (int k = 0; k < 4; ++k) {
      order.push_back(c.turn());
      look = c.took(1e-3);
    }
    if (look) c.compare(c.times());
    orders.insert(order);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
  }
  EXPECT_GE(orders.size(), 4u);
}

TEST(Autotuner, ASecondLookComesOnceAndDecides) {
  Autotuner c(3, 0.01);
  const std::size_t first = look(c, {0.010, 0.010, 0.005});
  EXPECT_EQ(c.turn(), 2u);
  EXPECT_EQ(c.looks(), 1u);
  EXPECT_EQ(calls_until_the_next(c), Autotuner::second_after * first);
  EXPECT_EQ(c.looks(), 2u);
  EXPECT_EQ(look(c, {0.010, 0.005, 0.010}), first) << "with all candidates";
  EXPECT_EQ(c.turn(), 1u);
  EXPECT_EQ(calls_until_the_next(c), 1000000u) << "there is no third look";
  EXPECT_EQ(c.turn(), 1u);
}

TEST(Autotuner, NextCallsAreThoseOfTheOpenCandidates) {
  Autotuner c(3, 0.01);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(c.open(i));
  for (int k = 0; k < 3; ++k)
    if (c.took(0.01)) c.compare(c.times());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(c.open(i));
  look(c, {0.01, 0.1, 0.005});
  EXPECT_TRUE(!c.open(0) && !c.open(1) && c.open(2)) << "number 2 has won";
}

TEST(Autotuner, CallsDuringALookDoNotCount) {
  Autotuner c(2, 0.01);
  for (int k = 0; k < 1000; ++k) c.ran();
  EXPECT_EQ(c.looks(), 1u);
  EXPECT_FALSE(c.settled());
}

TEST(Autotuner, ACandidateThatFailsLosesAndDoesNotHurryTheOthers) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::size_t calls = 0;
  EXPECT_EQ(winner(
                3, 2, [=](int, std::size_t c, int) { return c == 2 ? never : 10e-3; }, &calls, 10e-3),
            0u);
  EXPECT_EQ(calls, 3 * (1 + Autotuner::least_rounds) + 2 * (Autotuner::most_rounds - Autotuner::least_rounds));
  EXPECT_EQ(winner(3, 2, [=](int r, std::size_t c, int) { return c != 2 && r == 1 ? never : 100 * us; }), 2u);
  EXPECT_EQ(winner(3, 2, [=](int, std::size_t, int) { return never; }), 0u) << "where all fail";
}

TEST(Autotuner, AloneIsSettled) {
  const Autotuner c(1);
  EXPECT_TRUE(c.settled());
  EXPECT_EQ(c.turn(), 0u);
}

// A turn of 0.4 ms has five calls of 80 us, and, of a quotient that is rounded down, four.
TEST(Autotuner, IsConcludedAlikeHoweverARankRounds) {
  constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::vector<Autotuner> all(std::size(modes), Autotuner(2, 80e-6));
  for (std::size_t calls = 0; calls < 8000; ++calls) {
    const std::size_t now = all[0].turn(), looks = all[0].looks();
    for (std::size_t r = 0; r < all.size(); ++r) {
      Autotuner& c = all[r];
      ASSERT_EQ(c.turn(), now) << "call " << calls << ", mode " << r;
      ASSERT_EQ(c.looks(), looks) << "call " << calls << ", mode " << r;
      if (c.settled()) {
        c.ran();
      } else if (c.took(now == 0 ? 80e-6 : 40e-6)) {
        std::fesetround(modes[r]);
        c.compare(c.times());
        std::fesetround(FE_TONEAREST);
      }
    }
  }
  EXPECT_EQ(all[0].looks(), 2u);
}
