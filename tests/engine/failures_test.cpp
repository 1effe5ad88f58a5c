// Failures end in a descriptive error on every dependent rank, and no rank hangs.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>

#include "cases/calls.hpp"
#include "forwarding.hpp"
#include "ranks.hpp"

namespace stretto::tests {
namespace {

using payload::Kind;

// Passes everything on, except what `spoil` does to the n-th message that this rank sends.
class Faulty final : public Forwarding {
 public:
  enum class Fault { none, flip, drop, shorten };
  Faulty(std::unique_ptr<carrier::Carrier> inner, Fault fault, int which)
      : Forwarding(std::move(inner)), fault_(fault), which_(which) {}

  Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                    std::uint64_t id) noexcept override {
    if (count_++ != which_) return Forwarding::start_send(peer, tag, data, bytes, id);
    const auto* from = static_cast<const std::byte*>(data);
    switch (fault_) {
      case Fault::none: break;
      case Fault::flip:
        copy_.assign(from, from + bytes);
        for (std::size_t i = 0; i < bytes; i += 7) copy_[i] ^= std::byte{0x5a};
        return Forwarding::start_send(peer, tag, copy_.data(), bytes, id);
      case Fault::shorten: return Forwarding::start_send(peer, tag, data, bytes - 4, id);
      case Fault::drop: dropped_ = {id, bytes, Status::ok}; return Status::ok;
    }
    return Forwarding::start_send(peer, tag, data, bytes, id);
  }
  Status wait_any(std::span<carrier::Completion> done, std::size_t* n, double seconds) noexcept override {
    if (dropped_.bytes > 0) {
      done[0] = std::exchange(dropped_, {});
      *n = 1;
      return Status::ok;
    }
    return Forwarding::wait_any(done, n, seconds);
  }

 private:
  Fault fault_;
  int which_;
  int count_ = 0;
  std::vector<std::byte> copy_;
  carrier::Completion dropped_{};
};

engine::Work allreduce(engine::Engine& engine, const char* algorithm, Kind kind, std::vector<float>& in,
                       std::vector<float>& out) {
  engine::Work call = call_of(engine, schedule::Collective::allreduce, algorithm, kind, in, out);
  call.payload.checksum = true;
  return call;
}

TEST(Failures, ASpoiltStreamIsAnErrorOnEveryRankAndTheEngineGoesOn) {
  for (const Kind kind : {Kind::recompress, Kind::homomorphic, Kind::fused}) {
    for (const char* algorithm : {"ring", "recursive_doubling", "rabenseifner"}) {
      on_ranks(
          5,
          [&](int rank, engine::Engine& engine) {
            auto in = numbers(7000), out = in;
            const Status s = engine.run(allreduce(engine, algorithm, kind, in, out));
            EXPECT_NE(s, Status::ok) << algorithm << " " << payload::name(kind) << ", rank " << rank;
            EXPECT_NE(s, Status::timeout);
            EXPECT_NE(std::strlen(message()), 0u);
            // The next collective on the same engine is whole.
            EXPECT_EQ(engine.run(allreduce(engine, algorithm, kind, in, out)), Status::ok) << message();
            EXPECT_NEAR(out[33], 5 * in[33], 5e-3 + 1e-6);
          },
          [](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
            return std::make_unique<Faulty>(std::move(c), rank == 1 ? Faulty::Fault::flip : Faulty::Fault::none, 0);
          });
    }
  }
}

TEST(Failures, AMessageOfTheWrongLengthIsAnErrorThatSaysSo) {
  std::atomic<int> told{0};
  on_ranks(
      3,
      [&](int, engine::Engine& engine) {
        auto in = numbers(3000), out = in;
        const Status s = engine.run(allreduce(engine, "ring", Kind::raw, in, out));
        EXPECT_EQ(s, Status::incompatible);
        if (std::string(message()).find("bytes came from rank 1 where") != std::string::npos) ++told;
      },
      [](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Faulty>(std::move(c), rank == 1 ? Faulty::Fault::shorten : Faulty::Fault::none, 1);
      });
  EXPECT_EQ(told.load(), 1);
}

TEST(Failures, ALostMessagesDiagnosisNamesThePeerAndTheStep) {
  std::atomic<int> named{0};
  on_ranks(
      3,
      [&](int, engine::Engine& engine) {
        auto in = numbers(3000), out = in;
        auto call = allreduce(engine, "ring", Kind::fused, in, out);
        call.options.timeout = 0.3;
        EXPECT_EQ(engine.run(call), Status::timeout);
        const std::string text = message();
        if (text.find("is missing rank 1 (its message") != std::string::npos) ++named;
        EXPECT_NE(text.find("allreduce ring (fused)"), std::string::npos) << text;
        // A transfer may still be on its way somewhere: no further run is safe.
        EXPECT_EQ(engine.run(call), Status::timeout);
      },
      [](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        return std::make_unique<Faulty>(std::move(c), rank == 1 ? Faulty::Fault::drop : Faulty::Fault::none, 0);
      });
  EXPECT_GE(named.load(), 1);
}

TEST(Failures, TheRankAtTheEndOfAChainOfWaitsIsNamed) {
  constexpr int absent = 2;
  on_ranks(4, [&](int rank, engine::Engine& engine) {
    if (rank == absent) return;
    auto in = numbers(3000), out = in;
    auto call = allreduce(engine, "ring", Kind::raw, in, out);
    call.options.timeout = 0.3;
    EXPECT_EQ(engine.run(call), Status::timeout);
    EXPECT_NE(std::string(message()).find("missing rank 2 ("), std::string::npos) << rank << ": " << message();
  });
}

// Fails each receive as soon as another rank's alarm has come, which it hands on at the third question only.
class Unreadable final : public Forwarding {
 public:
  explicit Unreadable(std::unique_ptr<carrier::Carrier> inner) : Forwarding(std::move(inner)) {}

