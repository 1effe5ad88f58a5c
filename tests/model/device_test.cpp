// Collectives of device memory: the model's costs, and its number of streams for segments.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "chooser.hpp"
#include "model/native.hpp"
#include "model/profile/machine.hpp"

namespace stretto::model {
namespace {

using topology::Distance;

// A host as slow as the test machine, and a device that was measured.
Profile measured(double call) {
  Profile p = profile();
  p.device.name = "a device";
  p.device.launch = 5e-6;
  p.device.staging = 1e-10;
  p.device.look = 1e-5;
  p.device.combine = 1e-12;
  p.device.copy = 5e-13;
  p.device.f32 = {{1, call, 1e-12, 2e-12, 3e-12, 4e-12}};
  return p;
}

TEST(DeviceCosts, WorkIsTheDevicesAndMessagesPassTheHostAtBothEnds) {
  const Profile p = measured(2e-5);
  const Machine host = machine_of(p, 4, 8), device = machine_on_device(p, 4, 8, 1, true);
  EXPECT_EQ(device.compress.byte, 1e-12);
  EXPECT_EQ(device.fused.byte, 4e-12);
  EXPECT_EQ(device.compress.call, 2e-5);
  EXPECT_EQ(device.combine.byte, 1e-12);
  EXPECT_EQ(device.combine.call, 5e-6);
  const Span &a = host.span(Distance::network, 1e6), &b = device.span(Distance::network, 1e6);
  EXPECT_DOUBLE_EQ(b.alpha, a.alpha + 2 * (5e-6 + 1e-5));
  EXPECT_DOUBLE_EQ(b.beta, a.beta + 2e-10);
  const Machine between = machine_on_device(p, 4, 8, 1, false);
  const Span& direct = between.span(Distance::network, 1e6);
  EXPECT_EQ(direct.alpha, a.alpha);
  EXPECT_EQ(direct.beta, a.beta);
}

TEST(DeviceCosts, SeveralStreamsHideKernelsLeastTimeDownToALaunch) {
  const Profile p = measured(2e-5);
  EXPECT_DOUBLE_EQ(machine_on_device(p, 4, 8, 2, true).compress.call, 1e-5);
  EXPECT_DOUBLE_EQ(machine_on_device(p, 4, 8, 8, true).compress.call, 5e-6);
}

TEST(DeviceCosts, DevicesInReachCopyAtTheirOwnRateOnAnyHosts) {
  const Profile p = measured(2e-5);
  const Machine one = machine_on_device(p, 4, 8, 1, false, 1), four = machine_on_device(p, 4, 8, 1, false, 4);
  for (const Distance d : {Distance::cache, Distance::network}) {
    EXPECT_EQ(one.span(d, 1e6).beta, 5e-13);
    EXPECT_DOUBLE_EQ(four.span(d, 1e6).beta, 2e-12);
    EXPECT_EQ(one.span(d, 1e6).alpha, four.span(d, 1e6).alpha);
  }
  EXPECT_EQ(one.fused.byte, 4e-12);
  EXPECT_DOUBLE_EQ(four.fused.byte, 1.6e-11);
  EXPECT_EQ(four.fused.call, one.fused.call);
}

TEST(DeviceCosts, DeviceProfileUsesOwnFiguresAndOthersUseEstimates) {
  Profile a100;
  ASSERT_EQ(shipped("a100-hdr", &a100), Status::ok) << message();
  EXPECT_EQ(machine_on_device(a100, 4, 8, 1, true).compress.byte, machine_of(a100, 4, 8).compress.byte);
  const Machine host = machine_of(profile(), 4, 8), estimated = machine_on_device(profile(), 4, 8, 1, true);
  EXPECT_GT(estimated.compress.byte, 0);
  EXPECT_LT(estimated.compress.byte, host.compress.byte);
  EXPECT_GT(estimated.span(Distance::network, 1e6).beta, host.span(Distance::network, 1e6).beta);
}

TEST(Lanes, AreNoMoreThanSegmentsAndGrowWithTheLeastTimeOfAKernel) {
  constexpr double kib = 1024;
  for (const double segments : {1.0, 2.0, 3.0, 5.0, 64.0}) {
    int before = 0;
    for (const double call : {5e-6, 2e-5, 1e-4, 1e-3}) {
      const int lanes = lanes_for(measured(call), 4, 8, true, segments * 256 * kib, 256 * kib);
      EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(lanes)));
      EXPECT_LE(lanes, segments);
      EXPECT_LE(lanes, kMostLanes);
      EXPECT_GE(lanes, before) << segments << " segments, " << call << " s";
      before = lanes;
    }
  }
  EXPECT_EQ(lanes_for(measured(1e-3), 4, 8, true, 64 * 256 * kib, 256 * kib), kMostLanes);
  EXPECT_LT(lanes_for(measured(5e-6), 4, 8, true, 64 * 256 * kib, 256 * kib), kMostLanes);
  EXPECT_EQ(lanes_for(measured(1e-3), 4, 8, true, 256 * kib, 0), 1);  // uncut
}

