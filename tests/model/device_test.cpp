// Collectives of device memory: what the model takes for their costs, and on how many streams it puts their segments.
#include <gtest/gtest.h>

#include <bit>

#include "chooser.hpp"
#include "model/machine.hpp"

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

TEST(DeviceCosts, KernelsOnSeveralStreamsHideTheirLeastTimeDownToALaunch) {
  const Profile p = measured(2e-5);
  EXPECT_DOUBLE_EQ(machine_on_device(p, 4, 8, 2, true).compress.call, 1e-5);
  EXPECT_DOUBLE_EQ(machine_on_device(p, 4, 8, 8, true).compress.call, 5e-6);
}

TEST(DeviceCosts, AProfileOfADeviceServesWithItsOwnFiguresAndOthersWithEstimates) {
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
      EXPECT_LE(lanes, most_lanes);
      EXPECT_GE(lanes, before) << segments << " segments, " << call << " s";
      before = lanes;
    }
  }
  EXPECT_EQ(lanes_for(measured(1e-3), 4, 8, true, 64 * 256 * kib, 256 * kib), most_lanes);
  EXPECT_LT(lanes_for(measured(5e-6), 4, 8, true, 64 * 256 * kib, 256 * kib), most_lanes);
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
  EXPECT_EQ(c.lanes, most_lanes);
  EXPECT_GT(c.seconds, direct);
  EXPECT_NE(c.seconds, on_host);

  Chooser slower(measured(2e-3), topology::Topology::regular(4, 1));
  EXPECT_GT(best(slower, q).seconds, c.seconds);
}

TEST(DeviceCosts, ALongMessageThatIsStagedIsCutSoThatSomethingHidesItsCopies) {
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

TEST(DeviceCosts, StreamsAreChosenWhereTheLinkIsSlowerThanTheDevice) {
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