  Status start_recv(int peer, std::uint64_t tag, void* data, std::size_t capacity, std::uint64_t id) noexcept override {
    receives_ = id;
    return Forwarding::start_recv(peer, tag, data, capacity, id);
  }
  Status wait_any(std::span<carrier::Completion> done, std::size_t* n, double seconds) noexcept override {
    if (!raised_ && receives_ && Forwarding::hear(&alarm_)) {
      raised_ = true;
      static_cast<void>(Forwarding::cancel(*receives_));
      failed_ = receives_;
      done[0] = {*receives_, 0, fail(Status::mpi_error, "process_vm_readv failed (Bad address)")};
      *n = 1;
      return Status::ok;
    }
    return Forwarding::wait_any(done, n, std::min(seconds, 1e-3));
  }
  bool cancel(std::uint64_t id) noexcept override { return id == failed_ || Forwarding::cancel(id); }
  bool hear(carrier::Alarm* alarm) noexcept override {
    if (!raised_ || ++questions_ != 3) return false;
    *alarm = alarm_;
    return true;
  }

 private:
  std::optional<std::uint64_t> receives_, failed_;
  bool raised_ = false;
  int questions_ = 0;
  carrier::Alarm alarm_;
};

TEST(Failures, AnAlarmExplainsAnErrorOfTheTransport) {
  on_ranks(
      2,
      [&](int rank, engine::Engine& engine) {
        auto in = numbers(3000), out = in;
        EXPECT_EQ(engine.run(allreduce(engine, "recursive_doubling", Kind::raw, in, out)), Status::out_of_memory);
        const std::string text = message();
        EXPECT_TRUE(rank == 1 || text.find("rank 1 gave up: ") != std::string::npos) << text;
      },
      [](int rank, std::unique_ptr<carrier::Carrier> c) -> std::unique_ptr<carrier::Carrier> {
        if (rank == 0) return std::make_unique<Unreadable>(std::move(c));
        return std::make_unique<Refusing>(std::move(c), [] { return true; });
      });
}

TEST(Failures, MissingPeerEndsATestedRequestWithATimeout) {
  on_ranks(4, [&](int rank, engine::Engine& engine) {
    if (rank == 2) return;
    auto in = numbers(100), out = in;
    auto call = allreduce(engine, "recursive_doubling", Kind::raw, in, out);
    call.options.timeout = 0.2;
    engine::Request request;
    ASSERT_EQ(engine.start(call, &request), Status::ok);
    bool done = false;
    Status s = Status::ok;
    while (!done) {
      s = request.test(&done);
      std::this_thread::yield();
    }
    EXPECT_EQ(s, Status::timeout);
    EXPECT_NE(std::string(message()).find("recursive_doubling"), std::string::npos);
  });
}

TEST(Failures, WrongCallsAreRefusedBeforeAnythingMoves) {
  on_ranks(1, [&](int, engine::Engine& engine) {
    auto in = numbers(100), out = in;
    auto call = allreduce(engine, "ring", Kind::fused, in, out);
    auto wrong = call;
    wrong.payload.eps = 0;
    EXPECT_EQ(engine.run(wrong), Status::invalid_bound);
    wrong = call;
    wrong.payload.eps = std::nan("");
    EXPECT_EQ(engine.run(wrong), Status::invalid_bound);
    wrong = call;
    wrong.payload.op = payload::Op::prod;
    EXPECT_EQ(engine.run(wrong), Status::unsupported);
    wrong = call;
    wrong.payload.type = payload::Type::c64;
    EXPECT_EQ(engine.run(wrong), Status::unsupported);
    wrong = call;
    wrong.blocks[0].out = nullptr;
    EXPECT_EQ(engine.run(wrong), Status::invalid_argument);
    wrong = call;
    wrong.blocks.clear();
    EXPECT_EQ(engine.run(wrong), Status::invalid_argument);
    wrong = call;
    wrong.schedule = nullptr;
    EXPECT_EQ(engine.run(wrong), Status::invalid_argument);
    EXPECT_EQ(engine.run(call), Status::ok) << message();
  });
}

TEST(Failures, ASumThatOverflowsItsTypeIsRefusedOnEveryRank) {
  on_ranks(3, [&](int, engine::Engine& engine) {
    std::vector<float> unused(4096), out(4096);
    auto call = allreduce(engine, "ring", Kind::fused, unused, out);
    std::vector<std::int32_t> in(4096, 2000000000), result(4096);
    call.payload.type = payload::Type::i32;
    engine::Arguments arguments;
    arguments.in = in.data();
    arguments.out = result.data();
    arguments.count = in.size();
    ASSERT_EQ(engine::bind(*call.schedule, payload::Type::i32, arguments, &call.blocks), Status::ok);
    EXPECT_EQ(engine.run(call), Status::overflow);
    const std::string text = message();
    const bool own = text.find("element 0 of the stream is 6000000000, and int32 holds -2147483648 to 2147483647") !=
                     std::string::npos;
    EXPECT_TRUE(own || text.find("had failed (overflow)") != std::string::npos) << text;
  });
}

}  // namespace
}  // namespace stretto::tests
