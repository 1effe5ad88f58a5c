// Collectives of the engine over peer access between emulated devices. Every schedule and payload gives the host's
// bits, and a host that does not wait for a device is found.
#include <gtest/gtest.h>

#include "../sanitized.hpp"
#include "peer_cases.hpp"

namespace stretto::tests {
namespace {

void expect_as_on_host(const Case& c, int ranks, std::uint64_t seed = 1, int repeats = 1) {
  SCOPED_TRACE(name_of(c, ranks));
  emulation().reset(seed);
  const Ran expected = run(c, ranks, Where::host);
  ASSERT_TRUE(all_ok(expected));
  const Ran ran = run(over(c, ranks), ranks, Where::device, repeats);
  ASSERT_TRUE(all_ok(ran));
  EXPECT_TRUE(same_bits(ran, expected));
  expect_order();
}

TEST(PeerEngine, AFusedRingGivesTheHostsBits) {
  for (int ranks = 1; ranks <= 9; ranks += 1 + ranks / 5) expect_as_on_host({}, ranks, 1, 2);
}

TEST(PeerEngine, EveryOrderOfStreamsGivesTheHostsBits) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 2 : 10); ++seed)
    expect_as_on_host({.count = 30000, .one_device = seed % 2 == 0, .on_stream = seed % 3 == 0}, 3, seed, 2);
}

void every(Collective collective, std::initializer_list<Kind> kinds) {
  every_schedule(collective, kinds, {2, 4, 5}, [](const Case& c, int ranks) { expect_as_on_host(c, ranks); });
}

TEST(PeerEngine, EveryAllreduceGivesTheHostsBits) { every(Collective::allreduce, kSums); }
TEST(PeerEngine, EveryReduceGivesTheHostsBits) { every(Collective::reduce, kSums); }
TEST(PeerEngine, EveryReduceScatterGivesTheHostsBits) { every(Collective::reduce_scatter, kSums); }
TEST(PeerEngine, EveryAlltoallGivesTheHostsBits) { every(Collective::alltoall, kMoves); }

TEST(PeerEngine, CodesAheadAndSelectionsGiveTheHostsBits) {
  for (const auto codes : {payload::Codes::when_met, payload::Codes::ahead}) expect_as_on_host({.codes = codes}, 3);
  for (const Kind kind : {Kind::homomorphic, Kind::recompress})
    expect_as_on_host({.kind = kind, .op = payload::Op::max}, 3);
}

TEST(PeerEngine, DenseStreamsGiveTheHostsBits) {
  constexpr auto dense = codec::Coding::dense;
  for (const Kind kind : kSums) expect_as_on_host({.kind = kind, .count = 30000, .coding = dense}, 3, 1, 2);
  expect_as_on_host({.algorithm = "recursive_doubling", .one_device = true, .coding = dense}, 4);
  expect_as_on_host({.algorithm = "hierarchical_ring", .per_node = 2, .coding = dense}, 5);
}

// Raw values inside nodes, streams between them.
TEST(PeerEngine, NodesGiveTheHostsBits) { expect_as_on_host({.algorithm = "hierarchical_ring", .per_node = 2}, 5); }

constexpr int kRanks = 3, kFaulty = 1;
constexpr std::uint64_t kSeed = 3;

// Errors, wrong bits, or unordered accesses.
TEST(PeerEngine, AHostThatDoesNotWaitForADeviceIsFound) {
  const Case c{.count = 3 * 4096 + 100, .on_stream = true};
  emulation().reset(kSeed);
  const Ran expected = run(c, kRanks, Where::host);
  int found = 0;
  for (long n = 0; n < 300 && found < 3; ++n) {
    emulation().reset(kSeed);
    emulation().lie(kFaulty, n);
    const Ran ran = run(over(c, kRanks), kRanks, Where::device);
    const bool failed = std::any_of(ran.status.begin(), ran.status.end(), [](Status s) { return s != Status::ok; });
    found += failed || !same_bits(ran, expected) || emulation().races() > 0;
  }
  EXPECT_EQ(found, 3);
}

TEST(PeerEngine, ALostDeviceIsToldToAllRanks) {
  int lost = 0;
  for (long n = 0; n < 150; n += 6) {
    SCOPED_TRACE(testing::Message() << "call " << n);
    emulation().reset(kSeed);
    Case c = over({.count = 5000}, kRanks);
    c.ready = [n](int rank) {
      if (rank == kFaulty) emulation().lose(kFaulty, n);
    };
    const Ran ran = run(c, kRanks, Where::device);
    if (ran.status[kFaulty] == Status::ok) continue;  // lost after its run
    ++lost;
    for (const Status s : ran.status) EXPECT_NE(s, Status::timeout);
  }
  EXPECT_GT(lost, 2);
}

}  // namespace
}  // namespace stretto::tests
