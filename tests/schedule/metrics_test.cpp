// The closed costs of the algorithms, counted in their schedules.
#include "schedule/check/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "schedule/algorithms/fold.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

Metrics of(Collective c, const char* name, int ranks, int root = 0, int blocks = 0, int radix = 2) {
  Metrics m;
  const Algorithm* a = find(c, name);
  EXPECT_NE(a, nullptr) << name;
  if (a == nullptr) return m;
  const Status s = measure(build_all(*a, {.ranks = ranks, .root = root, .blocks = blocks, .radix = radix}), &m);
  EXPECT_EQ(s, Status::ok) << message();
  return m;
}

constexpr int kMost = 40;

TEST(Metrics, RingAllreduceTakesTwiceTheRanksLessOne) {
  for (int p = 1; p <= kMost; ++p) {
    const Metrics m = of(Collective::allreduce, "ring", p);  // blocks of n/p
    EXPECT_EQ(m.rounds, 2 * (p - 1));
    EXPECT_EQ(m.depth, 2 * (p - 1));
    EXPECT_EQ(m.blocks_sent_max, 2 * (p - 1));
    EXPECT_EQ(m.blocks_sent, 2 * (p - 1) * p);
    EXPECT_EQ(m.combines_max, p - 1);
    EXPECT_EQ(m.scratch_max, 0);
  }
}

TEST(Metrics, RingAndPairwiseHalvesOfAnAllreduceTakeRanksLessOne) {
  for (int p = 1; p <= kMost; ++p) {
    for (const char* name : {"ring", "pairwise"}) {
      const Metrics scatter = of(Collective::reduce_scatter, name, p);
      EXPECT_EQ(scatter.rounds, p - 1);
      EXPECT_EQ(scatter.blocks_sent_max, p - 1);
      EXPECT_EQ(scatter.combines_max, p - 1);
      const Metrics gather = of(Collective::allgather, name, p);
      EXPECT_EQ(gather.rounds, p - 1);
      EXPECT_EQ(gather.blocks_sent_max, p - 1);
      EXPECT_EQ(gather.combines, 0);
    }
  }
}

TEST(Metrics, RecursiveDoublingTakesALogarithmOfRoundsAndAFold) {
  for (int p = 1; p <= kMost; ++p) {
    const Fold fold(p);
    const int extra = fold.folds() ? 1 : 0;
    const Metrics m = of(Collective::allreduce, "recursive_doubling", p);  // one block of n
    EXPECT_EQ(m.rounds, fold.rounds() + 2 * extra);
    EXPECT_EQ(m.depth, fold.rounds() + 2 * extra);
    EXPECT_EQ(m.blocks_sent_max, p == 1 ? 0 : fold.rounds() + extra);
    EXPECT_EQ(m.combines_max, p == 1 ? 0 : fold.rounds() + extra);
    EXPECT_EQ(of(Collective::barrier, "recursive_doubling", p).rounds, m.rounds);
    const Metrics gather = of(Collective::allgather, "recursive_doubling", p);
    EXPECT_EQ(gather.rounds, m.rounds);
    if (extra == 0) {
      EXPECT_EQ(gather.blocks_sent_max, p - 1);
    }
  }
}

TEST(Metrics, RabenseifnerSendsWhatARingSendsInALogarithmOfRounds) {
  for (int p = 1; p <= kMost; ++p) {
    const Fold fold(p);
    const int q = fold.teams();  // blocks of n/q
    const int extra = fold.folds() ? 1 : 0;
    const Metrics m = of(Collective::allreduce, "rabenseifner", p);
    EXPECT_EQ(m.rounds, 2 * fold.rounds() + 2 * extra);
    EXPECT_EQ(m.depth, m.rounds);
    EXPECT_EQ(m.blocks_sent_max, 2 * (q - 1) + extra * q);
    EXPECT_EQ(m.combines_max, q - 1 + extra * q);
    for (const int root : {0, p / 2, p - 1}) {
      const Metrics reduce = of(Collective::reduce, "rabenseifner", p, root);
      EXPECT_EQ(reduce.rounds, 2 * fold.rounds() + extra);
      EXPECT_EQ(reduce.combines_max, q - 1 + extra * q);
      EXPECT_GE(reduce.blocks_received_max, 2 * (q - 1));
      EXPECT_LE(reduce.blocks_received_max, 2 * (q - 1) + extra * q);
    }
  }
}

TEST(Metrics, RecursiveHalvingHandsABlockOrTwoOver) {
  for (int p = 1; p <= kMost; ++p) {
    const Fold fold(p);
    const int extra = fold.folds() ? 1 : 0;
    const Metrics m = of(Collective::reduce_scatter, "recursive_halving", p);
    EXPECT_EQ(m.rounds, fold.rounds() + (p > 2 ? 1 : 0) + extra);
    EXPECT_LE(m.blocks_sent_max, std::max(p, p + 1));
    if (extra == 0) {
      EXPECT_EQ(m.combines_max, p - 1);
    }
  }
}