TEST(Lanes, AreChosenForACallOfDeviceMemoryAlone) {
  Chooser chooser(measured(2e-4), topology::Topology::regular(4, 1));
  Question q = allreduce(64u << 20u, 8);
  q.schedule = "ring";
  q.payload = static_cast<int>(Kind::fused);
  q.segment = 1 << 18;
  EXPECT_EQ(best(chooser, q).lanes, 0);
  const double on_host = best(chooser, q).seconds;
  q.device = true;
  const double direct = best(chooser, q).seconds;
  q.staged = true;
  const Candidate c = best(chooser, q);
  EXPECT_EQ(c.lanes, kMostLanes);
  EXPECT_GT(c.seconds, direct);
  EXPECT_NE(c.seconds, on_host);

  Chooser slower(measured(2e-3), topology::Topology::regular(4, 1));
  EXPECT_GT(best(slower, q).seconds, c.seconds);
}

TEST(DeviceCosts, ALongStagedMessageIsCutToHideItsCopies) {
  Chooser chooser(measured(2e-5), topology::Topology::regular(4, 1));
  for (const std::uint64_t mib : {1u, 4u, 5u, 64u}) {
    Question q = allreduce(mib << 20u, 8);
    q.schedule = "recursive_doubling";  // of whole vectors
    q.payload = static_cast<int>(Kind::raw);
    q.device = true;
    EXPECT_EQ(best(chooser, q).segment, 0u) << mib;
    q.staged = true;
    EXPECT_EQ(best(chooser, q).segment == 0, mib <= 4) << mib;
  }
}

TEST(DeviceCosts, BlocksAreUncutBetweenDevicesInReachAlone) {
  Chooser chooser(measured(2e-5), topology::Topology::regular(6, 3));
  for (const Kind kind : {Kind::raw, Kind::fused}) {
    Question q = allreduce(64u << 20u, 8);
    q.schedule = "ring";
    q.payload = static_cast<int>(kind);
    q.device = true;
    q.staged = true;
    EXPECT_GT(best(chooser, q).segment, 0u);  // cut, so that copies to the host overlap with messages
    q.staged = false;
    q.reaching = 6;
    EXPECT_EQ(best(chooser, q).segment, 0u);
    q.segment = 1 << 18;
    EXPECT_EQ(best(chooser, q).segment, q.segment);  // as asked for
  }
}

// Steps of 3 us inside a host and 20 us between, 200 GB/s and 10 GB/s.
Profile with_nccl() {
  Profile p = measured(2e-5);
  p.device.nccl_inside = {3e-6, 5e-12};
  p.device.nccl_between = {2e-5, 1e-10};
  return p;
}

TEST(Nccl, TakesARingsStepsAndBytes) {
  using topology::Topology;
  const Profile p = with_nccl();
  const double n = 1 << 30;
  const auto seconds = [&p](Collective c, const Topology& t, double bytes) { return nccl_seconds(p, t, c, bytes); };
  const Topology host = Topology::regular(8, 8);
  EXPECT_DOUBLE_EQ(seconds(Collective::allreduce, host, n), 5e-6 + 14 * 3e-6 + 14.0 / 8 * n * 5e-12);
  EXPECT_DOUBLE_EQ(seconds(Collective::reduce_scatter_block, host, n), 5e-6 + 7 * 3e-6 + 7.0 / 8 * n * 5e-12);
  EXPECT_DOUBLE_EQ(seconds(Collective::allgather, host, n), seconds(Collective::reduce_scatter_block, host, n));
  EXPECT_DOUBLE_EQ(seconds(Collective::bcast, host, n), 5e-6 + 7 * 3e-6 + n * 5e-12);
  EXPECT_EQ(seconds(Collective::alltoall, host, n), INFINITY);
  // 3 hosts of 2: the slower link, and as many steps over it as there are further hosts.
  const Topology hosts = Topology::regular(6, 2);
  EXPECT_DOUBLE_EQ(seconds(Collective::allgather, hosts, n), 5e-6 + 3 * 3e-6 + 2 * 2e-5 + 5.0 / 6 * n * 1e-10);
}

