#include "engine/binding.hpp"

#include <gtest/gtest.h>

#include "schedule/registry.hpp"

namespace stretto::engine {
namespace {

using schedule::Collective;

schedule::Schedule build(Collective collective, const char* algorithm, int ranks, int rank, int root = 0) {
  schedule::Request request;
  request.collective = collective;
  request.ranks = ranks;
  request.rank = rank;
  request.root = root;
  return schedule::find(collective, algorithm)->build(request);
}

TEST(Binding, CutsAreEvenOnTheGrainAndCoverTheVector) {
  for (const std::size_t grain : {1u, 1024u}) {
    for (const std::size_t count : {0u, 1u, 12u, 1023u, 1024u, 5000u, 1000003u}) {
      for (const int blocks : {1, 3, 13}) {
        EXPECT_EQ(first_of(count, blocks, 0, grain), 0u);
        EXPECT_EQ(first_of(count, blocks, blocks, grain), count);
        std::size_t least = count, most = 0;
        for (int b = 0; b < blocks; ++b) {
          const std::size_t first = first_of(count, blocks, b, grain), end = first_of(count, blocks, b + 1, grain);
          ASSERT_LE(first, end);
          EXPECT_TRUE(first % grain == 0 || first == count);
          least = std::min(least, end - first);
          most = std::max(most, end - first);
        }
        EXPECT_LE(most - least, grain + grain - 1);
      }
    }
  }
}

TEST(Binding, CutsLieWholeGrainsAfterTheStartOfTheirPart) {
  const std::vector<Part> given[] = {{{1020, 1}, {7172, 2}},
                                     {{0, 1}, {1, 2}, {3, 3}, {0, 4}, {1025, 5}, {7163, 6}, {0, 7}}};
  for (const std::vector<Part>& parts : given) {
    for (const int blocks : {1, 2, 3, 5, 8, 13, 9000}) {
      std::size_t before = 0;
      for (int b = 0; b <= blocks; ++b) {
        const std::size_t first = first_of(8192, blocks, b, 1024, parts), even = first_of(8192, blocks, b, 1024);
        ASSERT_LE(before, first);
        ASSERT_LE(first, even);
        EXPECT_LT(even - first, 1024u);
        std::size_t start = 0, of_part = 0;
        for (const Part& part : parts) {
          if (start <= even) of_part = start;
          start += part.count;
        }
        EXPECT_TRUE(first == 8192 || (first >= of_part && (first - of_part) % 1024 == 0)) << first;
        before = first;
      }
      EXPECT_EQ(before, 8192u);
    }
  }
  EXPECT_EQ(first_of(8192, 2, 1, 1024, given[0]), 1020u + 3 * 1024u);
}

TEST(Binding, DisplacedBlocksLieWhereTheyAreSaidTo) {
  float in[10] = {}, out[30] = {};
  const std::size_t counts[] = {2, 0, 3}, places[] = {20, 5, 1};
  Arguments a;
  a.in = in;
  a.out = out;
  a.counts = counts;
  a.displacements = places;
  std::vector<Block> blocks;
  ASSERT_EQ(engine::bind(build(Collective::allgather, "ring", 3, 2), payload::Type::f32, a, &blocks), Status::ok);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].out, out + 20);
  EXPECT_EQ(blocks[2].out, out + 1);
  EXPECT_EQ(blocks[2].in, in);
  EXPECT_EQ(blocks[2].count, 3u);
  EXPECT_EQ(blocks[0].in, nullptr);
}

TEST(Binding, InPlaceBlocksAreTheirOwnInput) {
  float data[12] = {};
  Arguments a;
  a.out = data;
  a.count = 4;
  std::vector<Block> blocks;
  ASSERT_EQ(engine::bind(build(Collective::allgather, "ring", 3, 1), payload::Type::f32, a, &blocks), Status::ok);
  EXPECT_EQ(blocks[1].in, data + 4);
  EXPECT_EQ(blocks[1].out, data + 4);
  a.in = data;
  a.out = nullptr;
  ASSERT_EQ(engine::bind(build(Collective::scatter, "binomial", 3, 1, 1), payload::Type::f32, a, &blocks), Status::ok);
  EXPECT_EQ(blocks[1].in, data + 4);
  EXPECT_EQ(blocks[1].out, data + 4);
}

TEST(Binding, AlltoallBlocksAreRowsOfTheInputAndColumnsOfTheOutput) {
  float in[6] = {}, out[6] = {};
  Arguments a;
  a.in = in;
  a.out = out;
  a.count = 2;
  std::vector<Block> blocks;
  ASSERT_EQ(engine::bind(build(Collective::alltoall, "pairwise", 3, 1), payload::Type::f32, a, &blocks), Status::ok);
  EXPECT_EQ(blocks[3 + 2].in, in + 4);    // from 1 to 2
  EXPECT_EQ(blocks[6 + 1].out, out + 4);  // from 2 to 1
  EXPECT_EQ(blocks[6 + 2].out, nullptr);
}

TEST(Binding, AlltoallTakesCountsOfBothSidesAndKnowsNoOther) {
  float in[16] = {}, out[16] = {};
  const std::size_t sent[] = {1, 4, 2}, received[] = {3, 4, 5}, places[] = {8, 0, 11};
  Arguments a;
  a.in = in;
  a.out = out;
  a.send_counts = sent;
  a.counts = received;
  a.displacements = places;
  std::vector<Block> blocks;
  ASSERT_EQ(engine::bind(build(Collective::alltoall, "pairwise", 3, 1), payload::Type::f32, a, &blocks), Status::ok);
  EXPECT_EQ(blocks[3 + 2].in, in + 5);  // from 1 to 2
  EXPECT_EQ(blocks[3 + 2].count, 2u);
  EXPECT_EQ(blocks[6 + 1].out, out + 11);  // from 2 to 1
  EXPECT_EQ(blocks[6 + 1].count, 5u);
  EXPECT_EQ(blocks[3 + 1].out, out);
  EXPECT_EQ(blocks[6 + 0].count, 0u);
  a.send_counts = {};
  EXPECT_EQ(engine::bind(build(Collective::alltoall, "pairwise", 3, 1), payload::Type::f32, a, &blocks),
            Status::invalid_argument);
}

TEST(Binding, CountsThatDoNotFitAreRefused) {
  float data[4] = {};
  const std::size_t counts[] = {1, 1};
  Arguments a;
  a.in = a.out = data;
  a.counts = counts;
  std::vector<Block> blocks;
  EXPECT_EQ(engine::bind(build(Collective::gather, "binomial", 3, 0), payload::Type::f32, a, &blocks),
            Status::invalid_argument);
}

}  // namespace
}  // namespace stretto::engine
