// Contests end, alike on all ranks, with the way that is usually the fastest.
#include "select/autotuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <vector>

using stretto::select::Autotuner;

namespace {

// Runs a trial on several ranks; seconds(rank, contestant, round). Expects the same turns on all ranks, and returns the winner.
std::size_t winner(std::size_t contestants, int ranks, const std::function<double(int, std::size_t, int)>& seconds,
                   std::size_t* calls = nullptr, double expected = 0, std::size_t alike = 1) {
  std::vector<Autotuner> all(static_cast<std::size_t>(ranks), Autotuner(contestants, expected, alike));
  std::vector<int> turns(contestants, 0);
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

TEST(Autotuner, NumberZeroWinsWhatIsClose) {
  EXPECT_EQ(winner(3, 2, [](int, std::size_t c, int) { return (c == 0 ? 100 : 97) * us; }), 0u);
  EXPECT_EQ(winner(3, 2, [](int, std::size_t c, int) { return (c == 1 ? 70 : 100) * us; }), 1u);
  EXPECT_EQ(winner(2, 2, [](int, std::size_t c, int) { return (c == 1 ? 36 : 40) * us; }), 0u) << "short calls";
  EXPECT_EQ(winner(2, 2, [](int, std::size_t c, int) { return (c == 1 ? 30 : 40) * us; }), 1u);
}

// Between ways that are alike no more is asked for than a lead; of others a sure one, over the best of these.
TEST(Autotuner, OfThoseAlikeTheBestStays) {
  const auto times = [](double first, double second, double third) {
    return [=](int, std::size_t c, int) { return (c == 0 ? first : c == 1 ? second : third) * us; };
  };
  const auto with = [&](double first, double second, double third) {
    return winner(3, 2, times(first, second, third), nullptr, 0, 2);
  };
  EXPECT_EQ(with(6.5, 5.7, 7), 1u);
  EXPECT_EQ(with(6.5, 5.7, 5.4), 1u) << "the third leads, but not surely";
  EXPECT_EQ(with(6.5, 5.7, 4), 2u);
  EXPECT_EQ(with(6.5, 6.4, 7), 0u) << "less than a hair";
  EXPECT_EQ(with(100, 95, 97), 1u);
  EXPECT_EQ(with(100, 95, 80), 2u);
  EXPECT_EQ(with(95, 100, 92), 0u);
  EXPECT_EQ(winner(3, 2, times(6.5, 5.7, 7)), 0u) << "not alike";
}

TEST(Autotuner, ASecondLookHasAllThatAreAlike) {
  Autotuner c(4, 0, 2);
  const auto settle = [&](const std::function<double(std::size_t)>& seconds) {
    std::set<std::size_t> had(c.open().begin(), c.open().end());
    while (!c.settled())
      if (c.took(seconds(c.turn()))) c.compare(c.times());
    return had;
  };
  settle([](std::size_t who) { return (who == 3 ? 100 : who == 1 ? 900 : 300) * us; });
  EXPECT_EQ(c.turn(), 3u);
  c.look_again();
  EXPECT_EQ(settle([](std::size_t who) { return (who == 1 ? 100 : 300) * us; }), (std::set<std::size_t>{0, 1, 3}));
  EXPECT_EQ(c.turn(), 1u);
}

// The luckiest of many wins no final.
TEST(Autotuner, WhoLeadsByLuckLosesTheFinal) {
  const auto lucky_until = [](int round) {
    return [=](int, std::size_t c, int now) { return (c == 3 && now < round ? 85 : c == 3 ? 103 : 100) * us; };
  };
  EXPECT_EQ(winner(5, 2, lucky_until(static_cast<int>(Autotuner::most_rounds))), 0u);
  EXPECT_EQ(winner(5, 2, lucky_until(1000)), 3u);
  std::size_t calls = 0;
  const auto ms = [](int, std::size_t c, int now) { return c == 0 ? 10e-3 : c == 1 && now < 9 ? 8.5e-3 : 10.2e-3; };
  EXPECT_EQ(winner(3, 1, ms, &calls, 10e-3), 0u);
  EXPECT_EQ(calls, 3 * 3 + 2 * (Autotuner::most_rounds - 3) + 2 * 2)
      << "a final that the leader loses ends when that shows";
}

// Where times scatter, number 0 is not beaten by far as long as its best turn says otherwise.
TEST(Autotuner, NumberZeroIsNotDroppedForItsBadTurns) {
  const auto times = [](int, std::size_t c, int round) {
    if (c == 0) return round == 1 || round == 3 ? 30e-3 : 10e-3;
    return round < 5 ? 11e-3 : 12e-3;
  };
  EXPECT_EQ(winner(2, 1, times, nullptr, 10e-3), 0u);
}

TEST(Autotuner, WhoIsFarAheadNeedsNoFinal) {
  std::size_t calls = 0;
  const auto by = [](double part) { return [=](int, std::size_t c, int) { return (c == 0 ? 10e-3 : 10e-3 * part); }; };
  EXPECT_EQ(winner(2, 2, by(0.6), &calls, 10e-3), 1u);
  EXPECT_EQ(calls, 2 * 3u);
  EXPECT_EQ(winner(2, 2, by(0.85), &calls, 10e-3), 1u);
  EXPECT_EQ(calls, 2 * (Autotuner::most_rounds + 8));
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
  // One that is slow has turns of one call beside others that have more.
  c = Autotuner(2);
  std::size_t of_the_slow = 0, of_the_fast = 0;
  for (int k = 0; k < 4; ++k) {
    const bool slow = c.turn() == 1;
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

TEST(Autotuner, WhatIsClearTakesThreeRoundsAndWhatIsCloseAFewMore) {
  constexpr double ms = 1e-3;
  std::size_t calls = 0;
  EXPECT_EQ(winner(
                4, 2, [](int, std::size_t c, int) { return (c == 1 ? 5 : 10) * ms; }, &calls, 10 * ms),
            1u);
  EXPECT_EQ(calls, 12u);
  EXPECT_EQ(winner(
                4, 2,
                [](int, std::size_t c, int round) {
                  return (10 + 0.3 * static_cast<double>((c + static_cast<std::size_t>(round)) % 4)) * ms;
                },
                &calls, 10 * ms),
            0u);
  EXPECT_EQ(calls, 4 * Autotuner::most_rounds);
  EXPECT_EQ(winner(
                4, 2, [](int, std::size_t, int) { return 0.5; }, &calls, 0.5),
            0u)
      << "long turns";
  EXPECT_EQ(calls, 12u);
}

TEST(Autotuner, OfFewLongTurnsNumberZeroLosesOnlyWhereItLostEveryOne) {
  const auto of = [](double first, double second) {
    return winner(
        2, 2, [=](int, std::size_t c, int round) { return c == 0       ? 0.30
                                                          : round == 1 ? first
                                                                       : second; }, nullptr, 0.3);
  };
  EXPECT_EQ(of(0.2, 0.25), 1u);
  EXPECT_EQ(of(0.1, 0.31), 0u);
  EXPECT_EQ(of(0.28, 0.29), 0u);
}

// Three rounds of 100 and 10 ms: nine calls of the winner more, each, than two of its own.
TEST(Autotuner, ItsPriceIsWhatItTookBeyondTheWinnersCalls) {
  Autotuner c(2, 1.0);
  const auto play = [&c] {
    while (!c.settled())
      if (c.took(c.turn() == 1 ? 0.010 : 0.100)) c.compare(c.times());
  };
  play();
  EXPECT_EQ(c.turn(), 1u);
  EXPECT_NEAR(c.price(), 3 * 9, 1e-9);
  c.look_again();
  EXPECT_EQ(c.price(), 0);
  play();
  EXPECT_NEAR(c.price(), 3 * 9, 1e-9);
}

TEST(Autotuner, AWayThatFailsOnceDoesNotHurryTheOthers) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::size_t calls = 0;
  const auto times = [=](int, std::size_t c, int round) {
    return c == 2 ? never : (10 + 0.3 * static_cast<double>((c + static_cast<std::size_t>(round)) % 2)) * 1e-3;
  };
  EXPECT_EQ(winner(3, 2, times, &calls, 10e-3), 0u);
  EXPECT_EQ(calls, 3 * 3 + 2 * (Autotuner::most_rounds - 3));
}

TEST(Autotuner, AWayThatFailsLosesAndWhereAllFailNumberZeroStays) {
  constexpr double never = std::numeric_limits<double>::infinity();
  EXPECT_EQ(winner(3, 2, [=](int r, std::size_t c, int) { return c != 2 && r == 1 ? never : 100 * us; }), 2u);
  EXPECT_EQ(winner(3, 2, [=](int, std::size_t, int) { return never; }), 0u);
}
