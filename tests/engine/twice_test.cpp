// A second failure, in a collective that began before the first failed one: it is announced as well.
#include <gtest/gtest.h>

#include <barrier>
#include <string>

#include "cases/calls.hpp"
#include "forwarding.hpp"
#include "ranks.hpp"
#include "scarce.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;
using schedule::Collective;

constexpr double kLimit = 30;  // of waiting; reached only where a rank was told nothing

engine::Work allreduce(engine::Engine& engine, const std::vector<float>& in, std::vector<float>& out) {
  engine::Work call = call_of(engine, Collective::allreduce, "ring", Kind::raw, in, out);
  call.options.timeout = kLimit;
  return call;
}

void expect_told(Status s, const char* by) {
  const std::string text = message();
  EXPECT_EQ(s, Status::out_of_memory) << text;
  EXPECT_NE(text.find(by), std::string::npos) << text;
  EXPECT_EQ(text.find("nothing came"), std::string::npos) << text;
}

TEST(Twice, ARankThatFailsInAnEarlierCollectiveTellsThatToo) {
  std::barrier begun(3);
  std::vector<char> without(3, 0);  // by rank: no transfer begins any more
  on_ranks(
      3,
      [&](int rank, engine::Engine& engine) {
        const auto in = numbers(60000);
        std::vector<float> first(in.size()), second(in.size());
        engine::Request a, b;
        // No rank takes a turn beyond what starting does, so that none is through.
        ASSERT_EQ(engine.start(allreduce(engine, in, first), &a), Status::ok) << message();
        begun.arrive_and_wait();
        without[static_cast<std::size_t>(rank)] = rank == 1;
        const Status s = engine.start(allreduce(engine, in, second), &b);
        if (rank == 1) {
          expect_told(s, "no memory");
          expect_told(a.wait(), "no memory");
        } else {
          ASSERT_EQ(s, Status::ok) << message();
          expect_told(b.wait(), "rank 1 gave up");
          expect_told(a.wait(), "rank 1");
        }
        // And so it stays, with its reason.
        expect_told(engine.run(allreduce(engine, in, first)), "not usable any more");
      },
      [&](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Refusing>(std::move(c),
                                          [&, rank] { return without[static_cast<std::size_t>(rank)] != 0; });
      });
}

TEST(Twice, ARankThatHeardOfALaterEndTellsItsOwnEarlierOne) {
  std::barrier met(3);
  on_ranks(3, [&](int rank, engine::Engine& engine) {
    const auto in = numbers(100);
    std::vector<float> out(in.size());
    if (rank == 2) {
      for (int i = 0; i < 5; ++i) static_cast<void>(engine.pass());
      engine.give_up(Status::out_of_memory, "as rank 2 says");
    }
    met.arrive_and_wait();
    if (rank == 1) engine.give_up(Status::out_of_memory, "as rank 1 says");
    if (rank == 0) {
      expect_told(engine.run(allreduce(engine, in, out)), "rank 1 gave up: as rank 1 says");
    }
    met.arrive_and_wait();
  });
}

TEST(Twice, WhoGivesUpWhatTakesPlaceElsewhereNamesItsNumber) {
  std::barrier met(2);
  on_ranks(2, [&](int rank, engine::Engine& engine) {
    const std::uint64_t elsewhere = engine.pass();
    static_cast<void>(engine.pass());
    if (rank == 1) engine.give_up(Status::mpi_error, "it failed", elsewhere);
    met.arrive_and_wait();
    Status s = Status::ok;
    for (int looks = 0; rank == 0 && s == Status::ok && looks < 3000; ++looks) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      s = engine.usable(elsewhere);
    }
    if (rank == 0) {
      EXPECT_EQ(s, Status::mpi_error);
    }
  });
}

// A transfer fails to start, and then there is no memory for its message. False: fewer than n allocations.
bool lacks_words(long n) {
  bool struck = false;
  on_ranks(
      2,
      [&](int rank, engine::Engine& engine) {
        SCOPED_TRACE(testing::Message() << "allocation " << n << ", rank " << rank);
        const auto in = numbers(3000);
        std::vector<float> out(in.size());
        const engine::Work call = allreduce(engine, in, out);
        engine::Request request;
        if (rank == 1) {
          const Scarce scarce(n);
          const Status s = engine.start(call, &request);
          const Plenty plenty;
          struck = scarce.struck();
          expect_told(s, "no memory");
        } else {
          expect_told(engine.run(call), "no memory");
        }
      },
      [](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Refusing>(std::move(c), [rank] { return rank == 1; });
      });
  return struck;
}

TEST(Twice, AFailureWithoutMemoryForItsTextIsToldWithItsCause) {
  long n = 0;
  while (n < 100 && !HasFailure() && lacks_words(n)) ++n;
  EXPECT_GT(n, 10);
  EXPECT_LT(n, 100);
}

}  // namespace
}  // namespace stretto::tests
