// Walks over split trees: times equal the closed-form model's, or are better where its levels wait for each other.
#include <algorithm>
#include <map>

#include "model/split_tree.hpp"
#include "world.hpp"

namespace stretto::model {
namespace {

using schedule::Collective;

constexpr int kCores = 64, kMost = 3;

// A tree by so many ranks of a host, whose other cores communicate; a transfer takes a second.
double walked(Collective collective, int ranks, int split, double work, bool joins) {
  Programs programs;
  schedule::Request request;
  request.collective = collective;
  request.ranks = ranks;
  request.split = split;
  EXPECT_EQ(make_programs(*schedule::find(collective, "binomial"), request, topology::Topology::regular(ranks, ranks),
                          {.allowed = false}, &programs),
            Status::ok)
      << message();
  return predict(programs, {}, uniform(1, 0),
                 {.bytes = 1e6, .comm_cores = kCores - ranks, .work = work, .joins = joins})
      .seconds;
}

TEST(Lanes, WalkLiesBetweenTheCoresNeedAndTheClosedModel) {
  const SplitTree tree{kCores};
  for (const Collective c : {Collective::reduce, Collective::bcast}) {
    for (int n = kCores / 2; n < kCores; ++n) {
      for (int split = 0; split <= kMost; ++split) {
        int beside = 0;
        for (int i = split + 1; i <= tree.levels(n); ++i) beside += tree.transfers(n, i);
        const double least = std::max((beside + kCores - n - 1) / (kCores - n), tree.levels(n));
        const double time = walked(c, n, split, tree.work(n), false);
        EXPECT_LE(time, tree.overlapped(n, split) + 1e-9) << schedule::name(c) << " " << n << ", split " << split;
        EXPECT_GE(time, std::max(least, split + tree.work(n)) - 1e-9) << schedule::name(c) << " " << n << ", " << split;
        EXPECT_LE(walked(c, n, split, tree.work(n), true), time + 1e-9) << schedule::name(c) << " " << n;
      }
    }
  }
}

// No level waits until the level below is complete everywhere, and waiting ranks help: splits pay off later than in the
// closed-form model.
TEST(Lanes, TheBestSplitOfAWalk) {
  for (const bool joins : {false, true}) {
    std::map<int, int> begins;
    for (int n = kCores / 2; n < kCores; ++n) {
      int best = 0;
      const auto time = [&](int split) {
        return walked(Collective::reduce, n, split, SplitTree{kCores}.work(n), joins);
      };
      for (int split = 1; split <= kMost; ++split)
        if (time(split) < time(best) - 1e-9) best = split;
      begins.emplace(best, n);
    }
    EXPECT_EQ(begins, (std::map<int, int>{{0, 32}, {1, 55}, {2, 60}, {3, 63}})) << joins;
  }
}

TEST(Lanes, WithoutWorkASplitTakesTheWholeTreesTime) {
  for (const Collective c : {Collective::reduce, Collective::bcast, Collective::allreduce}) {
    for (int split = 0; split <= kMost; ++split)
      EXPECT_NEAR(walked(c, 32, split, 0, false), c == Collective::allreduce ? 10 : 5, 1e-9) << schedule::name(c);
  }
}

}  // namespace
}  // namespace stretto::model
