// The closed model of split trees, against what its source prints for 64 cores, and what follows for 48.
#include "model/split_tree.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "model/profile/profile.hpp"

namespace stretto::model {
namespace {

// The smallest number of ranks from which a split is the best, from half the cores on.
std::map<int, int> begins(int cores, Edges edges = Edges::alike) {
  std::map<int, int> found;
  int last = -1;
  for (int n = cores / 2; n < cores; ++n) {
    const int split = SplitTree{cores, edges}.best(n, 3);
    EXPECT_GE(split, last) << n;  // it never falls
    last = split;
    found.emplace(split, n);
  }
  return found;
}

TEST(SplitTree, ItsBestSplitIsThatOfTheSource) {
  EXPECT_EQ(begins(64), (std::map<int, int>{{0, 32}, {1, 52}, {2, 58}, {3, 62}}));
  EXPECT_EQ(begins(48), (std::map<int, int>{{0, 24}, {1, 39}, {2, 44}, {3, 47}}));
}

TEST(SplitTree, ATransferALevelForEachEdgeOfTheTree) {
  for (int n = 1; n < 70; ++n) {
    const SplitTree tree{80};
    int edges = 0;
    for (int i = 1; i <= tree.levels(n); ++i) edges += tree.transfers(n, i);
    EXPECT_EQ(edges, n - 1) << n;  // of a tree
    EXPECT_EQ(tree.blocking(n), tree.levels(n)) << n;
  }
}

TEST(SplitTree, AGatherDoublesALevel) {
  const SplitTree tree{16, Edges::double_};
  EXPECT_EQ(tree.blocking(8), 1 + 2 + 4);
  EXPECT_EQ(tree.overlapped(8, 0), 8.0);  // 16 / 8 * 4 of work hide 1 + 2 + 4
  EXPECT_EQ(tree.overlapped(8, 1), 9.0);
  EXPECT_EQ(tree.overlapped(15, 0), 7 * 1 + 4 * 2 + 2 * 4 + 8);  // one core for all
  EXPECT_EQ(tree.overlapped(15, 4), 15 + 16.0 / 15 * 4);         // nothing is left to hide
}

TEST(SplitTree, ATreeOfTheRanksAloneNeedsNoCommunicationCores) {
  const double edge[] = {1, 10, 100};
  const Parts all = SplitTree{8}.parts(8, 3, edge);
  EXPECT_EQ(all.before, 111);
  EXPECT_EQ(all.beside, 0);
  const Parts split = SplitTree{8}.parts(6, 1, edge);  // two cores for 3, 2 and 1 transfers
  EXPECT_EQ(split.before, 1);
  EXPECT_EQ(split.beside, 110);
}

TEST(SplitTree, RanksThatLeaveNoCoreAreRefused) {
  EXPECT_EQ((SplitTree{64}.check(63)), Status::ok);
  for (const int ranks : {64, 65, 0, -1}) EXPECT_EQ((SplitTree{64}.check(ranks)), Status::invalid_argument) << ranks;
  EXPECT_EQ((SplitTree{1}.check(1)), Status::invalid_argument);
}

// Seconds are those of so many bytes, and sums and latencies take none.
Machine of_bytes_alone() {
  Profile profile = built_in();
  for (Link& link : profile.links) link = {Span{.beta = 1}};
  profile.gamma = 0;
  return machine_of(profile, 4, 1);
}

// 15 ranks with a byte each: edges of 1, 2, 4 and 7 bytes, 7, 4, 2 and 1 of them; 14 16/15 of work.
TEST(SplitTree, AGatherSplitsWhereItsBytesSay) {
  using schedule::Collective;
  const Machine machine = of_bytes_alone();
  const SplitCall call{.collective = Collective::gather, .bytes = 15, .ranks = 15, .comm_cores = 1};
  EXPECT_EQ(edges_of(machine, call), (std::vector<double>{1, 2, 4, 7}));
  EXPECT_EQ(best_split(machine, call), 2);  // 30, 24, 18, 7 + 14.9, 14 + 14.9
}

TEST(SplitTree, BetweenHostsATransferALevel) {
  const Machine machine = of_bytes_alone();
  const SplitCall call{.collective = schedule::Collective::reduce, .bytes = 1, .ranks = 7, .hosts = 5, .comm_cores = 1};
  EXPECT_EQ(edges_of(machine, call), (std::vector<double>(6, 1.0)));
  EXPECT_EQ(best_split(machine, call), 1);  // beside 3 + 2 + 1 and 3: 9, 1 + 6 8/7, 2 + 6 8/7, ...
}

}  // namespace
}  // namespace stretto::model
