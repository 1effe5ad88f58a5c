#include "engine/plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "schedule/registry.hpp"

namespace stretto::engine {
namespace {

using schedule::Buffer;
using schedule::Collective;

schedule::Schedule build(Collective collective, const char* algorithm, int ranks, int rank) {
  schedule::Request request;
  request.collective = collective;
  request.ranks = ranks;
  request.rank = rank;
  return schedule::find(collective, algorithm)->build(request);
}

std::vector<Block> blocks_of(std::initializer_list<std::size_t> counts) {
  std::vector<Block> blocks;
  for (const std::size_t n : counts) blocks.push_back({n, nullptr, nullptr});
  return blocks;
}

Plan plan_of(const schedule::Schedule& s, const std::vector<Block>& blocks, std::size_t segment_bytes,
             std::size_t grain = 1) {
  Plan plan;
  const std::vector<std::uint8_t> merged(blocks.size(), 0);
  EXPECT_EQ(plan.make(s, blocks, 4, segment_bytes, grain, merged, {}), Status::ok);
  return plan;
}

// Element ranges (block, first, count) of the messages between two ranks, in order.
std::vector<std::vector<std::size_t>> messages(const Plan& plan, bool sends, int peer) {
  std::vector<std::vector<std::size_t>> all;
  for (const Unit& u : plan.units) {
    if (u.peer != peer || (u.task == Task::send) != sends) continue;
    EXPECT_EQ(u.message, all.size());
    std::vector<std::size_t> message;
    for (std::uint32_t i = 0; i < u.cells; ++i) {
      const Place& p = plan.places[(sends ? u.src : u.dst) + i];
      message.insert(message.end(), {static_cast<std::size_t>(p.block), p.first, p.count});
    }
    all.push_back(message);
  }
  return all;
}

// Elements of each part within each segment of a block, in order: (block, first, count, part).
TEST(Plan, SegmentsEndWithPartsAndCoverThem) {
  const schedule::Schedule s = build(Collective::allreduce, "ring", 2, 0);
  const std::vector<Part> parts = {{5, 1}, {0, 2}, {3000, 3}, {4000, 4}, {995, 5}};
  const std::vector<Block> blocks = blocks_of({4000, 4000});
  Plan plan;
  const std::vector<std::uint8_t> merged(blocks.size(), 0);
  ASSERT_EQ(plan.make(s, blocks, 4, 8192, 1024, merged, {}, parts), Status::ok);
  const std::vector<std::vector<std::size_t>> expected = {{0, 0, 5, 0},      {0, 5, 2048, 2}, {0, 2053, 952, 2},
                                                          {0, 3005, 995, 3}, {1, 0, 2048, 3}, {1, 2048, 957, 3},
                                                          {1, 3005, 995, 4}};
  ASSERT_EQ(plan.segments, expected.size());
  for (std::size_t i = 0; i < plan.places.size(); ++i) {
    const Place& p = plan.places[i];
    const std::vector<std::size_t> found = {static_cast<std::size_t>(p.block), p.first, p.count, p.part};
    EXPECT_EQ(found, expected[i % plan.segments]) << i;
    EXPECT_EQ(p.before, std::size_t{4000} * static_cast<std::size_t>(p.block) + p.first);
  }
}

TEST(Plan, SenderAndReceiverCutAlike) {
  for (const auto& algorithm : schedule::algorithms()) {
    if (algorithm.collective == Collective::alltoall) continue;  // its blocks are p * p; the same code
    for (const int p : {2, 3, 5, 8}) {
      std::vector<Plan> plans;
      for (int r = 0; r < p; ++r) {
        schedule::Request request;
        request.collective = algorithm.collective;
        request.ranks = p;
        request.rank = r;
        const auto s = algorithm.build(request);
        std::vector<Block> blocks(static_cast<std::size_t>(s.blocks));
        for (std::size_t b = 0; b < blocks.size(); ++b) blocks[b].count = b % 3 == 2 ? 0 : 37 * b + 1;
        plans.push_back(plan_of(s, blocks, 64));
      }
      for (int a = 0; a < p; ++a) {
        for (int b = 0; b < p; ++b) {
          EXPECT_EQ(messages(plans[static_cast<std::size_t>(a)], true, b),
                    messages(plans[static_cast<std::size_t>(b)], false, a))
              << algorithm.name << " " << a << " to " << b << " of " << p;
        }
      }
    }
  }
}

TEST(Plan, ASegmentWaitsOnlyForTheSameSegmentOfEarlierSteps) {
  const auto plan = plan_of(build(Collective::allreduce, "ring", 3, 0), blocks_of({1000, 1000, 1000}), 400);
  std::size_t edges = 0;
  for (const Unit& u : plan.units) {
    for (std::uint32_t e = u.followers; e != kNone; e = plan.edges[e].next) {
      const Unit& later = plan.units[plan.edges[e].unit];
      const Place& a = plan.places[u.task == Task::send ? u.src : u.dst];
      const Place& b = plan.places[later.task == Task::send ? later.src : later.dst];
      EXPECT_EQ(a.block, b.block);
      EXPECT_EQ(a.first, b.first);
      ++edges;
    }
  }
  EXPECT_GT(edges, 30u);
}

TEST(Plan, LargeBlocksAreCutOnTheGrainAndSmallOnesTravelTogether) {
  const auto s = build(Collective::allgather, "recursive_doubling", 4, 0);
  ASSERT_EQ(s.blocks, 4);
  const auto large = plan_of(s, blocks_of({10000, 10000, 10000, 10000}), 4 * 4096, 1024);
  EXPECT_EQ(large.segments, 4u * 3);
  for (const Place& p : large.places) {
    EXPECT_EQ(p.first % 1024, 0u);
    EXPECT_LE(p.count, 4096u);
  }
  const auto small = plan_of(s, blocks_of({5, 5, 5, 5}), 4 * 4096, 1024);
  std::size_t most = 0;
  for (const Unit& u : small.units) most = std::max<std::size_t>(most, u.task == Task::send ? u.cells : 0);
  EXPECT_EQ(most, 2u);  // the second round sends two blocks in one message
}

TEST(Plan, BlocksWithoutElementsHaveNoMessagesAndSignalsKeepTheirs) {
  const auto none = plan_of(build(Collective::allreduce, "ring", 3, 1), blocks_of({0, 0, 0}), 64);
  EXPECT_TRUE(none.units.empty());
  const auto barrier = plan_of(build(Collective::barrier, "dissemination", 5, 1), {}, 64);
  std::size_t sends = 0;
  for (const Unit& u : barrier.units) sends += u.task == Task::send && u.cells == 0;
  EXPECT_EQ(sends, 3u);
}

TEST(Plan, MergedBlocksAreOneCellAndTheirCopyOnlyReads) {
  const auto s = build(Collective::allreduce, "ring", 3, 0);
  Plan plan;
  const std::vector<std::uint8_t> merged(3, 1);
  ASSERT_EQ(plan.make(s, blocks_of({7, 7, 7}), 4, 0, 1, merged, {}), Status::ok);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(plan.cell(i), plan.cell(3 + i));
}

}  // namespace
}  // namespace stretto::engine
