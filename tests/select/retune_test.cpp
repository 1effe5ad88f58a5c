// What a trial came to is looked at again, ever more seldom while it stays.
#include "select/retune.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <vector>

#include "select/ran_once.hpp"

using stretto::select::RanOnce;
using stretto::select::Retuner;

namespace {

// Calls of the look that is open; `fastest` takes half as long as the others.
std::size_t look(Retuner& retuner, std::size_t fastest) {
  std::size_t calls = 0;
  while (!retuner.autotuner().settled() && calls < 10000) {
    ++calls;
    if (retuner.took(retuner.autotuner().turn() == fastest ? 0.005 : 0.010))
      retuner.compare(retuner.autotuner().times());
  }
  return calls;
}

// A look is to cost 2 % at most of what comes after it.
std::size_t wait_after(const Retuner& retuner, std::size_t calls) {
  return std::max(calls, static_cast<std::size_t>(50 * retuner.autotuner().price()));
}

std::size_t calls_until_the_next(Retuner& retuner) {
  std::size_t calls = 0;
  for (; retuner.autotuner().settled() && calls < 1000000; ++calls) retuner.ran();
  return calls;
}

}  // namespace

TEST(Retuner, AWinnerIsLookedAtAgainEverMoreSeldom) {
  Retuner retuner(5, 0.01);
  const std::size_t first = look(retuner, 3);
  EXPECT_EQ(retuner.looks(), 0u);
  const std::size_t first_due = wait_after(retuner, Retuner::first_wait * first);  // before the next look begins
  EXPECT_EQ(calls_until_the_next(retuner), first_due);
  EXPECT_EQ(retuner.looks(), 1u);
  EXPECT_EQ(retuner.autotuner().open().size(), 3u);
  const std::size_t second = look(retuner, 3);
  EXPECT_EQ(retuner.autotuner().turn(), 3u);
  const std::size_t second_due = wait_after(retuner, 4 * Retuner::first_wait * second);  // before the next look begins
  EXPECT_EQ(calls_until_the_next(retuner), second_due);
}

TEST(Retuner, AnotherLookFindsAnotherWinner) {
  Retuner retuner(3, 0.01);
  look(retuner, 2);
  calls_until_the_next(retuner);
  const std::size_t calls = look(retuner, 1);
  EXPECT_EQ(retuner.autotuner().turn(), 1u);
  const std::size_t due = wait_after(retuner, Retuner::first_wait * calls);  // before the next look begins
  EXPECT_EQ(calls_until_the_next(retuner), due);
  look(retuner, 0);
  EXPECT_EQ(retuner.autotuner().turn(), 0u);
}

TEST(Retuner, NumberZeroIsAlwaysLookedAtAgainAndWithItThoseThatLostLast) {
  Retuner retuner(6, 0.01);
  while (!retuner.autotuner().settled()) {
    const double seconds[] = {0.020, 0.018, 0.0104, 0.010, 0.0103, 0.016};
    if (retuner.took(seconds[retuner.autotuner().turn()])) retuner.compare(retuner.autotuner().times());
  }
  EXPECT_EQ(retuner.autotuner().turn(), 3u);
  calls_until_the_next(retuner);
  EXPECT_EQ(retuner.autotuner().open(), (std::vector<std::size_t>{0, 3, 4}));
}

TEST(Retuner, WhatIsMuchSlowerIsSeldomLookedAt) {
  Retuner retuner(2, 0.01);
  std::size_t calls = 0;
  for (; !retuner.autotuner().settled(); ++calls)
    if (retuner.took(retuner.autotuner().turn() == 0 ? 0.4 : 0.01)) retuner.compare(retuner.autotuner().times());
  EXPECT_EQ(retuner.autotuner().turn(), 1u);
  const double excess = 0.39 * static_cast<double>(calls) / 2;
  const std::size_t wait = calls_until_the_next(retuner);
  EXPECT_GT(wait, Retuner::first_wait * calls);
  EXPECT_NEAR(excess / (static_cast<double>(wait) * 0.01), 0.02, 0.001);
}

TEST(Retuner, CallsDuringALookDoNotCount) {
  Retuner retuner(2, 0.01);
  for (int k = 0; k < 1000; ++k) retuner.ran();
  EXPECT_EQ(retuner.looks(), 0u);
  EXPECT_FALSE(retuner.autotuner().settled());
}

// A turn of 0.4 ms has five calls of 80 us, and, of a quotient that is rounded down, four.
TEST(Retuner, IsConcludedAlikeHoweverARankRounds) {
  constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::vector<Retuner> all(std::size(modes), Retuner(2, 80e-6));
  for (std::size_t calls = 0; calls < 2000; ++calls) {
    const std::size_t now = all[0].autotuner().turn(), looks = all[0].looks();
    for (std::size_t r = 0; r < all.size(); ++r) {
      Retuner& c = all[r];
      ASSERT_EQ(c.autotuner().turn(), now) << "call " << calls << ", mode " << r;
      ASSERT_EQ(c.looks(), looks) << "call " << calls << ", mode " << r;
      if (c.autotuner().settled()) {
        c.ran();
      } else if (c.took(now == 0 ? 80e-6 : 40e-6)) {
        std::fesetround(modes[r]);
        c.compare(c.autotuner().times());
        std::fesetround(FE_TONEAREST);
      }
    }
  }
  EXPECT_GT(all[0].looks(), 0u);
}

TEST(RanOnce, KnowsWhatRanUntilItIsFullAndForgetsAllThen) {
  RanOnce once;
  const auto nth = [](std::size_t i) { return i * 0x9E3779B97F4A7C15u | 1; };
  for (std::size_t i = 0; i < RanOnce::most; ++i) {
    EXPECT_FALSE(once.contains(nth(i)));
    once.insert(nth(i));
    once.insert(nth(i));
  }
  for (std::size_t i = 0; i < RanOnce::most; ++i) EXPECT_TRUE(once.contains(nth(i)));
  once.insert(nth(RanOnce::most));
  EXPECT_TRUE(once.contains(nth(RanOnce::most)));
  for (std::size_t i = 0; i < RanOnce::most; ++i) EXPECT_FALSE(once.contains(nth(i)));
}
