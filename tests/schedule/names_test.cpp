#include "schedule/names.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stretto::schedule {
namespace {

TEST(Names, EveryCollectiveIsFoundByItsNameAndNothingElseIs) {
  for (int i = 0; i <= static_cast<int>(Collective::barrier); ++i) {
    const auto c = static_cast<Collective>(i);
    EXPECT_EQ(find_collective(name(c)), c);
  }
  EXPECT_FALSE(find_collective("allredu").has_value());
  EXPECT_FALSE(find_collective("").has_value());
}

TEST(Names, KindsHaveDistinctNames) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Kind::combine); ++i) names.insert(name(static_cast<Kind>(i)));
  EXPECT_EQ(names.size(), 5u);
}

TEST(Names, WhatRanksHoldAndExpectFollowsTheContract) {
  constexpr int p = 5, root = 3;
  for (int rank = 0; rank < p; ++rank) {
    for (int b = 0; b < p; ++b) {
      const auto held = [&](Collective c) { return holds(c, p, root, rank, b); };
      const auto expected = [&](Collective c) { return expects(c, p, root, rank, b); };
      EXPECT_TRUE(held(Collective::allreduce) && expected(Collective::allreduce));
      EXPECT_TRUE(held(Collective::reduce));
      EXPECT_EQ(expected(Collective::reduce), rank == root);
      EXPECT_EQ(expected(Collective::reduce_scatter), rank == b);
      EXPECT_EQ(held(Collective::allgather), rank == b);
      EXPECT_EQ(held(Collective::bcast), rank == root);
      EXPECT_EQ(expected(Collective::gather), rank == root);
      EXPECT_EQ(held(Collective::scatter), rank == root);
      EXPECT_EQ(expected(Collective::scatter), rank == b);
      EXPECT_EQ(holds(Collective::alltoall, p, 0, rank, rank * p + b), true);
      EXPECT_EQ(expects(Collective::alltoall, p, 0, rank, b * p + rank), true);
      EXPECT_EQ(expects(Collective::alltoall, p, 0, rank, rank * p + b), rank == b);
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
