// A trial measures candidates within a budget of regret, alike on all ranks, and the fastest candidate leads.
#include "select/autotuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

using stretto::select::Autotuner;
using stretto::select::TurnTimes;

namespace {

constexpr double agreement = 20e-6;

// Seconds of a call of a candidate on a rank.
using Seconds = std::function<double(std::size_t candidate, int rank)>;

// The calls of one shape on several ranks.
class Program {
 public:
  Program(std::vector<double> predicted, int ranks, Seconds seconds)
      : predicted_(std::move(predicted)),
        seconds_(std::move(seconds)),
        ranks_(static_cast<std::size_t>(ranks), Autotuner(predicted_.front(), agreement)) {}

  // One call on all ranks. Expects that they run the same candidate, and returns it.
  std::size_t call() {
    double began = 0;
    if (ranks_.front().due()) {
      TurnTimes merged = ranks_.front().times();
      for (Autotuner& t : ranks_) {
        EXPECT_TRUE(t.due());
        if (!t.entered()) t.enter(predicted_);
        merged.seconds = std::max(merged.seconds, t.times().seconds);
        merged.agreement = std::min(merged.agreement, t.times().agreement);
      }
      for (Autotuner& t : ranks_) t.agreed(merged);
      began = agreement;
    }
    const std::size_t now = ranks_.front().turn();
    double slowest = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Autotuner& t = ranks_[r];
      EXPECT_EQ(t.turn(), now);
      const double took = seconds_(now, static_cast<int>(r));
      slowest = std::max(slowest, took);
      if (t.measures())
        t.took(took, began);
      else
        t.ran();
    }
    if (std::isfinite(slowest)) total_ += slowest;
    total_ += began;
    ++calls_;
    return now;
  }

  void calls(std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) call();
  }
  double total() const { return total_; }
  const Autotuner& rank(std::size_t r) const { return ranks_[r]; }

 private:
  std::vector<double> predicted_;
  Seconds seconds_;
  std::vector<Autotuner> ranks_;
  double total_ = 0;
  std::size_t calls_ = 0;
};

Seconds fixed(std::vector<double> of) {
  return [of = std::move(of)](std::size_t c, int) { return of[c]; };
}

}  // namespace

TEST(Autotuner, AloneItLeadsAndIsSoonOver) {
  Program p({1e-3}, 2, fixed({1e-3}));
  p.calls(100);
  EXPECT_TRUE(p.rank(0).over());
  EXPECT_EQ(p.rank(0).turn(), 0u);
}

TEST(Autotuner, TheFastestCandidateLeadsInTheEnd) {
  for (std::size_t fastest = 0; fastest < 4; ++fastest) {
    std::vector<double> seconds(4, 1e-3);
    seconds[fastest] = 0.5e-3;
    Program p({1e-3, 1e-3, 1e-3, 1e-3}, 3, fixed(seconds));
    p.calls(2000);
    EXPECT_TRUE(p.rank(2).over());
    EXPECT_EQ(p.rank(2).leader(), fastest);
  }
}

TEST(Autotuner, TheLeaderStaysUnlessAnotherIsFasterByTheMargin) {
  Program close({1e-3, 1e-3}, 2, fixed({1e-3, 0.95e-3})), clear({1e-3, 1e-3}, 2, fixed({1e-3, 0.85e-3}));
  close.calls(2000);
  clear.calls(2000);
  EXPECT_EQ(close.rank(0).leader(), 0u);
  EXPECT_EQ(clear.rank(0).leader(), 1u);
}

TEST(Autotuner, TheSlowestRankCounts) {
  Program p({1e-3, 1e-3}, 2, [](std::size_t c, int rank) { return c == 1 ? (rank == 1 ? 2e-3 : 0.1e-3) : 1e-3; });
  p.calls(2000);
  EXPECT_EQ(p.rank(0).leader(), 0u);
}

