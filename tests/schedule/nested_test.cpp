// Nested groups: hosts with sockets with caches, of any sizes. Every algorithm of groups is right on them, and data
// cross between inner groups once.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../sanitized.hpp"
#include "base/status.hpp"
#include "colors.hpp"
#include "schedule/check/checker.hpp"
#include "schedule/check/metrics.hpp"
#include "schedule/floors.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

using Levels = std::vector<Colors>;

std::string all_of(const Levels& levels) {
  std::string s;
  for (const Colors& c : levels) s += text(c) + "| ";
  return s;
}

class NestedTest : public testing::TestWithParam<Algorithm> {
 protected:
  static void expect_right(const Levels& levels) {
    const Groups groups = groups_of(levels);
    const int ranks = static_cast<int>(levels.front().size());
    for (const int root : roots(GetParam(), ranks)) {
      const auto all = build_all(GetParam(), {.ranks = ranks, .root = root, .groups = &groups});
      ASSERT_EQ(check(all), Status::ok) << message() << "\n  root " << root << ", levels " << all_of(levels);
      ASSERT_EQ(all.front().keeps_order, keeps_order(GetParam(), &groups)) << all_of(levels);
    }
  }
};

TEST_P(NestedTest, AreRightInRowsOfEverySize) {
  for (int ranks = 1; ranks <= 14; ranks += stride_if_sanitized(5)) {
    for (int host = 1; host <= ranks; ++host) {
      for (int socket = 1; socket < host; ++socket) {
        expect_right({rows(ranks, host), rows(ranks, socket)});
        expect_right({rows(ranks, host), round_robin(ranks, socket)});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(NestedTest, AreRightForRandomLevels) {
  for (unsigned seed = 2; seed <= 41; seed += static_cast<unsigned>(stride_if_sanitized(9))) {
    const int ranks = static_cast<int>(seed);
    for (const bool shuffled : {false, true}) {
      expect_right({random_colors(ranks, shuffled, seed, 17), random_colors(ranks, shuffled, seed + 1, 7),
                    random_colors(ranks, shuffled, seed + 2, 3)});
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(NestedTest, AreRightForManyRanks) {
  expect_right({rows(130, 24), rows(130, 12), rows(130, 4)});
  expect_right({round_robin(130, 3), rows(130, 9), random_colors(130, true, 7)});
  expect_right({rows(131, 131), random_colors(131, false, 3, 40), random_colors(131, false, 3)});
}

TEST_P(NestedTest, LinksAreThoseOfTheOutermostLevel) {
  const Levels levels = {rows(20, 9), rows(20, 3)};
  const Groups groups = groups_of(levels);
  for (const Schedule& s : build_all(GetParam(), {.ranks = 20, .root = 4, .groups = &groups})) {
    for (const Step& step : s.steps) {
      if (step.peer >= 0) {
        EXPECT_EQ(step.link, step.peer / 9 == s.rank / 9 ? Link::node : Link::network);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NestedTest, testing::ValuesIn(of_groups()),
                         [](const auto& info) { return name_of(info.param); });

TEST(Nested, LevelsThatSeparateNobodyAreLeftOut) {
  const auto same = [](const Levels& a, const Levels& b) {
    const Groups x = groups_of(a), y = groups_of(b);
    const Request q{.ranks = 12, .rank = 5, .groups = &x}, r{.ranks = 12, .rank = 5, .groups = &y};
    const auto& algorithm = *find(Collective::allreduce, "hierarchical_ring");
    const Schedule s = algorithm.build(q), t = algorithm.build(r);
    return s.steps.size() == t.steps.size() && x.exchange_rounds == y.exchange_rounds && x.tree_rounds == y.tree_rounds;
  };
  const Colors hosts = rows(12, 6), sockets = rows(12, 3), alone = rows(12, 1), together = rows(12, 12);
  EXPECT_TRUE(same({hosts, hosts, sockets}, {hosts, sockets}));
  EXPECT_TRUE(same({hosts, together, sockets, alone}, {hosts, sockets}));
  EXPECT_TRUE(same({hosts, alone, together}, {hosts}));
  EXPECT_FALSE(same({hosts, sockets}, {hosts}));
  EXPECT_TRUE(groups_of(Levels{hosts, alone}).inside.empty());
}

TEST(Nested, AGroupMayBeGroupedWhereAnotherIsNot) {
  const Groups g = groups_of(Levels{{0, 0, 0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2, 2}});
  ASSERT_EQ(g.inside.size(), 2u);
  EXPECT_EQ(g.inside[0].members, (std::vector<Colors>{{0, 1}, {2, 3}}));
  EXPECT_TRUE(g.inside[1].members.empty());
  EXPECT_EQ(g.exchange_rounds, 2);
  EXPECT_TRUE(g.ordered);
  EXPECT_FALSE(groups_of(Levels{{0, 0, 0, 0, 1, 1, 1}, {0, 1, 0, 1, 2, 2, 2}}).ordered);
}

// Blocks that the busiest rank sends to other inner groups of its host.
std::int64_t crossing(const std::vector<Schedule>& all, const Levels& levels) {
  std::int64_t most = 0;
  for (const Schedule& s : all) {
    std::int64_t own = 0;
    for (const Step& step : s.steps) {
      if (step.kind != Kind::send || step.link != Link::node) continue;
      const auto inner = [&](int rank) { return levels[1][static_cast<std::size_t>(rank)]; };
      if (inner(step.peer) != inner(s.rank)) own += step.src.count;
    }
    most = std::max(most, own);
  }
  return most;
}

// H hosts of S sockets of E ranks: between sockets goes 1/E of what goes there without that level.
TEST(Nested, WhatCrossesBetweenInnerGroupsIsShared) {
  for (const int H : {1, 2, 3}) {
    for (const int S : {2, 3}) {
      for (const int E : {2, 5}) {
        const int D = S * E, p = H * D;
        const Levels levels = {rows(p, D), rows(p, E)};
        const Groups nested = groups_of(levels), flat = groups_of(levels[0]);
        for (const char* name : {"hierarchical_ring", "hierarchical_recursive_doubling"}) {
          const Algorithm& a = *find(Collective::allreduce, name);
          const auto all = build_all(a, {.ranks = p, .groups = &nested});
          const std::int64_t with = crossing(all, levels), width = all[0].blocks / D;
          EXPECT_EQ(with, 2 * (S - 1) * width) << name;
          EXPECT_EQ(crossing(build_all(a, {.ranks = p, .groups = &flat}), levels), E * with) << name;
          Metrics m;
          ASSERT_EQ(measure(all, &m), Status::ok) << message();
          const int inside = 3 * (E - 1 + S - 1);
          if (name == std::string("hierarchical_ring")) {
            EXPECT_EQ(m.rounds, inside + 2 * (H - 1));
          }
        }
        for (const Collective c : {Collective::reduce_scatter, Collective::allgather}) {
          const auto all = build_all(*find(c, "hierarchical_ring"), {.ranks = p, .groups = &nested});
          EXPECT_EQ(crossing(all, levels), (S - 1) * H);
        }
        Metrics m;
        ASSERT_EQ(measure(build_all(*find(Collective::barrier, "leader"), {.ranks = p, .groups = &nested}), &m),
                  Status::ok);
        EXPECT_EQ(m.rounds, 2 * (log2_ceil(E) + log2_ceil(S)) + log2_ceil(H));
      }
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
