#include "schedule/check/symbolic.hpp"

#include <gtest/gtest.h>

namespace stretto::schedule {
namespace {

Contributions of(std::initializer_list<int> ranks) {
  Contributions c;
  for (const int r : ranks) c.add(Contributions(r));
  return c;
}

TEST(Contributions, RunsJoinWhereTheyTouch) {
  EXPECT_EQ(of({3, 1, 0, 7}).text(), "0-1, 3, 7");
  EXPECT_EQ(of({3, 1, 0, 7, 2}).text(), "0-3, 7");
  EXPECT_EQ(of({1, 0, 2}), Contributions::of_first(3));
  EXPECT_EQ(Contributions(), Contributions::of_first(0));
  EXPECT_EQ(Contributions().text(), "none");
}

TEST(Contributions, ASharedRankIsFound) {
  EXPECT_EQ(of({0, 1, 2, 8}).shared(of({3, 5, 8, 9})), 8);
  EXPECT_EQ(of({4, 5, 6}).shared(of({0, 1, 6})), 6);
  EXPECT_EQ(of({4, 5, 6}).shared(of({0, 1, 7})), -1);
  EXPECT_EQ(of({4}).shared(Contributions()), -1);
}

TEST(Contributions, OnlyTheNextRanksFollow) {
  EXPECT_TRUE(of({2, 3}).precedes(of({4, 5})));
  EXPECT_FALSE(of({2, 3}).precedes(of({5})));
  EXPECT_FALSE(of({4, 5}).precedes(of({2, 3})));
  EXPECT_FALSE(of({1, 3}).precedes(of({4})));
}

TEST(Brackets, AreEqualUpToTheOrderOfTwoOperandsAndNothingElse) {
  Brackets sums(4);
  const auto of = [&](int rank) { return sums.contribution(rank); };
  const auto left = sums.combined(sums.combined(sums.combined(of(0), of(1)), of(2)), of(3));
  EXPECT_EQ(left, sums.combined(of(3), sums.combined(of(2), sums.combined(of(1), of(0)))));
  EXPECT_NE(left, sums.combined(sums.combined(of(0), of(1)), sums.combined(of(2), of(3))));
  EXPECT_NE(sums.combined(of(0), of(1)), sums.combined(of(0), of(2)));
  EXPECT_EQ(sums.text(sums.combined(sums.combined(of(0), of(1)), of(2))), "2 + (0 + 1)");
}

TEST(Brackets, TextOfALongSumIsItsBeginning) {
  Brackets sums(130);
  auto sum = sums.contribution(0);
  for (int r = 1; r < 130; ++r) sum = sums.combined(sum, sums.contribution(r));
  EXPECT_EQ(sums.text(sum, 20), "129 + (128 + (127 + ...");
}

}  // namespace
}  // namespace stretto::schedule
