// Windows of ranks that are threads; tests/node/memory/refusal_test.cpp has processes.
#include "node/memory/window.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "../ranks.hpp"

namespace stretto::node {
namespace {

constexpr std::size_t kPerStep = 1000;  // bytes

std::byte byte_at(int rank, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(rank) * 37 + i * 11);
}

std::vector<std::byte> input_of(int rank, std::size_t bytes) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i) all[i] = byte_at(rank, i);
  return all;
}

CallRecord call_of(std::size_t bytes) { return {Collective::allreduce, 0, 0, 0, bytes}; }

// In each step rank r's results are its input reversed in sign; a rank may be `ahead` steps before it reads its peers'.
void run_steps(Collectives& c, std::uint64_t steps, std::uint64_t ahead) {
  const std::size_t bytes = steps * kPerStep;
  const std::vector<std::byte> in = input_of(c.rank(), bytes);
  std::vector<std::byte> out(bytes), room(bytes), got(bytes);
  Window window(c.group(), c.memory());
  bool visible = false;
  ASSERT_EQ(window.open(call_of(bytes), in, out, steps, &visible), Status::ok) << message();
  ASSERT_TRUE(visible);
  std::uint64_t read = 0;
  const auto read_step = [&] {
    for (int r = 0; r < c.size(); ++r) {
      if (r == c.rank()) continue;
      ASSERT_EQ(window.fetch(r, read, read * kPerStep, kPerStep, got.data()), Status::ok) << message();
      for (std::size_t i = 0; i < kPerStep; ++i) ASSERT_EQ(got[i], ~byte_at(r, read * kPerStep + i));
    }
    window.leave(read++);
  };
  for (std::uint64_t k = 0; k < steps; ++k) {
    for (std::size_t i = k * kPerStep; i < (k + 1) * kPerStep; ++i) out[i] = ~in[i];
    ASSERT_EQ(window.publish(), Status::ok) << message();
    if (k - read >= ahead) read_step();
  }
  while (read < steps) read_step();
  for (int r = 0; r < c.size(); ++r) {
    if (r == c.rank()) continue;
    const std::byte* found = nullptr;
    ASSERT_EQ(window.input(r, 1, bytes - 1, room.data(), &found), Status::ok) << message();
    ASSERT_EQ(std::memcmp(found, input_of(r, bytes).data() + 1, bytes - 1), 0);
  }
  ASSERT_EQ(window.close(), Status::ok) << message();
}

void expect_sum_of_ranks(Collectives& c) {
  std::vector<std::int32_t> x(10000, c.rank()), y(x.size());
  ASSERT_EQ(c.allreduce(x.data(), y.data(), x.size(), payload::Type::i32, {}), Status::ok) << message();
  EXPECT_EQ(y, std::vector<std::int32_t>(x.size(), c.size() * (c.size() - 1) / 2));
}

TEST(Window, PeersReadInputsAndEachStepsResults) {
  for (const int ranks : {2, 3, 5})
    on_collectives(ranks, {}, [](Collectives& c) {
      for (const std::uint64_t steps : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{3 * kLines}}) {
        run_steps(c, steps, 0);
        run_steps(c, steps, std::uint64_t(c.rank()) * 5);
        expect_sum_of_ranks(c);
      }
    });
}

// Rank 0 alone has an input, and fills one place again and again; the others have neither input nor results.
TEST(Window, BuffersMayDifferInLengthAndPlacesAreReusedOnceRead) {
  on_collectives(3, {}, [](Collectives& c) {
    constexpr std::uint64_t steps = 100;
    const std::vector<std::byte> in = input_of(0, c.rank() == 0 ? 2 * kPerStep : 0);
    std::vector<std::byte> out(c.rank() == 0 ? kPerStep : 0), got(kPerStep);
    Window window(c.group(), c.memory());
    bool visible = false;
    ASSERT_EQ(window.open(call_of(kPerStep), in, out, steps, &visible), Status::ok) << message();
    ASSERT_TRUE(visible);
    for (std::uint64_t k = 0; k < steps; ++k) {
      for (int r = 1; c.rank() == 0 && k > 0 && r < c.size(); ++r) {
        ASSERT_EQ(window.await_left(r, k - 1), Status::ok) << message();
      }
      std::fill(out.begin(), out.end(), static_cast<std::byte>(k));
      ASSERT_EQ(window.publish(), Status::ok) << message();
      if (c.rank() > 0) {
        ASSERT_EQ(window.fetch(0, k, 0, kPerStep, got.data()), Status::ok) << message();
        EXPECT_EQ(got, std::vector<std::byte>(kPerStep, static_cast<std::byte>(k)));
        const std::byte* found = nullptr;
        ASSERT_EQ(window.input(0, k, kPerStep, got.data(), &found), Status::ok) << message();
        EXPECT_EQ(found[0], byte_at(0, k));
      }
      window.leave(k);
    }
    ASSERT_EQ(window.close(), Status::ok) << message();
  });
}

TEST(Window, MemoryThatNobodySeesLeavesAllWithoutOne) {
  Options options;
  options.memory.process = options.memory.arena = options.memory.xpmem = options.memory.kernel = false;
  on_collectives(3, options, [](Collectives& c) {
    for (int i = 0; i < 2; ++i) {
      const std::vector<std::byte> in(kPerStep), out(kPerStep);
      Window window(c.group(), c.memory());
      bool visible = true;
      ASSERT_EQ(window.open(call_of(kPerStep), in, out, 3, &visible), Status::ok) << message();
      EXPECT_FALSE(visible);
      expect_sum_of_ranks(c);
    }
  });
}

TEST(Window, CallsThatDifferAreIncompatibleOnAllRanks) {
  on_collectives(3, {}, [](Collectives& c) {
    const std::vector<std::byte> in(2 * kPerStep), out(2 * kPerStep);
    Window window(c.group(), c.memory());
    bool visible = true;
    EXPECT_EQ(window.open(call_of(c.rank() == 1 ? kPerStep : 2 * kPerStep), in, out, 1, &visible),
              Status::incompatible);
  });
}

}  // namespace
}  // namespace stretto::node
