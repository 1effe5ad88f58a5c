// Collectives of device memory, run by the engine over threads on emulated devices: the results are the host's, bit for
// bit, whatever the order in which streams go on, and also where some ranks have their vectors on the host.
#include <gtest/gtest.h>

#include <mutex>

#include "../engine/calls.hpp"
#include "../engine/ranks.hpp"
#include "devices.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using schedule::Collective;

enum class Where { host, device, mixed };  // mixed: ranks of odd number on the host

struct Case {
  Collective collective = Collective::allreduce;
  const char* algorithm = "ring";
  Kind kind = Kind::fused;
  payload::Op op = payload::Op::sum;
  std::size_t count = 20000;
  bool in_place = false;
  bool one_device = false;  // for all ranks
};

std::vector<float> wave(int rank, std::size_t count) {
  std::vector<float> v(count);
  for (std::size_t i = 0; i < count; ++i)
    v[i] = std::sin(0.001f * static_cast<float>(i) + static_cast<float>(rank)) * static_cast<float>(1 + i % 3);
  if (count > 77) v[77] = 1e30f;
  return v;
}

std::size_t in_length(const Case& c, int ranks) {
  const bool blocks = c.collective == Collective::reduce_scatter || c.collective == Collective::alltoall;
  return blocks ? c.count * static_cast<std::size_t>(ranks) : c.count;
}
std::size_t out_length(const Case& c, int ranks) {
  const bool blocks = c.collective == Collective::allgather || c.collective == Collective::alltoall;
  return blocks ? c.count * static_cast<std::size_t>(ranks) : c.count;
}

engine::Work work_of(const Case& c, engine::Engine& engine, const float* in, float* out) {
  schedule::Request request;
  request.collective = c.collective;
  request.ranks = engine.carrier().size();
  request.rank = engine.carrier().rank();
  engine::Work work;
  work.schedule = std::make_shared<schedule::Schedule>(schedule::find(c.collective, c.algorithm)->build(request));
  work.payload.kind = c.kind;
  work.payload.op = c.op;
  work.payload.eps = 1e-3;
  work.options.segment_bytes = 8192;
  work.options.timeout = 60;
  engine::Arguments arguments;
  arguments.in = in;
  arguments.out = out;
  arguments.count = c.count;
  EXPECT_EQ(engine::bind(*work.schedule, payload::Type::f32, arguments, &work.blocks), Status::ok) << message();
  return work;
}

// The result of every rank.
std::vector<std::vector<float>> results(const Case& c, int ranks, Where where, int repeats = 1) {
  std::vector<std::vector<float>> all(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    SCOPED_TRACE(testing::Message() << c.algorithm << ", " << ranks << " ranks, rank " << rank);
    auto& result = all[static_cast<std::size_t>(rank)];
    const auto in = wave(rank, in_length(c, ranks));
    const std::size_t n = out_length(c, ranks);
    const bool on_host = where == Where::host || (where == Where::mixed && rank % 2 == 1);
    for (int i = 0; i < repeats; ++i) {
      if (on_host) {
        result = c.in_place ? in : std::vector<float>(n);
        const auto work = work_of(c, engine, c.in_place ? result.data() : in.data(), result.data());
        ASSERT_EQ(engine.run(work), Status::ok) << message();
        continue;
      }
      const int number = c.one_device ? 0 : rank;
      thread_local std::unique_ptr<device::Device> d;
      d = open_device(number);
      const DeviceVector<float> from(number, in), to(number, n);
      auto work = work_of(c, engine, from.data(), c.in_place ? from.data() : to.data());
      work.device = d.get();
      ASSERT_EQ(engine.run(work), Status::ok) << message();
      result = c.in_place ? from.read() : to.read();
    }
    engine.trim();
  });
  return all;
}

void same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    ASSERT_EQ(a[r].size(), b[r].size());
    EXPECT_EQ(std::memcmp(a[r].data(), b[r].data(), a[r].size() * sizeof(float)), 0) << "rank " << r;
  }
}

void expect_as_on_host(const Case& c, int ranks) {
  SCOPED_TRACE(testing::Message() << c.algorithm << " " << payload::name(c.kind) << " on " << ranks << " ranks");
  emulation().reset(static_cast<std::uint64_t>(ranks));
  const auto expected = results(c, ranks, Where::host);
  same_bits(results(c, ranks, Where::device), expected);
  same_bits(results(c, ranks, Where::mixed), expected);
  EXPECT_EQ(emulation().races(), 0) << emulation().first_race();
}

TEST(Device, AFusedRingGivesTheHostsBits) {
  for (int ranks = 1; ranks <= 9; ++ranks) expect_as_on_host({}, ranks);
}

}  // namespace
}  // namespace stretto::tests
