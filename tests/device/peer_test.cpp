// Collectives of devices that reach each other's memory; ranks are threads. Results equal the host's bit for bit, each
// skipped wait is found, and memory out of reach is reported.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "collectives.hpp"

namespace stretto::tests {
namespace {

class DevicePeer : public testing::Test {
 protected:
  void SetUp() override { setenv("STRETTO_DEVICE_CARRIER", "peer", 1); }
  void TearDown() override {
    unsetenv("STRETTO_DEVICE_CARRIER");
    unsetenv("STRETTO_EMULATED_PEERS");
  }
};

// Names the schedule, since the model may choose another for a device.
stretto_options with(stretto_options o, What w) {
  constexpr const char* schedules[] = {"ring", "binomial", "ring", "ring", "binomial", "pairwise"};
  o.schedule = schedules[static_cast<int>(w)];
  o.segment = 4096;
  return timed(o);
}

void expect_as_on_host(What w, std::size_t n, int ranks, const stretto_options& o) {
  SCOPED_TRACE(testing::Message() << "collective " << int(w) << " of " << n << " on " << ranks << " ranks");
  emulation().reset(static_cast<std::uint64_t>(ranks));
  const Results expected = results(w, n, ranks, o, [](int) { return Way::host; });
  EXPECT_EQ(results(w, n, ranks, o, [](int) { return Way::on_stream; }), expected);
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
  EXPECT_EQ(emulation().held(false), 0u);
}

TEST_F(DevicePeer, ExactCollectivesGiveTheHostsBits) {
  for (const What w : kAll)
    for (int ranks = 1; ranks <= 9; ++ranks) expect_as_on_host(w, 3000, ranks, with(defaults(), w));
}

stretto_options fused(What w) {
  stretto_options o = with(bounded(1e-3), w);
  o.payload = w < What::allgather ? STRETTO_PAYLOAD_FUSED : STRETTO_PAYLOAD_RECOMPRESS;
  return o;
}

TEST_F(DevicePeer, CollectivesWithinABoundGiveTheHostsBits) {
  for (const What w : kAll)
    for (int ranks = 1; ranks <= 9; ranks += 1 + ranks / 4) expect_as_on_host(w, 3000, ranks, fused(w));
}

// Copies between device memories, on all devices.
long copies(What w, int ranks, const stretto_options& o) {
  emulation().reset(1);
  static_cast<void>(results(w, w == What::allreduce ? 1024 * static_cast<std::size_t>(ranks) : 1024, ranks, o,
                            [](int) { return Way::on_stream; }));
  long all = 0;
  for (int device = 0; device < ranks; ++device) all += emulation().copies(device);
  return all;
}

// A stream that is added to a block is read in the sender's memory. Messages that replace a block are copied: one
// segment of each rank's block here.
TEST_F(DevicePeer, OnlyWhatReplacesABlockIsCopied) {
  for (const int ranks : {2, 3, 5}) {
    stretto_options o = fused(What::allreduce);
    EXPECT_EQ(copies(What::allreduce, ranks, o), ranks * (ranks - 1));
    EXPECT_EQ(copies(What::reduce_scatter, ranks, o), 0);
    o.payload = STRETTO_PAYLOAD_RECOMPRESS;
    EXPECT_EQ(copies(What::reduce_scatter, ranks, o), 0);
  }
}

TEST_F(DevicePeer, EveryWaitThatIsLeftOutIsFound) {
  const auto run = [] {
    static_cast<void>(results(What::allreduce, 3000, 3, fused(What::allreduce), [](int) { return Way::on_stream; }));
  };
  emulation().reset(1);
  run();
  ASSERT_EQ(emulation().races(), 0) << emulation().first_race();
  const long waits = emulation().waits(1);
  ASSERT_EQ(waits, 2);  // of a lane for the stream, of the stream for the lane; messages need none
  for (long n = 1; n < waits; ++n) {
    long found = 0;
    for (std::uint64_t seed = 0; seed < 20 && found == 0; ++seed) {
      emulation().reset(seed);
      emulation().skip_wait(1, n);
      run();
      found = emulation().races();
    }
    EXPECT_GT(found, 0) << "wait " << n << " was left out";
  }
}

TEST_F(DevicePeer, MemoryOutOfReachIsRefusedOrGoesAnotherWay) {
  setenv("STRETTO_EMULATED_PEERS", "0", 1);
  std::atomic<int> refused = 0;
  on_ranks(3, [&](stretto_comm comm, int rank, int) {
    const stretto_options o = with(defaults(), What::allreduce);
    const DeviceVector<float> from(rank, api_test::wave(rank, 100)), to(rank, 100);
    EXPECT_EQ(stretto_allreduce(from.data(), to.data(), 100, STRETTO_F32, STRETTO_SUM, comm, &o), STRETTO_UNSUPPORTED);
    refused += std::string(stretto_message()).find("does not reach the memory of device") != std::string::npos;
  });
  EXPECT_EQ(refused, 3);
  unsetenv("STRETTO_DEVICE_CARRIER");
  expect_as_on_host(What::allreduce, 3000, 3, fused(What::allreduce));
}

}  // namespace
}  // namespace stretto::tests
