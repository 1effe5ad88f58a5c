#include "topology/topology.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stretto::topology {
namespace {

std::vector<int> as_vector(std::span<const std::int32_t> ranks) { return {ranks.begin(), ranks.end()}; }

TEST(Topology, NobodyIsAnywhereByDefault) {
  const Topology none;
  EXPECT_EQ(none.ranks(), 0);
  EXPECT_EQ(none.hosts(), 0);
  EXPECT_TRUE(none.uniform());
}

TEST(Topology, RegularHostsTakeRanksInARowAndTheLastOneWhatIsLeft) {
  const Topology t = Topology::regular(7, 3);
  EXPECT_EQ(t.ranks(), 7);
  ASSERT_EQ(t.hosts(), 3);
  EXPECT_EQ(as_vector(t.ranks_of(0)), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(as_vector(t.ranks_of(2)), (std::vector<int>{6}));
  EXPECT_EQ(t.host_of(5), 1);
  EXPECT_FALSE(t.uniform());
  EXPECT_TRUE(Topology::regular(6, 3).uniform());
  EXPECT_EQ(Topology::regular(2, 8).hosts(), 1);
  EXPECT_EQ(t.cores_per_host(), 0);
}

TEST(Topology, HostsAreInTheOrderOfTheirLowestRankWhateverTheirNumbers) {
  const Topology t({{.host = 9}, {.host = -4}, {.host = 9}, {.host = 0}, {.host = -4}}, 16);
  ASSERT_EQ(t.hosts(), 3);
  EXPECT_EQ(as_vector(t.ranks_of(0)), (std::vector<int>{0, 2}));
  EXPECT_EQ(as_vector(t.ranks_of(1)), (std::vector<int>{1, 4}));
  EXPECT_EQ(as_vector(t.ranks_of(2)), (std::vector<int>{3}));
  EXPECT_EQ(t.host_of(4), 1);
  EXPECT_EQ(t.place(4).host, -4);
  EXPECT_EQ(t.cores_per_host(), 16);
}

TEST(Topology, TheDistanceIsTheClosestThingThatIsShared) {
  const Topology t({{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 8, 8}, {0, 16, 16, 16}, {1, 0, 0, 0}});
  EXPECT_EQ(t.distance(0, 0), Distance::cache);
  EXPECT_EQ(t.distance(0, 1), Distance::cache);
  EXPECT_EQ(t.distance(0, 2), Distance::socket);
  EXPECT_EQ(t.distance(0, 3), Distance::node);
  EXPECT_EQ(t.distance(0, 4), Distance::network);
  for (int a = 0; a < t.ranks(); ++a) {
    for (int b = 0; b < t.ranks(); ++b) EXPECT_EQ(t.distance(a, b), t.distance(b, a)) << a << " " << b;
  }
}

TEST(Topology, WhatIsNotKnownIsTakenAsShared) {
  const Place bound{0, 0, 0, 0};
  EXPECT_EQ(distance(bound, {.host = 0}), Distance::cache);
  EXPECT_EQ(distance(bound, {.host = 0, .socket = 16}), Distance::node);
  EXPECT_EQ(distance(bound, {.host = 0, .socket = 0}), Distance::cache);
  EXPECT_EQ(distance(bound, {.host = 0, .socket = -1, .cache = 8}), Distance::socket);
  EXPECT_EQ(distance(bound, {.host = 1}), Distance::network);
}

TEST(Topology, DistancesHaveNames) {
  EXPECT_EQ(std::string(name(Distance::cache)), "cache");
  EXPECT_EQ(std::string(name(Distance::socket)), "socket");
  EXPECT_EQ(std::string(name(Distance::node)), "node");
  EXPECT_EQ(std::string(name(Distance::network)), "network");
}

}  // namespace
}  // namespace stretto::topology
