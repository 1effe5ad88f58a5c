#include "schedule/algorithms/tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "schedule/algorithms/fold.hpp"
#include "schedule/algorithms/halving.hpp"

namespace stretto::schedule {
namespace {

TEST(Tree, ParentsAndChildrenAgreeAndSubtreesAreDisjointIntervals) {
  for (const int radix : {2, 3, 4, 7}) {
    for (int p = 1; p <= 40; ++p) {
      for (int root = 0; root < p; ++root) {
        for (int rank = 0; rank < p; ++rank) {
          const Tree tree = tree_of(p, rank, root, radix);
          EXPECT_EQ(tree.parent < 0, rank == root);
          EXPECT_TRUE(tree.first <= rank && rank < tree.end);
          int covered = 1;
          for (const Tree::Child& child : tree.children) {
            const Tree below = tree_of(p, child.rank, root, radix);
            EXPECT_EQ(below.parent, rank);
            EXPECT_EQ(std::tie(below.first, below.end, below.round), std::tie(child.first, child.end, child.round));
            EXPECT_TRUE(child.end <= rank || rank < child.first);
            covered += child.end - child.first;
          }
          EXPECT_EQ(covered, tree.end - tree.first);
          if (rank == root) {
            EXPECT_EQ(covered, p);
          }
        }
      }
    }
  }
}

TEST(Tree, ChildrenComeInRoundsEachNextToTheIntervalBeforeIt) {
  for (const int radix : {2, 3, 5}) {
    for (int p = 1; p <= 40; ++p) {
      for (int root = 0; root < p; ++root) {
        const Tree tree = tree_of(p, root, root, radix);
        int first = root, end = root + 1, round = -1;
        for (const Tree::Child& child : tree.children) {
          EXPECT_GT(child.round, round);
          EXPECT_LT(child.round, tree.rounds);
          EXPECT_TRUE(child.end == first || child.first == end);
          first = std::min(first, child.first);
          end = std::max(end, child.end);
          round = child.round;
        }
      }
    }
  }
}

TEST(Fold, TeamsAreAPowerOfTwoOfNeighboursAndTheFavouriteActs) {
  for (int p = 1; p <= 70; ++p) {
    for (int favourite = 0; favourite < p; ++favourite) {
      const Fold fold(p, favourite);
      EXPECT_LE(fold.teams(), p);
      EXPECT_GT(2 * fold.teams(), p);
      EXPECT_EQ(fold.first_rank(fold.teams()), p);
      EXPECT_TRUE(fold.acts(favourite));
      for (int t = 0; t < fold.teams(); ++t) {
        for (int r = fold.first_rank(t); r < fold.first_rank(t + 1); ++r) EXPECT_EQ(fold.team(r), t);
      }
      for (int r = 0; r < p; ++r) {
        const int partner = fold.partner(r);
        EXPECT_EQ(partner >= 0, fold.first_rank(fold.team(r) + 1) - fold.first_rank(fold.team(r)) == 2);
        if (partner >= 0) {
          EXPECT_NE(fold.acts(r), fold.acts(partner));
        }
      }
    }
  }
}

TEST(Halving, PartnersShareAnIntervalAndEndWithReversedBits) {
  constexpr int rounds = 6, teams = 1 << rounds;
  for (int t = 0; t < teams; ++t) {
    for (int j = 0; j < rounds; ++j) {
      const Interval before = halved(t, j, teams);
      const Interval own = halved(t, j + 1, teams);
      const Interval other = halved(t ^ (1 << j), j + 1, teams);
      EXPECT_EQ(own.count + other.count, before.count);
      EXPECT_EQ(std::min(own.first, other.first), before.first);
      EXPECT_EQ(std::max(own.first, other.first), before.first + own.count);
    }
    int reversed = 0;
    for (int j = 0; j < rounds; ++j) reversed |= (t >> j & 1) << (rounds - 1 - j);
    EXPECT_EQ(halved(t, rounds, teams).first, reversed);
    EXPECT_EQ(halved(t, rounds, teams).count, 1);
  }
}

}  // namespace
}  // namespace stretto::schedule
