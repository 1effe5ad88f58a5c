#include "node/hierarchy/hierarchy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace stretto::node {
namespace {

using topology::Place;

std::vector<int> of(std::span<const int> s) { return {s.begin(), s.end()}; }

// 2 sockets of 2 caches of 2 ranks.
std::vector<Place> two_sockets() {
  std::vector<Place> places;
  for (int r = 0; r < 8; ++r) places.push_back({0, r / 4, r / 2, r});
  return places;
}

TEST(Hierarchy, FollowsCachesAndSocketsAndEndsWithAllRanks) {
  Hierarchy h;
  ASSERT_EQ(Hierarchy::from_places(two_sockets(), "l3,numa,socket", &h), Status::ok);
  ASSERT_EQ(h.levels(), 3);
  EXPECT_EQ(of(h.group(1, 3)), (std::vector{2, 3}));
  EXPECT_EQ(of(h.group(2, 3)), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(of(h.children(2, 3)), (std::vector{0, 2}));
  EXPECT_EQ(of(h.children(3, 3)), (std::vector{0, 4}));
  EXPECT_EQ(of(h.children(1, 5)), (std::vector{4, 5}));
  EXPECT_EQ(h.index(2, 6), 2);
}

TEST(Hierarchy, LevelOfOneGroupIsOmitted) {
  Hierarchy h;
  const std::vector<Place> one_cache(4, Place{0, 0, 0, -1});
  ASSERT_EQ(Hierarchy::from_places(one_cache, "l3,numa,socket", &h), Status::ok);
  EXPECT_EQ(h.levels(), 1);
  const std::vector<Place> unbound(4, Place{0, -1, -1, -1});
  ASSERT_EQ(Hierarchy::from_places(unbound, "l3,socket", &h), Status::ok);
  EXPECT_EQ(h.levels(), 1);
  EXPECT_EQ(Hierarchy::from_places(unbound, "l3,core", &h), Status::invalid_argument);
}

TEST(Hierarchy, LevelsThatDoNotNestAreRefused) {
  Hierarchy h;
  EXPECT_EQ(Hierarchy::from_labels({{0, 0, 1, 1}, {0, 1, 1, 0}}, 4, &h), Status::invalid_argument);
  EXPECT_EQ(Hierarchy::from_labels({{0, 0, 1}}, 4, &h), Status::invalid_argument);
}

// For every root, each other rank has exactly one parent, which is nearer to the root, and few lines cross a group's
// border.
TEST(Hierarchy, TreeOfAnyRootReachesAllAndEntersEachGroupOnce) {
  Hierarchy h;
  ASSERT_EQ(Hierarchy::from_labels({{0, 0, 1, 2, 2, 2, 3}, {0, 0, 0, 1, 1, 1, 1}}, 7, &h), Status::ok);
  for (int root = 0; root < 7; ++root) {
    std::vector<int> entries(7, 0);
    for (int r = 0; r < 7; ++r) {
      int steps = 0;
      for (int at = r; at != root; at = h.parent(at, root)) {
        ASSERT_LT(++steps, 7);
        ASSERT_GE(h.parent(at, root), 0);
      }
      if (r != root) {
        const auto children = h.offspring(h.parent(r, root), root);
        EXPECT_EQ(std::count(children.begin(), children.end(), r), 1);
        const int lowest = h.group(2, r).front();
        if (h.group(2, h.parent(r, root)).front() != lowest) ++entries[static_cast<std::size_t>(lowest)];
      }
    }
    EXPECT_EQ(h.parent(root, root), -1);
    for (const int lowest : {0, 3}) {
      const bool holds_root = h.group(2, root).front() == lowest;
      EXPECT_EQ(entries[static_cast<std::size_t>(lowest)], holds_root ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace stretto::node
