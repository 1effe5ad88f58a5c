// Collectives of device memory, run by the engine over threads on emulated devices: the results are the host's, bit for
// bit, whatever the order in which streams go on, and also where some ranks have their vectors on the host.
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
  for (int ranks = 1; ranks <= 9; ranks += stride_if_sanitized(4)) expect_as_on_host({}, ranks);
}

TEST(Device, EveryOrderOfStreamsGivesTheHostsBits) {
  for (std::uint64_t seed = 1; seed <= (sanitized ? 2 : 10); ++seed) {
    expect_as_on_host({.count = 50000, .one_device = seed % 2 == 0}, 3, seed);
  }
}

// Emulation takes its time: every payload on 3 ranks, one on others, too.
void every_schedule(Collective collective, std::initializer_list<Kind> kinds) {
  int others = 0;
  for (const schedule::Algorithm& algorithm : schedule::algorithms()) {
    if (algorithm.collective != collective || others++ % stride_if_sanitized(4) != 0) continue;
    const auto expect = [&](Kind kind, int ranks) {
      if (schedule::check_ranks(collective, ranks) != Status::ok) return;
      expect_as_on_host({.collective = collective, .algorithm = algorithm.name, .kind = kind, .count = 2000}, ranks, 1,
                        1);
    };
    for (const Kind kind : kinds) expect(kind, 3);
    for (const int ranks : {1, 6}) expect(*(kinds.end() - 1), ranks);
  }
}

constexpr auto sums = {Kind::raw, Kind::cprp2p, Kind::recompress, Kind::homomorphic, Kind::fused};
constexpr auto moves = {Kind::raw, Kind::cprp2p, Kind::recompress};

TEST(Device, EveryAllreduceGivesTheHostsBits) { every_schedule(Collective::allreduce, sums); }
TEST(Device, EveryReduceGivesTheHostsBits) { every_schedule(Collective::reduce, sums); }
TEST(Device, EveryReduceScatterGivesTheHostsBits) { every_schedule(Collective::reduce_scatter, sums); }
TEST(Device, EveryAllgatherGivesTheHostsBits) { every_schedule(Collective::allgather, moves); }
TEST(Device, EveryBroadcastGivesTheHostsBits) { every_schedule(Collective::bcast, moves); }
TEST(Device, EveryGatherGivesTheHostsBits) { every_schedule(Collective::gather, moves); }
TEST(Device, EveryScatterGivesTheHostsBits) { every_schedule(Collective::scatter, moves); }
TEST(Device, EveryAlltoallGivesTheHostsBits) { every_schedule(Collective::alltoall, moves); }

TEST(Device, EveryOperationGivesTheHostsBits) {
  using payload::Op;
  for (const Op op : {Op::sum, Op::min, Op::max, Op::mean, Op::difference}) {
    for (const Kind kind : sums) expect_as_on_host({.kind = kind, .op = op, .count = 6000}, 3);
  }
  expect_as_on_host({.kind = Kind::raw, .op = Op::prod, .count = 6000}, 3);
}

TEST(Device, ResultsMayReplaceTheirInputs) {
  for (const Kind kind : sums) {
    expect_as_on_host({.kind = kind, .in_place = true}, 3);
    expect_as_on_host({.algorithm = "recursive_doubling", .kind = kind, .in_place = true}, 5);
    expect_as_on_host({.algorithm = "rabenseifner", .kind = kind, .in_place = true}, 7);
  }
}

TEST(Device, ResultsMayOverlapTheirInputs) {
  for (const Kind kind : {Kind::raw, Kind::fused}) expect_as_on_host({.kind = kind, .overlap = 100}, 3);
}

TEST(Device, ARunTakesItsPlaceInAStreamAndDoesNotWaitForTheDevice) {
  for (std::uint64_t seed = 1; seed <= (sanitized ? 1 : 5); ++seed) {
    for (const int ranks : {1, 2, 3, 7}) expect_as_on_host({.on_stream = true}, ranks, seed);
    expect_as_on_host({.kind = Kind::raw, .on_stream = true}, 3, seed);
  }
}

}  // namespace
}  // namespace stretto::tests
