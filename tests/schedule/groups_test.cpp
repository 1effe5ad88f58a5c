// Algorithms of two floors, checked symbolically over groups of any sizes: of one rank, of all, unequal, and
// interleaved.
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
#include "schedule/names.hpp"
#include "schedule/program.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

class GroupsTest : public testing::TestWithParam<Algorithm> {
 protected:
  static std::vector<Schedule> build(const Groups& groups, int root = 0) {
    const auto ranks = static_cast<int>(groups.group_of.size());
    return build_all(GetParam(), {.ranks = ranks, .root = root, .groups = &groups});
  }
  static void expect_right(const Colors& colors) {
    const Groups groups = groups_of(colors);
    for (const int root : roots(GetParam(), static_cast<int>(colors.size()))) {
      const auto all = build(groups, root);
      ASSERT_EQ(check(all), Status::ok) << message() << "\n  root " << root << ", groups " << text(colors);
      ASSERT_EQ(all.front().keeps_order, keeps_order(GetParam(), &groups)) << text(colors);
    }
  }
};

TEST_P(GroupsTest, AreRightForGroupsOfEverySizeUpToSeventeenRanks) {
  for (int ranks = 1; ranks <= 17; ranks += stride_if_sanitized(4)) {
    for (int size = 1; size <= ranks; ++size) {
      expect_right(rows(ranks, size));
      expect_right(round_robin(ranks, size));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GroupsTest, AreRightForRandomGroups) {
  for (int ranks = 2; ranks <= 41; ranks += stride_if_sanitized(9)) {
    for (const bool shuffled : {false, true}) {
      expect_right(random_colors(ranks, shuffled, static_cast<unsigned>(ranks)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(GroupsTest, AreRightForManyRanks) {
  expect_right(rows(130, 4));
  expect_right(rows(130, 64));
  expect_right(round_robin(130, 9));
  expect_right(random_colors(130, true, 1));
}

TEST_P(GroupsTest, LinksSayWhetherAMessageLeavesTheGroup) {
  const Groups groups = groups_of(random_colors(23, true, 5));
  for (const Schedule& s : build(groups, 3)) {
    for (const Step& step : s.steps) {
      if (step.peer < 0) {
        EXPECT_EQ(step.link, Link::local);
        continue;
      }
      const auto group = [&](int rank) { return groups.group_of[static_cast<std::size_t>(rank)]; };
      EXPECT_EQ(step.link, group(step.peer) == group(s.rank) ? Link::node : Link::network);
    }
  }
}

TEST_P(GroupsTest, ChangeWhatAnAlgorithmDoes) {
  const Groups groups = groups_of(round_robin(12, 5));
  const Request request{.ranks = 12, .root = 5};
  Request grouped = request;
  grouped.groups = &groups;
  const auto peers = [&](const Request& q) {
    std::vector<std::int32_t> all;
    for (const Schedule& s : build_all(GetParam(), q)) {
      for (const Step& step : s.steps) all.push_back(step.peer);
    }
    return all;
  };
  EXPECT_NE(peers(request), peers(grouped));
}

INSTANTIATE_TEST_SUITE_P(All, GroupsTest, testing::ValuesIn(of_groups()),
                         [](const auto& info) { return name_of(info.param); });

TEST(Groups, AreNumberedByTheirLowestRankAndKnowTheirShape) {
  const Groups g = groups_of(Colors{7, 7, -2, 7, -2, 0});
  EXPECT_EQ(g.group_of, (Colors{0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(g.members, (std::vector<Colors>{{0, 1, 3}, {2, 4}, {5}}));
  EXPECT_EQ(g.largest, 3);
  EXPECT_FALSE(g.consecutive);
  EXPECT_TRUE(groups_of(Colors{5, 5, 1, 1, 1}).consecutive);
}

TEST(Groups, EveryPieceHasOneOwnerInEveryGroupAndSharesAreEven) {
  for (unsigned seed = 1; seed < 30; ++seed) {
    const Groups groups = groups_of(random_colors(30, true, seed));
    const Floors floors({.ranks = 30, .groups = &groups});
    for (int g = 0; g < floors.groups(); ++g) {
      EXPECT_EQ(floors.first_piece(g, 0), 0);
      EXPECT_EQ(floors.first_piece(g, floors.size(g)), floors.largest());
      for (int i = 0; i < floors.size(g); ++i) {
        const int owned = floors.first_piece(g, i + 1) - floors.first_piece(g, i);
        EXPECT_GE(owned, floors.largest() / floors.size(g));
        EXPECT_LE(owned, floors.largest() / floors.size(g) + 1);
        EXPECT_EQ(floors.index(floors.member(g, i)), i);
        for (int piece = floors.first_piece(g, i); piece < floors.first_piece(g, i + 1); ++piece) {
          EXPECT_EQ(floors.owner(g, piece), floors.member(g, i));
        }
      }
    }
  }
}

// ---- what crosses between groups, in blocks of n / (D * blocks of a piece)

struct Crossing {
  std::int64_t node = 0, network = 0, network_messages = 0;  // blocks sent by the busiest rank
};

Crossing crossing(const std::vector<Schedule>& all) {
  Crossing most;
  for (const Schedule& s : all) {
    Crossing own;
    for (const Step& step : s.steps) {
      if (step.kind != Kind::send) continue;
      (step.link == Link::node ? own.node : own.network) += step.src.count;
      own.network_messages += step.link == Link::network;
    }
    most.node = std::max(most.node, own.node);
    most.network = std::max(most.network, own.network);
    most.network_messages = std::max(most.network_messages, own.network_messages);
  }
  return most;
}

Crossing crossing(Collective c, const char* name, int groups, int size, Metrics* metrics) {
  const Groups g = groups_of(rows(groups * size, size));
  const auto all = build_all(*find(c, name), {.ranks = groups * size, .groups = &g});
  EXPECT_EQ(measure(all, metrics), Status::ok) << message();
  return crossing(all);
}

TEST(Groups, HierarchicalAllreduceSendsAVectorPartBetweenGroups) {
  for (const int H : {1, 2, 3, 4, 6, 7}) {
    for (const int D : {1, 2, 3, 5}) {
      Metrics m;
      const Crossing ring = crossing(Collective::allreduce, "hierarchical_ring", H, D, &m);  // blocks of n / (D H)
      EXPECT_EQ(ring.node, 2 * (D - 1) * H);
      EXPECT_EQ(ring.network, 2 * (H - 1));
      EXPECT_EQ(m.rounds, 3 * (D - 1) + 2 * (H - 1));
      EXPECT_EQ(m.combines_max, (D - 1) * H + H - 1);
      EXPECT_EQ(m.depth, D - 1 + 2 * (H - 1) + (D > 1 ? 1 : 0));
      if (H == 2 || H == 4) {
        const Crossing halving = crossing(Collective::allreduce, "hierarchical_rabenseifner", H, D, &m);
        EXPECT_EQ(halving.network, 2 * (H - 1));
        const Crossing doubling = crossing(Collective::allreduce, "hierarchical_recursive_doubling", H, D, &m);
        EXPECT_EQ(doubling.network, H == 2 ? 1 : 2);
        EXPECT_EQ(m.rounds, 3 * (D - 1) + doubling.network);
      }
    }
  }
}

TEST(Groups, ReduceScatterAndAllgatherCrossOnceWithARingsMessages) {
  for (const int H : {1, 2, 3, 7}) {
    for (const int D : {1, 2, 3, 5}) {
      for (const Collective c : {Collective::reduce_scatter, Collective::allgather}) {
        Metrics m;
        const Crossing some = crossing(c, "hierarchical_ring", H, D, &m);  // blocks of n / p
        EXPECT_EQ(some.network, H - 1);
        EXPECT_EQ(some.node, (D - 1) * H);
        EXPECT_EQ(m.messages_sent_max, H * D - 1);
        EXPECT_EQ(m.rounds, (c == Collective::allgather ? 1 : 2) * (D - 1) + H - 1);
      }
    }
  }
}

TEST(Groups, LeadersTakeLogarithmicRoundsAndMessages) {
  for (const int H : {1, 2, 4, 8}) {
    for (const int D : {1, 2, 3, 6}) {
      const int l = log2_ceil(D), h = log2_ceil(H);
      const auto expect = [&](Collective c, int rounds) {
        Metrics m;
        const Crossing some = crossing(c, "leader", H, D, &m);
        EXPECT_EQ(m.rounds, rounds) << name(c) << " " << H << " " << D;
        EXPECT_LE(some.network_messages, c == Collective::allgather ? 2 * h : h) << name(c) << " " << H << " " << D;
      };
      expect(Collective::allreduce, 2 * l + h);
      expect(Collective::reduce, l + h);
      expect(Collective::bcast, l + h);
      expect(Collective::allgather, 2 * l + h);
      expect(Collective::gather, l + h);
      expect(Collective::scatter, l + h);
      expect(Collective::barrier, 2 * l + h);
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
