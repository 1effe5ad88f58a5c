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

TEST(Topology, HostsAreOrderedByLowestRankWhateverTheirNumbers) {
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

using Levels = std::vector<std::vector<std::int32_t>>;

Levels levels(Topology t, std::string_view labels) {
  EXPECT_EQ(t.take_levels(labels), Status::ok) << message();
  EXPECT_EQ(t.nested(), t.levels().size() > 1);
  return t.levels();
}

// Two hosts: two sockets of two caches of two ranks each; and one socket of three ranks, two of which share a cache.
std::vector<Place> places() {
  std::vector<Place> all;
  for (int i = 0; i < 8; ++i) all.push_back({.host = 0, .socket = i / 4, .cache = i / 2});
  for (int i = 0; i < 3; ++i) all.push_back({.host = 1, .socket = 0, .cache = i / 2});
  return all;
}

TEST(Topology, LevelsRunInwardsInAnyRequestedOrder) {
  const Topology t(places());
  const std::vector<std::int32_t> hosts = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1},
                                  sockets = {0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0},
                                  caches = {0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1};
  EXPECT_EQ(t.levels(), (Levels{hosts, sockets, caches}));
  EXPECT_EQ(levels(t, kAllLevels), t.levels());
  EXPECT_EQ(levels(t, "socket,l3"), (Levels{hosts, sockets, caches}));
  EXPECT_EQ(levels(t, "numa"), Levels{hosts});  // where these ranks are, nobody knows
  EXPECT_EQ(levels(t, "l3"), (Levels{hosts, caches}));
  EXPECT_EQ(levels(t, ""), Levels{hosts});
}

TEST(Topology, TrivialLevelsAndUnboundRanksMakeNoLevel) {
  EXPECT_EQ(levels(Topology::regular(6, 3), kAllLevels).size(), 1u);
  std::vector<Place> all = places();
  all[3].socket = all[9].cache = -1;
  const Levels some = levels(Topology(all), kAllLevels);
  EXPECT_EQ(some, (Levels{{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 0}}));
  for (Place& p : all) p.cache = p.core = static_cast<std::int32_t>(&p - all.data());  // each alone
  EXPECT_EQ(levels(Topology(all), "l3").size(), 1u);
}

TEST(Topology, AnUnknownLevelIsNamed) {
  EXPECT_EQ(Topology(places()).take_levels("socket,die"), Status::invalid_argument);
  EXPECT_EQ(std::string(message()), "'die' is no level of a hierarchy: it takes l3, numa, socket");
}

}  // namespace
}  // namespace stretto::topology
