// Short runs: rounds of messages that their caller starts, beside the engine's schedules.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "engine/binding.hpp"
#include "engine/tags.hpp"
#include "forwarding.hpp"
#include "ranks.hpp"
#include "schedule/registry.hpp"

namespace stretto::tests {
namespace {

using engine::ShortMessage;
using engine::ShortRun;

// Each rank sends its number to the next, and receives that of the one before.
Status pass_round(engine::Engine& engine, const ShortRun& run, int* got) {
  const int rank = engine.carrier().rank(), ranks = engine.carrier().size();
  int own = rank;
  const std::array<ShortMessage, 2> both{
      {{(rank + 1) % ranks, true, &own, sizeof own}, {(rank + ranks - 1) % ranks, false, got, sizeof *got}}};
  return engine.exchange(run, both);
}

ShortRun next(engine::Engine& engine, double timeout = 60) {
  return {.what = "round", .number = engine.pass(), .signature = 7, .timeout = timeout};
}

TEST(ShortRun, MessagesArriveBetweenRunsOfSchedules) {
  for (const int ranks : {2, 3, 5})
    on_ranks(ranks, [&](int rank, engine::Engine& engine) {
      schedule::Request request;
      request.collective = schedule::Collective::allreduce;
      request.ranks = ranks;
      request.rank = rank;
      engine::Work work;
      work.schedule = std::make_shared<schedule::Schedule>(
          schedule::find(request.collective, "recursive_doubling")->build(request));
      const float in = 1;
      float out = 0;
      for (int turn = 0; turn < 300; ++turn) {  // more than the tags have numbers of runs
        int got = -1;
        ASSERT_EQ(pass_round(engine, next(engine), &got), Status::ok) << message();
        ASSERT_EQ(got, (rank + ranks - 1) % ranks);
        ASSERT_EQ(engine::bind(*work.schedule, work.payload.type, {.in = &in, .out = &out, .count = 1}, &work.blocks),
                  Status::ok);
        ASSERT_EQ(engine.run(work), Status::ok) << message();
        ASSERT_EQ(out, static_cast<float>(ranks));
      }
    });
}

TEST(ShortRun, AnEmptyRoundIsThrough) {
  on_ranks(2, [](int, engine::Engine& engine) { EXPECT_EQ(engine.exchange(next(engine), {}), Status::ok); });
}

TEST(ShortRun, ARankThatGivesUpIsToldToAllThatWait) {
  constexpr int ranks = 4;
  on_ranks(ranks, [&](int rank, engine::Engine& engine) {
    const ShortRun run = next(engine);
    if (rank == 2) {
      engine.give_up(Status::corrupt_stream, "the reason", run.number);
      return;
    }
    int got = 0;
    Status s = pass_round(engine, run, &got);
    if (s == Status::ok) s = pass_round(engine, next(engine), &got);  // its messages were there
    EXPECT_EQ(s, Status::corrupt_stream) << rank;
    EXPECT_NE(std::string(message()).find("rank 2 gave up: the reason"), std::string::npos) << message();
    EXPECT_TRUE(engine.broken());
    EXPECT_EQ(pass_round(engine, next(engine), &got), Status::corrupt_stream);
  });
}

TEST(ShortRun, AMissingRankIsATimeoutThatNamesIt) {
  on_ranks(2, [](int rank, engine::Engine& engine) {
    if (rank == 1) return;
    int got = 0;
    EXPECT_EQ(pass_round(engine, next(engine, 0.2), &got), Status::timeout);
    const std::string text = message();
    EXPECT_NE(text.find("round of several hosts, rank 0"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 1 (its message)"), std::string::npos) << text;
  });
}

TEST(ShortRun, TheRankAtTheEndOfAChainOfWaitsIsNamed) {
  on_ranks(4, [](int rank, engine::Engine& engine) {
    if (rank == 2) return;
    int got = 0;
    Status s = Status::ok;
    while (s == Status::ok) s = pass_round(engine, next(engine, 0.3), &got);
    EXPECT_EQ(s, Status::timeout);
    EXPECT_NE(std::string(message()).find("missing is rank 2 ("), std::string::npos) << rank << ": " << message();
  });
}

TEST(ShortRun, RanksThatCallDifferentlyAreTold) {
  for (const int ranks : {2, 3}) {
    on_ranks(ranks, [&](int rank, engine::Engine& engine) {
      ShortRun run = next(engine);
      if (rank == 0) run.signature = 8;
      int got = 0;
      EXPECT_EQ(pass_round(engine, run, &got), Status::incompatible) << message();
    });
  }
}

// The tags of two lengths may be equal where signatures have few bits.
TEST(ShortRun, AShorterMessageUnderAnEqualTagIsADifferentCall) {
  const auto body = [](int rank, engine::Engine& engine) {
    const engine::Tags tags(engine.carrier().tags());
    const ShortRun run = next(engine);
    const auto tag = [&](std::size_t bytes) {
      return tags.tag(run.number, 0, engine::mix(engine::mix(run.signature, run.number), bytes));
    };
    std::size_t longer = 5;
    while (tag(longer) != tag(4)) ++longer;
    std::vector<std::byte> memory(longer);
    const ShortMessage message{1 - rank, rank == 0, memory.data(), rank == 0 ? std::size_t{4} : longer};
    const Status s = engine.exchange(run, {&message, 1});
    if (rank == 0) return;
    EXPECT_EQ(s, Status::incompatible);
    EXPECT_NE(std::string(stretto::message()).find("it sent 4 bytes where this rank expects"), std::string::npos)
        << stretto::message();
  };
  on_ranks(2, body, [](int, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
    return std::make_unique<Refusing>(
        std::move(c), [] { return false; }, std::uint64_t{1} << 15);
  });
}

TEST(ShortRun, ARoundHasAtMostSixteenMessages) {
  on_ranks(1, [](int, engine::Engine& engine) {
    const std::array<ShortMessage, engine::Engine::kMostShortMessages + 1> many{};
    EXPECT_EQ(engine.exchange(next(engine), many), Status::internal);
    EXPECT_TRUE(engine.broken());
  });
}

}  // namespace
}  // namespace stretto::tests
