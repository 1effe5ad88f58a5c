#include "node/hierarchy/hierarchy_text.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace stretto::node {
namespace {

using topology::Place;

// 2 sockets of 2 caches of 2 ranks.
Status parse(const char* text, Hierarchies* h, int lowest = 0) {
  std::vector<Place> places;
  std::vector<int> numbers(8);
  for (int r = 0; r < 8; ++r) places.push_back({0, r / 4, r / 2, r});
  std::iota(numbers.begin(), numbers.end(), lowest);
  return parse_hierarchies(text, places, numbers, h);
}

std::vector<int> group(const Hierarchy& h, int level, int rank) {
  const auto g = h.group(level, rank);
  return {g.begin(), g.end()};
}

TEST(HierarchyText, LevelsAreTheMachinesFlatOrExplicitGroups) {
  Hierarchies h;
  ASSERT_EQ(parse("l3,socket", &h), Status::ok) << message();
  EXPECT_EQ(h.usual.levels(), 3);
  ASSERT_EQ(parse("flat", &h), Status::ok) << message();
  EXPECT_EQ(h.usual.levels(), 1);
  ASSERT_EQ(parse("0,2|1,3-4|5-6/0-4|5-7", &h), Status::ok) << message();
  ASSERT_EQ(h.usual.levels(), 3);
  EXPECT_EQ(group(h.usual, 1, 2), (std::vector{0, 2}));
  EXPECT_EQ(group(h.usual, 1, 3), (std::vector{1, 3, 4}));
  EXPECT_EQ(group(h.usual, 1, 7), (std::vector{7}));  // named in no group
  EXPECT_EQ(group(h.usual, 2, 7), (std::vector{5, 6, 7}));
  EXPECT_TRUE(h.of.empty());
}

TEST(HierarchyText, OperationsMayHaveTheirOwn) {
  Hierarchies h;
  ASSERT_EQ(parse("bcast=flat;reduce=0-3|4-7", &h), Status::ok) << message();
  EXPECT_EQ(h.usual.levels(), 3);
  ASSERT_EQ(h.of.size(), 2u);
  EXPECT_EQ(h.of[0].first, Collective::bcast);
  EXPECT_EQ(h.of[0].second.levels(), 1);
  EXPECT_EQ(h.of[1].first, Collective::reduce);
  EXPECT_EQ(h.of[1].second.levels(), 2);
}

TEST(HierarchyText, GroupsNameRanksByNumber) {
  Hierarchies h;
  ASSERT_EQ(parse("0-11|12-17", &h, 10), Status::ok) << message();
  EXPECT_EQ(group(h.usual, 1, 0), (std::vector{0, 1}));
  EXPECT_EQ(group(h.usual, 1, 7), (std::vector{2, 3, 4, 5, 6, 7}));
}

// A cache that serves two sockets, for example with two kinds of hosts.
TEST(HierarchyText, LevelsThatDoNotNestGiveOneLevelByDefault) {
  const std::vector<Place> places{{0, 0, 0, 0}, {0, 0, 8, 8}, {0, 0, 0, 0}, {0, 8, 8, 8}};
  const std::vector<int> numbers{0, 1, 2, 3};
  Hierarchies h;
  ASSERT_EQ(parse_hierarchies("", places, numbers, &h), Status::ok) << message();
  EXPECT_EQ(h.usual.levels(), 1);
  ASSERT_EQ(parse_hierarchies("bcast=0,1|2,3", places, numbers, &h), Status::ok) << message();
  EXPECT_EQ(parse_hierarchies("l3,numa,socket", places, numbers, &h), Status::invalid_argument);
  EXPECT_NE(std::string(message()).find("levels do not nest"), std::string::npos) << message();
}

TEST(HierarchyText, UnreadableTextIsNamed) {
  const std::pair<const char*, const char*> cases[] = {{"l3,die", "'l3,die' is no hierarchy"},
                                                       {"2147483640-2147483647", "'2147483640-2147483647' is neither"},
                                                       {"flat;;", "'' is no hierarchy"},
                                                       {"0-3|x", "'x' is neither a rank nor a range"},
                                                       {"3-0|4", "'3-0' is neither a rank nor a range"},
                                                       {"0-99999999", "'0-99999999' is neither a rank nor a range"},
                                                       {"0-3|3-7", "rank 3 is named twice in '0-3|3-7'"},
                                                       {"0,1|2/0|1,2", "'0,1|2/0|1,2': levels do not nest"},
                                                       {"gather=flat", "'gather' is no operation with a hierarchy"}};
  for (const auto& [text, told] : cases) {
    Hierarchies h;
    EXPECT_EQ(parse(text, &h), Status::invalid_argument) << text;
    EXPECT_EQ(std::string(message()).find(told), 0u) << message();
  }
}

}  // namespace
}  // namespace stretto::node
