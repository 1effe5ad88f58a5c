// Which shapes have run.
#include "select/ran_once.hpp"

#include <gtest/gtest.h>

using stretto::select::RanOnce;

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
