// The time of cores: messages keep them busy, hosts of one machine share them, and a rendezvous waits for them.
#include "model/profile/codec_probe.hpp"
#include "model/profile/profile.hpp"
#include "world.hpp"

namespace stretto::model {
namespace {

using schedule::Collective;

constexpr auto network = static_cast<std::size_t>(topology::Distance::network);

double bcast_seconds(const topology::Topology& where, const Machine& machine, int cores, double bytes, double segment) {
  const Programs programs = programs_of(Collective::bcast, "binomial", where, {.allowed = false, .cores = cores});
  return predict(programs, system_of(payload::Kind::fused), machine, {.bytes = bytes, .segment = segment}).seconds;
}

TEST(CoreTime, AMessageBetweenHostsKeepsBothCoresBusy) {
  Machine m = uniform(0, 0);
  m.links[network] = {Span{.cpu = 1, .cpu_message = 10}};
  EXPECT_DOUBLE_EQ(bcast_seconds(topology::Topology::regular(2, 1), m, 0, 100, 0), 2 * (100 + 10));
  EXPECT_DOUBLE_EQ(bcast_seconds(topology::Topology::regular(2, 2), m, 0, 100, 0), 0);
  // The receiver works on a segment while the sender works on the next.
  EXPECT_DOUBLE_EQ(bcast_seconds(topology::Topology::regular(2, 1), m, 0, 100, 50), 3 * (50 + 10));
}

TEST(CoreTime, HostsOfOneMachineShareItsCores) {
  Machine m = uniform(0, 0);
  m.links[network] = {Span{.cpu = 1}};
  topology::Topology where = topology::Topology::regular(2, 1);
  const double alone = bcast_seconds(where, m, 2, 100, 0);
  where.share_cores(0.5);
  EXPECT_DOUBLE_EQ(bcast_seconds(where, m, 2, 100, 0), alone);
  where.share_cores(0.25);
  EXPECT_DOUBLE_EQ(bcast_seconds(where, m, 2, 100, 0), 2 * alone);
}

TEST(CoreTime, ALongStreamWaitsForTheReceiversCodec) {
  Machine m = uniform(0, 1);
  m.ratio = 2;
  m.fused = {0, 0.5};
  const topology::Topology where = topology::Topology::regular(2, 1);
  const double eager = bcast_seconds(where, m, 0, 100, 0);
  m.eager_limit = 50;
  EXPECT_DOUBLE_EQ(bcast_seconds(where, m, 0, 100, 0), eager);
  m.eager_limit = 49;
  EXPECT_DOUBLE_EQ(bcast_seconds(where, m, 0, 100, 0), eager + 100 * 0.5 / 2);
  EXPECT_DOUBLE_EQ(bcast_seconds(where, m, 0, 100, 50), eager);
}

TEST(CoreTime, TheCodecsCostsFollowTheProbe) {
  Profile p = built_in();
  ASSERT_TRUE(p.probe.known() && p.dense_probe.known());
  CodecProbe twice = p.probe;
  twice.fused *= 2;
  scale_codec(twice, p.dense_probe, &p);
  const Profile& b = built_in();
  EXPECT_DOUBLE_EQ(p.f32[0].fused, 2 * b.f32[0].fused);
  EXPECT_DOUBLE_EQ(p.f64[1].fused, 2 * b.f64[1].fused);
  EXPECT_DOUBLE_EQ(p.f32[0].compress, b.f32[0].compress);
  EXPECT_DOUBLE_EQ(p.dense_f32[0].fused, b.dense_f32[0].fused);
  scale_codec({}, {}, &p);
  EXPECT_DOUBLE_EQ(p.f32[0].fused, 2 * b.f32[0].fused);
  twice.fused *= 1000;
  p = b;
  scale_codec(twice, p.dense_probe, &p);
  EXPECT_DOUBLE_EQ(p.f32[0].fused, 16 * b.f32[0].fused);
}

TEST(CoreTime, TheProbeMeasuresBothCodings) {
  EXPECT_TRUE(measure_codec(codec::Coding::fixed).known());
  EXPECT_TRUE(measure_codec(codec::Coding::dense).known());
}

}  // namespace
}  // namespace stretto::model
