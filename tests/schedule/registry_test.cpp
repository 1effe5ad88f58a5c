#include "schedule/registry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "schedule/names.hpp"

namespace stretto::schedule {
namespace {

TEST(Registry, EveryAlgorithmIsFoundByCollectiveAndName) {
  for (const Algorithm& a : algorithms()) EXPECT_EQ(find(a.collective, a.name), &a);
  EXPECT_EQ(find(Collective::allreduce, "no such"), nullptr);
  EXPECT_EQ(find(Collective::barrier, "ring"), nullptr);
}

TEST(Registry, EveryCollectiveHasADefaultAndOneThatKeepsOrder) {
  for (int i = 0; i < kCollectives; ++i) {
    const auto c = static_cast<Collective>(i);
    if (!is_family(c)) continue;
    EXPECT_EQ(default_algorithm(c).collective, c) << name(c);
    EXPECT_EQ(find(c, ""), &default_algorithm(c)) << name(c);
    EXPECT_EQ(default_algorithm(c, true).collective, c) << name(c);
    EXPECT_TRUE(default_algorithm(c, true).keeps_order) << name(c);
    if (reduces(c)) {
      EXPECT_EQ(default_algorithm(c, false, true).collective, c) << name(c);
      EXPECT_TRUE(default_algorithm(c, false, true).rank_by_rank) << name(c);
    }
  }
}

TEST(Registry, HasTheAlgorithmsThatItIsToHave) {
  std::set<std::string_view> names;
  for (const Algorithm& a : algorithms()) {
    names.insert(a.name);
    EXPECT_FALSE(a.cost.empty()) << a.name;
  }
  for (const char* wanted :
       {"ring", "recursive_doubling", "rabenseifner", "binomial", "knomial", "chain", "pairwise", "dissemination"}) {
    EXPECT_TRUE(names.contains(wanted)) << wanted;
  }
}

TEST(Registry, OptionsThatAnAlgorithmDoesNotUseChangeNothing) {
  for (const Algorithm& a : algorithms()) {
    const Schedule plain = a.build({.collective = a.collective, .ranks = 6, .rank = 2, .root = 1});
    const Schedule cut = a.build({.collective = a.collective, .ranks = 6, .rank = 2, .root = 1, .blocks = 3});
    const Schedule wide = a.build({.collective = a.collective, .ranks = 6, .rank = 2, .root = 1, .radix = 3});
    EXPECT_EQ(cut.blocks != plain.blocks, a.uses_blocks) << name(a.collective) << " " << a.name;
    if (!a.uses_radix) {
      EXPECT_EQ(wide.steps.size(), plain.steps.size()) << name(a.collective) << " " << a.name;
    }
  }
}

TEST(Registry, AnAlltoallTouchesBlocksOfOthersOnlyWhereItSaysSo) {
  for (const Algorithm& a : algorithms()) {
    EXPECT_TRUE(!a.passes_blocks_on || a.collective == Collective::alltoall);
    if (a.collective != Collective::alltoall) continue;
    bool others = false;
    for (const Schedule& s : build_all(a, {.ranks = 7})) {
      for (const Step& step : s.steps) {
        for (const Range& r : {step.src, step.dst}) {
          for (int b = r.first; b < r.first + r.count; ++b) others |= b / 7 != s.rank && b % 7 != s.rank;
        }
      }
    }
    EXPECT_EQ(others, a.passes_blocks_on) << a.name;
  }
}

TEST(Registry, BuildAllGivesEveryRankItsOwn) {
  const auto all = build_all(*find(Collective::gather, "binomial"), {.ranks = 5, .rank = 77, .root = 4});
  ASSERT_EQ(all.size(), 5u);
  for (int r = 0; r < 5; ++r) EXPECT_EQ(all[static_cast<std::size_t>(r)].rank, r);
}

TEST(Registry, NumbersTheBlocksOfAnAlltoallIn32Bits) {
  EXPECT_EQ(check_ranks(Collective::allreduce, 1 << 30), Status::ok);
  EXPECT_EQ(check_ranks(Collective::alltoall, 46340), Status::ok);
  EXPECT_EQ(check_ranks(Collective::alltoall, 46341), Status::unsupported);
  EXPECT_STREQ(message(), "schedules of alltoall serve up to 46340 ranks, not 46341");
}

}  // namespace
}  // namespace stretto::schedule
