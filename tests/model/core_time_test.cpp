// The time of cores: messages keep them busy, hosts of one machine share them, and a rendezvous waits for them.
#include "model/choose.hpp"
#include "model/profile/codec_probe.hpp"
#include "model/profile/profile.hpp"
#include "world.hpp"

namespace stretto::model {
namespace {

using schedule::Collective;

constexpr auto kNetwork = static_cast<std::size_t>(topology::Distance::network);

double bcast_seconds(const topology::Topology& where, const Machine& machine, int cores, double bytes, double segment) {
  const Programs programs = programs_of(Collective::bcast, "binomial", where, {.allowed = false, .cores = cores});
  return predict(programs, system_of(payload::Kind::fused), machine, {.bytes = bytes, .segment = segment}).seconds;
}

TEST(CoreTime, AMessageBetweenHostsKeepsBothCoresBusy) {
  Machine m = uniform(0, 0);
  m.links[kNetwork] = {Span{.cpu = 1, .cpu_message = 10}};
  EXPECT_DOUBLE_EQ(bcast_seconds(topology::Topology::regular(2, 1), m, 0, 100, 0), 2 * (100 + 10));
  EXPECT_DOUBLE_EQ(bcast_seconds(topology::Topology::regular(2, 2), m, 0, 100, 0), 0);
  // The receiver works on a segment while the sender works on the next.
  EXPECT_DOUBLE_EQ(bcast_seconds(topology::Topology::regular(2, 1), m, 0, 100, 50), 3 * (50 + 10));
}

TEST(CoreTime, HostsOfOneMachineShareItsCores) {
  Machine m = uniform(0, 0);
  m.links[kNetwork] = {Span{.cpu = 1}};
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

// A chunk of 65,536 values is the least that a thread takes.
TEST(CoreTime, ThreadsShareTheCodecsCallsByChunks) {
  constexpr double chunk = 262144;
  Machine m = uniform(0, 0);
  m.codec_threads = 4;
  const Rate rate{1e-3, 1e-9};
  EXPECT_DOUBLE_EQ(m.codec(rate, 8 * chunk, 8), rate.of(8 * chunk, 8));
  EXPECT_NEAR(m.codec(rate, 8 * chunk, 2), 2 * rate.call + 8 * chunk / 4 * rate.byte, 2e-5);
  EXPECT_NEAR(m.codec(rate, 6 * chunk, 1), rate.call + 2 * chunk * rate.byte, 1e-5);  // two threads take two
  EXPECT_NEAR(m.codec(rate, 3 * chunk, 1), rate.call + chunk * rate.byte, 1e-5);
  m.value_bits = 64;
  EXPECT_NEAR(m.codec(rate, 8 * chunk, 2), 2 * rate.call + 8 * chunk / 2 * rate.byte, 2e-5);
  // Many threads wait for memory, and none is slower than one.
  m.codec_threads = 64;
  m.copy = {0, 4e-10};
  EXPECT_NEAR(m.codec(rate, 256 * chunk, 1), rate.call + 256 * chunk * 5e-11, 1e-5);
  const Rate fast{0, 1e-11};
  EXPECT_NEAR(m.codec(fast, 256 * chunk, 1), fast.of(256 * chunk), 1e-5);
}

TEST(CoreTime, DenseStreamsPayOnFasterLinksWithMoreThreads) {
  Profile p = built_in();
  Question q;
  q.collective = Collective::allreduce;
  q.bytes = 64 << 20;
  q.compress = q.code_space = true;
  q.ratio = 8;
  q.dense_ratio = 16;
  const auto dense_at = [&](int threads, double gigabits) {
    p.codec_threads = threads;
    for (Span& s : p.links[kNetwork]) s.beta = 8 / (gigabits * 1e9);
    topology::Topology where = topology::Topology::regular(4, 1);
    Chooser chooser(p, where);
    Candidate best;
    EXPECT_EQ(chooser.choose(q, &best), Status::ok) << message();
    return best.coding == codec::Coding::dense;
  };
  EXPECT_TRUE(dense_at(1, 0.1));
  EXPECT_FALSE(dense_at(1, 5));
  EXPECT_TRUE(dense_at(8, 5));
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
