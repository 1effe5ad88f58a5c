// Lanes: who does which step of a tree that is split, and that lanes only go forward.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "schedule/check/checker.hpp"
#include "schedule/check/printer.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::schedule {
namespace {

using All = std::vector<Schedule>;

constexpr std::int32_t kHostOf[] = {0, 1, 0, 2, 2, 2, 0, 3, 1};
constexpr int kMostRanks = std::size(kHostOf), kMostSplit = 4;

// Every algorithm on 1 to 9 ranks, every root, in groups: f(algorithm, request).
template <class F>
void for_each_request(F&& f) {
  for (const Algorithm& a : algorithms()) {
    for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
      const Groups groups = groups_of(std::span(kHostOf).first(static_cast<std::size_t>(ranks)));
      for (int root = 0; root < (rooted(a.collective) ? ranks : 1); ++root) {
        for (const int radix : {2, 3, 4}) {
          if (radix > 2 && !a.uses_radix) continue;
          f(a, Request{.collective = a.collective, .ranks = ranks, .root = root, .radix = radix, .groups = &groups});
        }
      }
    }
  }
}

// Messages of each lane, of all ranks together.
std::array<int, kLaneCount> messages(const All& all) {
  std::array<int, kLaneCount> n{};
  for (const Schedule& s : all)
    for (const Step& step : s.steps) n[static_cast<std::size_t>(step.lane)] += step.kind == Kind::send;
  return n;
}

bool differs(const Step& a, const Step& b) {
  return a.kind != b.kind || a.level != b.level || a.peer != b.peer || a.dst != b.dst || a.src != b.src;
}

TEST(Lanes, EverySplitOfEveryTreePassesTheCheckerAndMovesTheSame) {
  for_each_request([](const Algorithm& a, Request request) {
    const All whole = build_all(a, request);
    EXPECT_EQ(messages(whole)[0] + messages(whole)[2], 0) << a.name;
    for (request.split = 1; request.split <= kMostSplit; ++request.split) {
      const All all = build_all(a, request);
      ASSERT_EQ(check(all), Status::ok) << message() << ", split " << request.split;
      for (std::size_t r = 0; r < all.size(); ++r)
        EXPECT_TRUE(std::equal(all[r].steps.begin(), all[r].steps.end(), whole[r].steps.begin(), whole[r].steps.end(),
                               [](const Step& x, const Step& y) { return !differs(x, y); }));
    }
  });
}

TEST(Lanes, OnlyAlgorithmsThatSaySoTakeASplit) {
  for (const Algorithm& a : algorithms()) {
    const Groups groups = groups_of(std::span(kHostOf));
    const auto n = messages(build_all(a, {.ranks = kMostRanks, .split = 1, .groups = &groups}));
    EXPECT_EQ(n[0] + n[2] > 0, a.uses_split) << name(a.collective) << " " << a.name;
  }
}

// Leaves come first in reductions and gathers, last in broadcasts and scatters, and both in an allreduce. A split of
// all levels is the whole tree.
TEST(Lanes, TheLevelsNextToTheLeavesAreTheApplications) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    for (const Collective c :
         {Collective::reduce, Collective::gather, Collective::bcast, Collective::scatter, Collective::allreduce}) {
      for (int split = 0; split <= kMostSplit; ++split) {
        int leaves = 0;  // messages of the levels next to them: facts of a binomial tree
        for (int i = 1; i <= split; ++i) leaves += (ranks + (1 << (i - 1)) - 1) >> i;
        const auto n = messages(build_all(*find(c, "binomial"), {.ranks = ranks, .root = 0, .split = split}));
        const bool up = c != Collective::bcast && c != Collective::scatter;
        const bool down = !up || c == Collective::allreduce;
        EXPECT_EQ(n[0], up ? leaves : 0) << name(c) << ", " << ranks << " ranks, split " << split;
        EXPECT_EQ(n[2], down ? leaves : 0) << name(c) << ", " << ranks << " ranks, split " << split;
        EXPECT_EQ(n[1], (ranks - 1 - leaves) * (up && down ? 2 : 1)) << name(c) << ", " << ranks << ", " << split;
      }
    }
  }
}

TEST(Lanes, ALevelOfAWideTreeIsAllItsRounds) {
  const auto n = messages(build_all(*find(Collective::reduce, "knomial"), {.ranks = 9, .radix = 3, .split = 1}));
  EXPECT_EQ(n[0], 6);  // two children of each of three
  EXPECT_EQ(n[1], 2);
}

TEST(Lanes, AStepThatWaitsForALaterLaneIsRefused) {
  All all = build_all(*find(Collective::reduce, "binomial"), {.ranks = 4, .split = 1});
  for (Schedule& s : all)
    for (Step& step : s.steps)
      if (step.level == 0) step.lane = Lane::after;
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_STREQ(message(),
               "reduce binomial of 4 ranks: rank 0, step 2 (recv_combine out[0] <- 2), which is beside the "
               "work, waits for step 1, which is after it");
}

TEST(Lanes, AMessageOfTwoLanesIsRefused) {
  All all = build_all(*find(Collective::bcast, "binomial"), {.ranks = 2, .split = 1});
  for (Step& step : all[1].steps) step.lane = Lane::beside;
  EXPECT_EQ(check(all), Status::internal);
  EXPECT_STREQ(message(),
               "bcast binomial of 2 ranks: rank 0, step 1 (send in[0] -> 1), which is after the work, meets rank 1, "
               "step 0, which is beside it");
}

TEST(Lanes, ArePrintedWhereAScheduleIsSplit) {
  const All all = build_all(*find(Collective::allreduce, "binomial"), {.ranks = 3, .split = 1});
  EXPECT_EQ(text(all[0]),
            "allreduce binomial: rank 0 of 3, 1 blocks, keeps order\n"
            "    0  L0    before copy out[0] = in[0]\n"
            "    1  L0    before recv_combine out[0] <- 1\n"
            "    2  L1    beside recv_combine out[0] <- 2\n"
            "    3  L2    beside send out[0] -> 2\n"
            "    4  L3    after  send out[0] -> 1\n");
  EXPECT_EQ(picture(all),
            "allreduce binomial: 3 ranks, 1 blocks\n"
            "lane   level | 0    1    2\n"
            "before     0 | <1+0 >0:0 .\n"
            "beside     1 | <2+0 .    >0:0\n"
            "beside     2 | >2:0 .    <0:0\n"
            "after      3 | >1:0 <0:0 .\n");
}

}  // namespace
}  // namespace stretto::schedule