TEST(Metrics, TreesAreAsDeepAsTheLogarithmWhateverTheRoot) {
  for (int p = 1; p <= kMost; ++p) {
    for (int root = 0; root < p; ++root) {
      const int levels = log2_ceil(p);
      const Metrics reduce = of(Collective::reduce, "binomial", p, root);
      EXPECT_EQ(reduce.rounds, levels);
      EXPECT_EQ(reduce.depth, levels);
      EXPECT_EQ(reduce.messages, p - 1);
      EXPECT_EQ(reduce.combines, p - 1);
      EXPECT_LE(reduce.combines_max, levels);
      const Metrics broadcast = of(Collective::bcast, "binomial", p, root);
      EXPECT_EQ(broadcast.rounds, levels);
      EXPECT_LE(broadcast.depth, levels);
      EXPECT_LE(broadcast.blocks_sent_max, levels);
      EXPECT_EQ(of(Collective::gather, "binomial", p, root).blocks_received_max, p - 1);
      EXPECT_EQ(of(Collective::scatter, "binomial", p, root).blocks_sent_max, p - 1);
    }
    EXPECT_EQ(of(Collective::reduce, "binomial", p).combines_max, log2_ceil(p));
    EXPECT_EQ(of(Collective::bcast, "binomial", p).blocks_sent_max, log2_ceil(p));
    EXPECT_EQ(of(Collective::allreduce, "binomial", p).rounds, 2 * log2_ceil(p));
    EXPECT_EQ(of(Collective::barrier, "binomial", p).rounds, 2 * log2_ceil(p));
  }
}

TEST(Metrics, KnomialTreesAreFlatter) {
  for (const auto& [p, radix, levels] : {std::tuple{64, 4, 3}, {64, 8, 2}, {27, 3, 3}, {16, 16, 1}}) {
    const Metrics m = of(Collective::bcast, "knomial", p, 0, 0, radix);
    EXPECT_EQ(m.depth, levels);
    EXPECT_EQ(m.rounds, (radix - 1) * levels);
    EXPECT_EQ(m.messages_sent_max, (radix - 1) * levels);
    EXPECT_EQ(of(Collective::reduce, "knomial", p, p - 1, 0, radix).combines_max, (radix - 1) * levels);
  }
}

TEST(Metrics, AChainFillsOnceAndThenDeliversAPieceARound) {
  for (int p = 2; p <= kMost; ++p) {
    for (const int pieces : {1, 4, 9}) {
      const Metrics broadcast = of(Collective::bcast, "chain", p, p / 2, pieces);
      EXPECT_EQ(broadcast.rounds, p - 2 + pieces);
      EXPECT_EQ(broadcast.depth, p - 1);
      EXPECT_EQ(broadcast.blocks_sent_max, pieces);
      EXPECT_EQ(of(Collective::reduce, "chain", p, 0, pieces).rounds, p - 2 + pieces);
      EXPECT_EQ(of(Collective::reduce, "chain", p, p - 1, pieces).combines_max, pieces);
      const Metrics allreduce = of(Collective::allreduce, "chain", p, 0, pieces);
      EXPECT_EQ(allreduce.rounds, 2 * p - 3 + pieces);
      EXPECT_EQ(allreduce.blocks_sent_max, p == 2 ? pieces : 2 * pieces);
      EXPECT_EQ(allreduce.combines_max, pieces);
    }
  }
}

TEST(Metrics, TwoTreesFillInALogarithmAndThenDeliverAPieceARound) {
  for (int p = 2; p <= kMost; ++p) {
    const int t = log2_floor(p) + 1;
    for (const int pieces : {1, 4, 8, 32}) {
      const Metrics allreduce = of(Collective::allreduce, "two_tree", p, 0, pieces);
      EXPECT_LE(allreduce.rounds, pieces - 1 + 4 * t);
      EXPECT_LE(allreduce.depth, pieces - 1 + 4 * t);
      if (pieces % 2 == 0) {
        EXPECT_LE(allreduce.blocks_sent_max, 2 * pieces);
        EXPECT_LE(allreduce.blocks_received_max, 2 * pieces);
        EXPECT_LE(allreduce.combines_max, pieces);
      }
      for (const int root : {0, p / 3, p - 1}) {
        const Metrics reduce = of(Collective::reduce, "two_tree", p, root, pieces);
        EXPECT_LE(reduce.rounds, pieces + 1 + 2 * t);
        EXPECT_EQ(reduce.messages, (p - 1) * pieces);
        const Metrics broadcast = of(Collective::bcast, "two_tree", p, root, pieces);
        EXPECT_LE(broadcast.rounds, pieces + 1 + 2 * t);
        EXPECT_EQ(broadcast.messages, (p - 1) * pieces);
        if (pieces % 2 == 0) {
          EXPECT_LE(reduce.combines_max, pieces);
          EXPECT_LE(reduce.blocks_sent_max, pieces);
          EXPECT_LE(broadcast.blocks_sent_max, pieces);
        }
      }
    }
  }
}

