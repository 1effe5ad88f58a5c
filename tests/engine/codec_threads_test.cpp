// Threads share the codec's calls of a collective (Engine::share_codec): equal bits for any number of them, and shared
// by the engines of several ranks.
#include "codec/thread_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "calls.hpp"
#include "ranks.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using schedule::Collective;

constexpr std::size_t kN = 7 * 65536 + 999;
constexpr int kRanks = 3;

// The results of all ranks, one behind the other.
std::vector<float> sums(Kind kind, codec::Coding coding, const codec::Parallel* parallel) {
  std::vector<float> all(kRanks * kN);
  on_ranks(kRanks, [&](int rank, engine::Engine& engine) {
    engine.share_codec(parallel);
    std::vector<float> in = numbers(kN), out(kN);
    for (float& x : in) x *= static_cast<float>(rank + 1);
    engine::Work call = call_of(engine, Collective::allreduce, "ring", kind, in, out);
    call.payload.coding = coding;
    call.options.segment_bytes = 0;
    EXPECT_EQ(engine.run(call), Status::ok) << message();
    std::memcpy(all.data() + static_cast<std::size_t>(rank) * kN, out.data(), kN * sizeof(float));
  });
  return all;
}

TEST(CodecThreads, GiveTheBitsOfOne) {
  const auto pool = codec::ThreadPool::shared(3);
  ASSERT_TRUE(pool);
  for (const codec::Coding coding : {codec::Coding::fixed, codec::Coding::dense})
    for (const Kind kind : {Kind::fused, Kind::homomorphic, Kind::recompress, Kind::cprp2p}) {
      const auto alone = sums(kind, coding, nullptr), shared = sums(kind, coding, &pool->parallel());
      EXPECT_EQ(std::memcmp(alone.data(), shared.data(), alone.size() * sizeof(float)), 0)
          << codec::name(coding) << " " << payload::name(kind);
    }
}

TEST(CodecThreads, TakePartsOfLongSegmentsAlone) {
  struct Counted {
    int runs = 0, parts = 0;
  } counted;
  codec::Parallel parallel;
  parallel.width = 2;
  parallel.self = &counted;
  parallel.run = [](void* self, int parts, void (*task)(void*, int), void* arg) {
    ++static_cast<Counted*>(self)->runs;
    static_cast<Counted*>(self)->parts += parts;
    for (int i = parts; i-- > 0;) task(arg, i);
  };
  const auto run = [&](std::size_t segment) {
    counted = {};
    on_ranks(2, [&](int rank, engine::Engine& engine) {
      if (rank == 0) engine.share_codec(&parallel);
      const std::vector<float> in = numbers(kN);
      std::vector<float> out(kN);
      engine::Work call = call_of(engine, Collective::allreduce, "ring", Kind::fused, in, out);
      call.options.segment_bytes = segment;
      EXPECT_EQ(engine.run(call), Status::ok) << message();
    });
  };
  run(std::size_t{256} << 10);
  EXPECT_EQ(counted.runs, 0);
  run(std::size_t{1} << 20);
  EXPECT_GT(counted.runs, 0);
  EXPECT_EQ(counted.parts, 2 * counted.runs);
}

}  // namespace
}  // namespace stretto::tests