TEST(Nccl, TakesATreeForShortVectorsOnManyHosts) {
  const topology::Topology hosts = topology::Topology::regular(64, 1);
  const auto seconds = [&](double n) { return nccl_seconds(with_nccl(), hosts, Collective::allreduce, n); };
  EXPECT_DOUBLE_EQ(seconds(1024), 5e-6 + 2 * 6 * 2e-5 + 2 * 1024 * 1e-10);
  const double n = 1 << 30;
  EXPECT_DOUBLE_EQ(seconds(n), 5e-6 + 2 * 63 * 2e-5 + 126.0 / 64 * n * 1e-10);
}

TEST(Nccl, TakesTheProfilesLinksAndCardsWhereItWasNotMeasured) {
  Profile p = measured(2e-5);
  p.nics = 2;
  const double n = 1 << 30;
  const auto seconds = [&](int ranks, int per_host) {
    return nccl_seconds(p, topology::Topology::regular(ranks, per_host), Collective::bcast, n);
  };
  EXPECT_DOUBLE_EQ(seconds(4, 1), 5e-6 + 3e-5 + n * 1e-9 / 2);
  EXPECT_DOUBLE_EQ(seconds(4, 4), 5e-6 + 3 * 5e-7 + n * 1e-10);
  p.nics = 0;  // a card for each rank
  EXPECT_DOUBLE_EQ(seconds(8, 4), 5e-6 + 6 * 5e-7 + 1e-5 + n * 1e-9 / 4);
}

// A device whose links have NCCL's bandwidth. A message, which the host announces, begins later than a step inside
// NCCL's kernel.
Candidate chosen_at(double byte, std::uint64_t bytes) {
  Profile p = measured(2e-5);
  p.device.nccl_between = {2e-6, byte};
  p.links[static_cast<std::size_t>(Distance::network)] = {{0, 1e-5, byte, 0}};
  Chooser chooser(p, topology::Topology::regular(8, 1));
  Question q = allreduce(bytes, 8);
  q.device = q.native = true;
  return best(chooser, q);
}

TEST(Nccl, IsChosenOverNvlinkAndStreamsOverSlowLinks) {
  for (const std::uint64_t mib : {1u, 64u, 1024u}) EXPECT_TRUE(chosen_at(1 / 450e9, mib << 20u).native) << mib;
  const Candidate slow = chosen_at(8 / 25e9, 1u << 30u);
  EXPECT_FALSE(slow.native);
  EXPECT_NE(slow.payload, Kind::raw);
  EXPECT_TRUE(chosen_at(8 / 25e9, 1024).native);  // of which latency is all
}

// A rank of the ring compresses 1/p, adds (p-1)/p and decompresses (p-1)/p of the vector. If that takes longer than
// NCCL's bytes, NCCL is faster whatever is hidden; if NCCL's bytes take longer than it plus the streams' bytes, streams
// are faster.
TEST(Nccl, TheCrossoverIsWhereTheCodecsWorkMeetsTheBytesSaved) {
  const double p = 8, ratio = 8, around = (p - 1) / p;
  const double work = 1e-12 / p + around * (4e-12 + 2e-12);
  const double native_below = work / (2 * around), streams_above = native_below / (1 - 1 / ratio);
  EXPECT_TRUE(chosen_at(native_below / 2, 1u << 30u).native);
  EXPECT_FALSE(chosen_at(streams_above * 2, 1u << 30u).native);
  bool streams = false;
  for (double byte = 1e-13; byte < 1e-9; byte *= 1.25) {
    const bool now = !chosen_at(byte, 1u << 30u).native;
    EXPECT_GE(now, streams) << byte;  // one crossover
    streams = now;
  }
  EXPECT_TRUE(streams);
}

// Those of an MPI move values of the host.
TEST(Nccl, AnMpisTimesAreNotTakenForItsOwn) {
  Profile p = with_nccl();
  p.natives = {{Collective::allreduce, 4, 4, {{1 << 20, 1e-9}}}};
  Chooser chooser(p, topology::Topology::regular(4, 1));
  Question q = allreduce(1 << 20);
  q.device = q.native = true;
  std::vector<Candidate> all;
  ASSERT_EQ(chooser.table(q, &all), Status::ok);
  EXPECT_GT(Chooser::mpi_seconds(all), 1e-4);
}

TEST(DeviceCosts, StreamsAreChosenOnLinksSlowerThanTheDevice) {
  for (const double beta : {1e-9, 1e-13}) {
    Profile p = measured(2e-5);
    p.device.staging = 1e-13;
    p.links[static_cast<std::size_t>(Distance::network)] = {{0, 1e-5, beta, 0}};
    Chooser chooser(p, topology::Topology::regular(4, 1));
    Question q = allreduce(64u << 20u, 8);
    q.device = q.staged = true;
    EXPECT_EQ(best(chooser, q).payload == Kind::raw, beta < 1e-12) << beta;
  }
}

}  // namespace
}  // namespace stretto::model
