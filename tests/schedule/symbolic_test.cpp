#include "schedule/symbolic.hpp"

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
  EXPECT_EQ(of({1, 0, 2}), Contributions::of_all(3));
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

}  // namespace
}  // namespace stretto::schedule