TEST(Autotuner, TheFirstTwentyCallsAreTheLeaders) {
  for (const double seconds : {10e-6, 1e-3, 1.0}) {
    Program p({seconds, seconds, seconds}, 2, fixed({seconds, seconds / 10, seconds / 10}));
    for (int k = 0; k < 20; ++k) EXPECT_EQ(p.call(), 0u) << seconds << " s, call " << k;
  }
}

TEST(Autotuner, APredictionOfTenTimesTheLeaderWaitsForAsManyMoreCalls) {
  Program p({1e-3, 10e-3}, 2, fixed({1e-3, 10e-3}));
  for (int k = 0; k < 180; ++k) EXPECT_EQ(p.call(), 0u) << k;
}

// Over any number of calls, candidates of up to four times the leader's time cost the budget and one turn that was
// expected to take half as long.
TEST(Autotuner, RegretStaysWithinTheBudget) {
  for (const double leader : {50e-6, 1e-3, 0.1})
    for (const double factor : {1.0, 1.2, 1.9, 4.0}) {
      const double other = factor * leader;
      Program p({leader, leader, leader, leader}, 3, fixed({leader, other, other, other}));
      for (int k = 1; k <= 4000; ++k) {
        p.call();
        const double best = k * leader, surprise = 3 * std::max(other - 2 * leader, 0.0);
        EXPECT_LE(p.total(), (1 + Autotuner::budget) * best + 3 * surprise + 3 * agreement)
            << leader << " s times " << factor << ", call " << k;
      }
    }
}

TEST(Autotuner, WhatIsTwiceAsFastPaysWithinAThousandCalls) {
  Program p({1e-3, 1e-3}, 2, fixed({1e-3, 0.5e-3}));
  p.calls(1000);
  EXPECT_LT(p.total(), 1.06 * 1000 * 0.5e-3);
}

TEST(Autotuner, ACandidateThatFailsDropsOut) {
  const double infinity = std::numeric_limits<double>::infinity();
  Program p({1e-3, 1e-3}, 2, [&](std::size_t c, int rank) { return c == 1 && rank == 1 ? infinity : 1e-3; });
  p.calls(2000);
  EXPECT_TRUE(p.rank(0).over());
  EXPECT_EQ(p.rank(0).leader(), 0u);
}

TEST(Autotuner, OneDisturbedTurnOfAFasterCandidateChangesNothing) {
  int turns = 0;
  Program p({10e-3, 10e-3}, 1, [&](std::size_t c, int) { return c == 0 ? 10e-3 : ++turns == 3 ? 11e-3 : 5e-3; });
  p.calls(2000);
  EXPECT_EQ(p.rank(0).leader(), 1u);
}

TEST(Autotuner, EveryChangeOfTheNextCallIsCounted) {
  Program p({1e-3, 1e-3, 1e-3}, 2, fixed({1e-3, 0.5e-3, 2e-3}));
  std::size_t last = p.rank(0).turn();
  std::uint32_t changes = p.rank(0).changes();
  bool due = p.rank(0).due();
  for (int k = 0; k < 3000; ++k) {
    p.call();
    const Autotuner& t = p.rank(0);
    EXPECT_TRUE((t.turn() == last && t.due() == due) || t.changes() != changes) << k;
    last = t.turn();
    due = t.due();
    changes = t.changes();
  }
}

TEST(Autotuner, ARankThatRoundsOtherwiseConcludesAlike) {
  const auto leader_after = [](int rounding, int calls) {
    std::fesetround(rounding);
    Program p({1e-3, 1.1e-3, 1.3e-3}, 1, fixed({1e-3 / 3, 1e-3 / 7, 1e-3 / 9}));
    std::vector<std::size_t> ran;
    for (int k = 0; k < calls; ++k) ran.push_back(p.call());
    std::fesetround(FE_TONEAREST);
    return ran;
  };
  EXPECT_EQ(leader_after(FE_TONEAREST, 1000), leader_after(FE_UPWARD, 1000));
}
