// Collectives of device memory, run by the engine over threads on emulated devices. Results equal the host's bit for
// bit in any order of streams, also if some ranks' vectors are on the host.
#include <gtest/gtest.h>

#include "../sanitized.hpp"
#include "cases.hpp"

namespace stretto::tests {
namespace {

void expect_as_on_host(const Case& c, int ranks, std::uint64_t seed = 1, int repeats = 2) {
  SCOPED_TRACE(name_of(c, ranks));
  begin_order(seed);
  const Ran expected = run(c, ranks, Where::host);
  ASSERT_TRUE(all_ok(expected));
  for (const Where where : {Where::device, Where::mixed}) {
    const Ran ran = run(c, ranks, where, repeats);
    ASSERT_TRUE(all_ok(ran));
    EXPECT_TRUE(same_bits(ran, expected));
  }
  expect_order();
}

TEST(Device, AFusedRingGivesTheHostsBits) {
  for (const int ranks : ranks_to_nine()) expect_as_on_host({}, ranks);
}

TEST(Device, EveryOrderOfStreamsGivesTheHostsBits) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 2 : 10); ++seed) {
    expect_as_on_host({.count = 50000, .one_device = seed % 2 == 0}, 3, seed);
  }
}

void every(Collective collective, std::initializer_list<Kind> kinds) {
  every_schedule(collective, kinds, {1, 6}, [](const Case& c, int ranks) { expect_as_on_host(c, ranks, 1, 1); });
}

TEST(Device, EveryAllreduceGivesTheHostsBits) { every(Collective::allreduce, kSums); }
TEST(Device, EveryReduceGivesTheHostsBits) { every(Collective::reduce, kSums); }
TEST(Device, EveryReduceScatterGivesTheHostsBits) { every(Collective::reduce_scatter, kSums); }
TEST(Device, EveryAllgatherGivesTheHostsBits) { every(Collective::allgather, kMoves); }
TEST(Device, EveryBroadcastGivesTheHostsBits) { every(Collective::bcast, kMoves); }
TEST(Device, EveryGatherGivesTheHostsBits) { every(Collective::gather, kMoves); }
TEST(Device, EveryScatterGivesTheHostsBits) { every(Collective::scatter, kMoves); }
TEST(Device, EveryAlltoallGivesTheHostsBits) { every(Collective::alltoall, kMoves); }

TEST(Device, EveryOperationGivesTheHostsBits) {
  using payload::Op;
  for (const Op op : {Op::sum, Op::min, Op::max, Op::mean, Op::difference}) {
    for (const Kind kind : kSums) expect_as_on_host({.kind = kind, .op = op, .count = 6000}, 3);
  }
  expect_as_on_host({.kind = Kind::raw, .op = Op::prod, .count = 6000}, 3);
}

TEST(Device, DenseStreamsGiveTheHostsBits) {
  using payload::Op;
  using enum Collective;
  constexpr auto dense = codec::Coding::dense;
  for (const int ranks : {1, 3, 6})
    for (const Kind kind : kSums) {
      expect_as_on_host({.kind = kind, .coding = dense}, ranks, 1, 1);
      expect_as_on_host({.algorithm = "recursive_doubling", .kind = kind, .count = 8000, .coding = dense}, ranks, 2, 1);
    }
  for (const Op op : {Op::min, Op::max, Op::mean}) expect_as_on_host({.op = op, .coding = dense}, 3);
  expect_as_on_host({.collective = allgather, .coding = dense}, 3);
  expect_as_on_host({.collective = bcast, .algorithm = "binomial", .coding = dense}, 5);
  expect_as_on_host({.codes = payload::Codes::when_met, .coding = dense}, 3);
}

TEST(Device, ResultsMayReplaceTheirInputs) {
  for (const Kind kind : kSums) {
    expect_as_on_host({.kind = kind, .count = 6000, .in_place = true}, 3);
    expect_as_on_host({.algorithm = "recursive_doubling", .kind = kind, .count = 6000, .in_place = true}, 5);
    expect_as_on_host({.algorithm = "rabenseifner", .kind = kind, .count = 6000, .in_place = true}, 7);
  }
}

TEST(Device, ResultsMayOverlapTheirInputs) {
  for (const Kind kind : {Kind::raw, Kind::fused}) expect_as_on_host({.kind = kind, .overlap = 100}, 3);
}

TEST(Device, ARunTakesItsPlaceInAStreamAndDoesNotWaitForTheDevice) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 1 : 5); ++seed) {
    for (const int ranks : {1, 2, 3, 7}) expect_as_on_host({.on_stream = true}, ranks, seed);
    expect_as_on_host({.kind = Kind::raw, .on_stream = true}, 3, seed);
  }
}

}  // namespace
}  // namespace stretto::tests