TEST(Metrics, DisseminationTakesTheCeilingOfTheLogarithm) {
  for (int p = 1; p <= kMost; ++p) {
    EXPECT_EQ(of(Collective::barrier, "dissemination", p).rounds, log2_ceil(p));
    EXPECT_EQ(of(Collective::barrier, "dissemination", p).depth, log2_ceil(p));
    const Metrics m = of(Collective::allgather, "dissemination", p);
    EXPECT_EQ(m.rounds, log2_ceil(p));
    EXPECT_LE(m.depth, log2_ceil(p));
    EXPECT_EQ(m.blocks_sent_max, p - 1);
  }
}

TEST(Metrics, BruckTakesLogRoundsAndMovesABlockAtMostThatOften) {
  for (int p = 2; p <= kMost; ++p) {
    const int rounds = log2_ceil(p);
    const Metrics m = of(Collective::alltoall, "bruck", p);
    EXPECT_EQ(m.rounds, rounds);
    EXPECT_LE(m.depth, rounds);
    EXPECT_LE(m.blocks_sent_max, (p + 1) / 2 * rounds);
    EXPECT_LE(m.messages_sent_max, p - 1 + rounds + p / 2);  // ranges that wrap around at p are two
    if (p == 1 << rounds) {
      EXPECT_EQ(m.blocks_sent_max, p / 2 * rounds);
    }
  }
}

TEST(Metrics, ScatterAndAllgatherSendsTheVectorAboutTwice) {
  for (int p = 1; p <= kMost; ++p) {
    for (int root = 0; root < p; ++root) {
      EXPECT_LE(of(Collective::bcast, "scatter_allgather", p, root).blocks_sent_max, 2 * (p - 1));
    }
  }
}

TEST(Metrics, LinearAlgorithmsAreOneHopDeep) {
  for (int p = 2; p <= kMost; ++p) {
    for (const Collective c : {Collective::bcast, Collective::gather, Collective::scatter, Collective::alltoall}) {
      const Metrics m = of(c, "linear", p, p / 3);
      EXPECT_EQ(m.depth, 1);
      EXPECT_EQ(m.messages, c == Collective::alltoall ? p * (p - 1) : p - 1);
      EXPECT_EQ(m.scratch_max, 0);
    }
    EXPECT_EQ(of(Collective::reduce, "linear", p, p / 3).combines_max, p - 1);
    EXPECT_EQ(of(Collective::reduce_scatter, "linear", p).rounds, 2 * (p - 1));
    EXPECT_EQ(of(Collective::reduce_scatter, "linear", p).blocks_sent_max, p - 1);
    EXPECT_EQ(of(Collective::barrier, "linear", p).rounds, 2);
  }
}

TEST(Metrics, ALineTakesAPieceToEveryRankAndThenToItsOwner) {
  for (int p = 2; p <= kMost; ++p) {
    for (const int pieces : {1, 3, 8}) {
      EXPECT_EQ(of(Collective::reduce, "line", p, p - 1, pieces).rounds, p - 2 + pieces);
      EXPECT_EQ(of(Collective::reduce, "line", p, 0, pieces).rounds, p - 1 + pieces);
      EXPECT_EQ(of(Collective::reduce, "line", p, 0, pieces).blocks_sent_max, pieces);
      EXPECT_EQ(of(Collective::reduce, "line", p, 0, pieces).combines_max, pieces);
    }
    EXPECT_EQ(of(Collective::reduce_scatter, "line", p).rounds, 2 * p - 2);
    EXPECT_EQ(of(Collective::reduce_scatter, "line", p).blocks_sent_max, p);
    EXPECT_EQ(of(Collective::reduce_scatter, "line", p).combines_max, p);
  }
}

// As built by a model of large machines: the schedule of one rank takes only the memory of its steps.
TEST(Metrics, ARankOfManyHasFewStepsWhereRoundsAreFew) {
  constexpr int ranks = 131072;
  std::vector<std::int32_t> host(ranks);
  for (int r = 0; r < ranks; ++r) host[static_cast<std::size_t>(r)] = r / 4;
  const Groups groups = groups_of(host);
  int few = 0;
  for (const Algorithm& a : algorithms()) {
    if (a.collective == Collective::alltoall) continue;  // ranks^2 blocks
    for (const int rank : {1, 77777, ranks - 1}) {
      const Schedule s = a.build({.ranks = ranks, .rank = rank, .root = 5, .blocks = 4, .groups = &groups});
      EXPECT_LE(s.steps.size(), 5 * static_cast<std::size_t>(ranks)) << name(a.collective) << " " << a.name;
      few += s.steps.size() < 100 ? 1 : 0;
      for (const std::string_view wanted : {"recursive_doubling", "rabenseifner", "two_tree", "leader", "chain",
                                            "hierarchical_rabenseifner", "hierarchical_recursive_doubling"}) {
        if (a.name != wanted) continue;
        EXPECT_LT(s.steps.size(), 100u) << name(a.collective) << " " << a.name;
      }
    }
  }
  EXPECT_GT(few, 60);
}

TEST(Metrics, SchedulesWhoseMessagesDoNotMeetAreRefused) {
  auto all = build_all(*find(Collective::bcast, "binomial"), {.ranks = 4});
  all[3].steps.clear();
  Metrics m;
  EXPECT_EQ(measure(all, &m), Status::internal);
}

}  // namespace
}  // namespace stretto::schedule
