// Messages and collectives over an NCCL that is emulated, as devices are: ranks are threads. Results are the host's, bit for bit. What
// goes wrong in NCCL, or never comes there, ends in a status.
#include <gtest/gtest.h>

#include <string>

#include "collectives.hpp"
#include "emulated_nccl.hpp"
#include "schedule/registry.hpp"
#include "stretto/stretto_nonblocking.h"

namespace stretto::tests {
namespace {

const device::NcclEmulation& nccl() {
  static const device::NcclEmulation* const found = [] {
    void* library = dlopen(std::getenv("STRETTO_NCCL"), RTLD_NOW | RTLD_LOCAL);
    void* symbol = library ? dlsym(library, device::kNcclEmulationSymbol) : nullptr;
    if (!symbol) throw std::runtime_error("no emulated NCCL");
    return reinterpret_cast<const device::NcclEmulation* (*)()>(symbol)();
  }();
  return *found;
}

void begin(std::uint64_t seed) {
  emulation().reset(seed);
  nccl().reset();
}

void expect_order() {
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
  EXPECT_EQ(nccl().open(), 0);
}

// On a device every rank's messages cross over NCCL; where some rank's vectors are the host's, none do.
void expect_as_on_host(What w, std::size_t n, int ranks, const stretto_options& options) {
  SCOPED_TRACE(testing::Message() << "collective " << int(w) << " of " << n << " on " << ranks << " ranks, "
                                  << (options.schedule ? options.schedule : "any schedule") << ", payload "
                                  << int(options.payload));
  begin(static_cast<std::uint64_t>(ranks));
  const stretto_options o = timed(options);
  const Results expected = results(w, n, ranks, o, [](int) { return Way::host; });
  EXPECT_EQ(results(w, n, ranks, o, [](int) { return Way::on_stream; }), expected);
  const long groups = nccl().groups();
  EXPECT_EQ(groups > 0, ranks > 1);
  if (ranks > 1) {
    EXPECT_EQ(results(w, n, ranks, o, [](int r) { return r % 2 ? Way::host : Way::on_stream; }), expected);
    EXPECT_EQ(nccl().groups(), groups);
  }
  expect_order();
}

std::string default_of(What w) {
  using schedule::Collective;
  constexpr Collective of[] = {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                               Collective::allgather, Collective::bcast,  Collective::alltoall};
  return std::string(schedule::default_algorithm(of[static_cast<int>(w)]).name);
}

stretto_options forced(stretto_options o, const std::string& schedule) {
  o.schedule = schedule.c_str();
  o.segment = 4096;
  return o;
}

TEST(DeviceNccl, ExactCollectivesGiveTheHostsBits) {
  for (const What w : all) {
    const std::string schedule = default_of(w);
    for (int ranks = 1; ranks <= 5; ++ranks) expect_as_on_host(w, 3000, ranks, forced(defaults(), schedule));
  }
}

TEST(DeviceNccl, CollectivesWithinABoundGiveTheHostsBits) {
  for (const What w : all) {
    const std::string schedule = default_of(w);
    for (int ranks = 1; ranks <= 5; ++ranks) {
      stretto_options o = forced(bounded(1e-3), schedule);
      o.payload = w < What::allgather ? STRETTO_PAYLOAD_FUSED : STRETTO_PAYLOAD_RECOMPRESS;
      expect_as_on_host(w, 3000, ranks, o);
    }
  }
}

TEST(DeviceNccl, EverySumOfEverySchedule) {
  for (const schedule::Algorithm& a : schedule::algorithms()) {
    if (a.collective != schedule::Collective::allreduce || a.ranks_differ) continue;
    const std::string schedule(a.name);
    for (const stretto_payload p : {STRETTO_PAYLOAD_RAW, STRETTO_PAYLOAD_FUSED, STRETTO_PAYLOAD_HOMOMORPHIC}) {
      stretto_options o = forced(p == STRETTO_PAYLOAD_RAW ? defaults() : bounded(1e-3), schedule);
      o.payload = p;
      expect_as_on_host(What::allreduce, 4000, p == STRETTO_PAYLOAD_FUSED ? 5 : 3, o);
    }
  }
}

}  // namespace
}  // namespace stretto::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (stretto_cuda_available() != STRETTO_OK) return 1;
  return RUN_ALL_TESTS();
}
