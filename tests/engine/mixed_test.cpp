// Raw messages beside streams: over links inside nodes of any shape, below a size, and both. The results keep their
// promise, and are equal bytes on every rank wherever pure streams are.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <random>

#include "../sanitized.hpp"
#include "cases/case_list.hpp"
#include "engine/binding.hpp"
#include "ranks.hpp"
#include "schedule/floors.hpp"

namespace stretto::tests {
namespace {

constexpr std::size_t kStrideOfMixedCases = kSanitized ? 37 : 5;

// Nodes of unequal size with scattered ranks; each has at least one rank, and they are numbered by their lowest ranks.
std::vector<std::int32_t> scattered(int ranks, int nodes, unsigned seed) {
  std::vector<std::int32_t> node_of(static_cast<std::size_t>(ranks));
  std::mt19937 random(seed);
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    node_of[r] =
        static_cast<std::int32_t>(r < static_cast<std::size_t>(nodes) ? r : random() % static_cast<unsigned>(nodes));
  }
  std::vector<std::int32_t> name(static_cast<std::size_t>(nodes), -1);
  std::shuffle(node_of.begin(), node_of.end(), random);
  std::int32_t next = 0;
  for (auto& n : node_of) {
    auto& renamed = name[static_cast<std::size_t>(n)];
    if (renamed < 0) renamed = next++;
    n = renamed;
  }
  return node_of;
}

class Mixed : public testing::TestWithParam<int> {};

TEST_P(Mixed, EveryScheduleGivesItsResultWhicheverMessagesAreRaw) {
  const int p = GetParam();
  std::mutex mutex;
  for (int nodes = 1; nodes <= std::min(p, 5); nodes += nodes < 3 ? 1 : 2) {
    const auto seed = static_cast<unsigned>(100 * p + nodes);
    std::vector<std::vector<std::int32_t>> levels{scattered(p, nodes, seed)};
    if (nodes % 2 == 1) levels.push_back(scattered(p, std::min(p, 4), seed + 50));  // and groups inside
    const auto groups = schedule::groups_of(levels);
    const auto cases = mixed_cases(groups, p > 5 ? 5 * kStrideOfMixedCases : kStrideOfMixedCases);
    ASSERT_GT(cases.size(), 10u);
    on_ranks(p, [&](int rank, engine::Engine& engine) {
      std::size_t done = 0;
      const auto failures = run_all(engine, cases, &done);
      std::lock_guard lock(mutex);
      for (const auto& f : failures) ADD_FAILURE() << "rank " << rank << ": " << f;
      EXPECT_EQ(done, cases.size());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Mixed, testing::Values(1, 2, 3, 4, 5, 7, 8, 13));

// The sum of two ranks of a node travels to the other node once: fewer bytes than a stream of each.
TEST(RawInside, WhatLeavesANodeIsCompressedAndWhatStaysIsNot) {
  const auto groups = schedule::groups_of(std::vector<std::int32_t>{0, 0, 1, 1});
  constexpr std::size_t count = 16 * 1024;
  on_ranks(4, [&](int rank, engine::Engine& engine) {
    schedule::Request request;
    request.collective = schedule::Collective::allreduce;
    request.ranks = 4;
    request.rank = rank;
    auto built = schedule::find(schedule::Collective::allreduce, "recursive_doubling")->build(request);
    for (auto& s : built.steps) s.link = s.peer / 2 == rank / 2 ? schedule::Link::node : schedule::Link::network;
    engine::Work call;
    call.schedule = std::make_shared<schedule::Schedule>(std::move(built));
    call.payload.kind = payload::Kind::fused;
    call.payload.eps = 1e-2;
    std::vector<float> x(count), y(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(input(rank, i));
    std::uint64_t sent[2] = {0, 0};
    for (const int nodes : {0, 2}) {
      call.payload.nodes = nodes;
      ASSERT_EQ(engine::bind(*call.schedule, payload::Type::f32, {.in = x.data(), .out = y.data(), .count = count},
                             &call.blocks),
                Status::ok);
      engine::Report report;
      ASSERT_EQ(engine.run(call, &report), Status::ok) << message();
      EXPECT_DOUBLE_EQ(report.promised_error, (nodes == 0 ? 4 : 2) * 1e-2);
      sent[nodes / 2] = report.bytes_sent;
    }
    EXPECT_GT(sent[1], count * sizeof(float));  // raw to the neighbour, and something to the other node
    EXPECT_LT(sent[1], 3 * count * sizeof(float) / 2);
    EXPECT_LT(sent[0], count * sizeof(float));
  });
}

// Hosts of five and four ranks, with sockets of unequal size: if every contribution is summed as codes, results do not
// depend on the path.
TEST(Nested, SumsInCodeSpaceHaveTheBitsOfAFlatRing) {
  const auto groups = schedule::groups_of(
      std::vector<std::vector<std::int32_t>>{{0, 0, 0, 0, 0, 1, 1, 1, 1}, {0, 0, 0, 1, 1, 0, 1, 0, 1}});
  constexpr std::size_t count = 20011;
  on_ranks(9, [&](int rank, engine::Engine& engine) {
    std::vector<float> x(count), flat;
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(input(rank, i));
    for (const auto& algorithm : schedule::algorithms()) {
      const bool ring = algorithm.name == "ring";
      if (algorithm.collective != schedule::Collective::allreduce || (!ring && !algorithm.uses_groups)) continue;
      engine::Work call;
      call.schedule = std::make_shared<schedule::Schedule>(
          algorithm.build({.collective = algorithm.collective, .ranks = 9, .rank = rank, .groups = &groups}));
      call.payload.kind = payload::Kind::fused;
      call.payload.eps = 1e-2;
      std::vector<float> y(count);
      ASSERT_EQ(engine::bind(*call.schedule, payload::Type::f32, {.in = x.data(), .out = y.data(), .count = count},
                             &call.blocks),
                Status::ok);
      ASSERT_EQ(engine.run(call), Status::ok) << message();
      if (ring) flat = y;
      EXPECT_EQ(y, flat) << algorithm.name;
    }
  });
}

TEST(RawInside, SeveralInputsStayInCodeSpace) {
  on_ranks(1, [](int, engine::Engine& engine) {
    schedule::Request request;
    request.collective = schedule::Collective::allreduce;
    engine::Work call;
    call.schedule =
        std::make_shared<schedule::Schedule>(schedule::find(schedule::Collective::allreduce, "ring")->build(request));
    call.payload.kind = payload::Kind::fused;
    call.payload.eps = 1;
    call.payload.nodes = 2;
    call.several = true;
    call.blocks.resize(1);
    EXPECT_EQ(engine.run(call), Status::unsupported);
  });
}

}  // namespace
}  // namespace stretto::tests
