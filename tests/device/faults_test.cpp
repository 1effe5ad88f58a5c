// Faults of a device are found. Each skipped wait changes results or causes unordered accesses. All ranks hear of a
// device that is lost at any call, and of missing memory; none hangs.
#include <gtest/gtest.h>

#include "../engine/forwarding.hpp"
#include "cases.hpp"

namespace stretto::tests {
namespace {

constexpr std::uint64_t kSeed = 3;

// Every lane has a segment of every block.
Case on_all_lanes() { return {.count = 3 * 4096 + 100, .on_stream = true}; }

// Skips each of the run's `expected_waits` waits in turn, from `first` on.
void every_wait_is_found(const Case& c, long expected_waits, long first = 0) {
  constexpr int ranks = 3, faulty = 1;
  emulation().reset(kSeed);
  const Ran expected = run(c, ranks, Where::host);
  const Ran whole = run(c, ranks, Where::device);
  ASSERT_TRUE(all_ok(whole));
  ASSERT_TRUE(same_bits(whole, expected));
  ASSERT_EQ(emulation().races(), 0) << emulation().first_race();
  const long waits = emulation().waits(faulty);
  ASSERT_EQ(waits, expected_waits);
  for (long n = first; n < waits; ++n) {
    // The host may happen to have waited for the same work already.
    long found = 0;
    for (std::uint64_t s = 0; s < 50 && found == 0; ++s) {
      emulation().reset(s);
      emulation().skip_wait(faulty, n);
      static_cast<void>(run(c, ranks, Where::device));
      found = emulation().races();
    }
    EXPECT_GT(found, 0) << "wait " << n << " was left out";
  }
}

// Lanes wait for the stream, and the stream for the lanes.
TEST(DeviceFaults, EveryWaitBetweenStreamAndLanesIsFoundIfLeftOut) { every_wait_is_found(on_all_lanes(), 8); }

// The first lane copies inputs away that results would overwrite. The other lanes wait for it, so their waits for the
// stream are redundant.
TEST(DeviceFaults, EveryWaitBetweenLanesIsFoundWhereItIsLeftOut) {
  Case c = on_all_lanes();
  c.overlap = 100;
  every_wait_is_found(c, 11, 4);
}

// A false answer makes the host skip its wait for unfinished work.
TEST(DeviceFaults, AHostThatDoesNotWaitIsFound) {
  constexpr int ranks = 3, faulty = 1;
  const Case c = on_all_lanes();
  emulation().reset(kSeed);
  const Ran expected = run(c, ranks, Where::host);
  int found = 0;
  for (long n = 0; n < 300 && found < 3; ++n) {
    emulation().reset(kSeed);
    emulation().lie(faulty, n);
    const Ran ran = run(c, ranks, Where::device);
    const bool failed = std::any_of(ran.status.begin(), ran.status.end(), [](Status s) { return s != Status::ok; });
    found += failed || !same_bits(ran, expected) || emulation().races() > 0;
  }
  EXPECT_EQ(found, 3);
}

TEST(DeviceFaults, ALostDeviceIsToldToAllRanks) {
  constexpr int ranks = 3, faulty = 1;
  Case c{.count = 5000};
  int lost = 0;
  for (long n = 0; n < 60; ++n) {
    SCOPED_TRACE(testing::Message() << "call " << n);
    emulation().reset(kSeed);
    c.ready = [n](int rank) {
      if (rank == faulty) emulation().lose(faulty, n);
    };
    const Ran ran = run(c, ranks, Where::device);
    if (ran.status[faulty] == Status::ok) continue;  // lost after its run
    ++lost;
    EXPECT_EQ(ran.status[faulty], Status::internal);
    EXPECT_NE(ran.text[faulty].find("CUDA error 214: uncorrectable ECC error"), std::string::npos) << ran.text[faulty];
    for (const Status s : ran.status) EXPECT_NE(s, Status::timeout);
  }
  EXPECT_GT(lost, 10);
}

TEST(DeviceFaults, AStalledDeviceIsNamedByItsRankAtTheLimit) {
  const int faulty = 1;
  emulation().reset(kSeed);
  on_ranks(3, [&](int rank, engine::Engine& engine) {
    const Case c{.count = 5000};
    const OnDevice on(c, rank, wave(rank, c.count), c.count);
    auto work = work_of(c, engine, on.from.data(), on.out());
    work.device = on.device.get();
    work.options.timeout = 1;
    if (rank == faulty) emulation().stall(faulty);
    EXPECT_EQ(engine.run(work), Status::timeout);
    const std::string text = message();
    if (rank == faulty) {
      EXPECT_NE(text.find("device 1 is still at work for step"), std::string::npos) << text;
    }
  });
  emulation().stall(-1);
}

// The run left early, and its thread has changed to another device.
TEST(DeviceFaults, WhatADeviceStillDoesIsDoneBeforeItsMemoryGoes) {
  const Case c{.kind = Kind::raw, .count = 5000, .on_stream = true};
  emulation().reset(kSeed);
  const Ran expected = run(c, 3, Where::host);
  for (std::uint64_t s = 0; s < 10; ++s) {
    emulation().reset(s);
    on_ranks(3, [&](int rank, engine::Engine& engine) {
      OnDevice on(c, rank, wave(rank, c.count), c.count);
      void* stream = nullptr;
      check(plugin().use_device(rank));
      check(plugin().create_stream(&stream));
      auto work = work_of(c, engine, on.from.data(), on.out());
      work.device = on.device.get();
      work.stream = stream;
      work.leaves_early = true;
      ASSERT_EQ(engine.run(work), Status::ok) << message();
      check(plugin().use_device(rank + 3));
      on.device.reset();
      EXPECT_EQ(on.result(stream), expected.result[static_cast<std::size_t>(rank)]);
      check(plugin().destroy_stream(stream));
    });
    expect_order();
  }
}

TEST(DeviceFaults, AStreamThatIsNoneIsRefusedOnTheDeviceAndTold) {
  // A message of rank 2 is altered: the next rank's device finds it.
  const int ranks = 3;
  const Case c{.count = 5000};
  class Altering final : public Forwarding {
   public:
    using Forwarding::Forwarding;
    Status start_send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                      std::uint64_t id) noexcept override {
      if (bytes > 200 && !altered_) {
        altered_ = true;
        copy_.assign(static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + bytes);
        copy_[72] ^= std::byte{0xFF};  // the index
        data = copy_.data();
      }
      return Forwarding::start_send(peer, tag, data, bytes, id);
    }

   private:
    bool altered_ = false;
    std::vector<std::byte> copy_;
  };
  emulation().reset(kSeed);
  const auto wrap = [](int rank, std::unique_ptr<carrier::Carrier> to) {
    return rank == 2 ? std::unique_ptr<carrier::Carrier>(std::make_unique<Altering>(std::move(to))) : std::move(to);
  };
  on_ranks(
      ranks,
      [&](int rank, engine::Engine& engine) {
        const auto in = wave(rank, c.count);
        const OnDevice on(c, rank, in, c.count);
        auto work = work_of(c, engine, on.from.data(), on.out());
        work.device = on.device.get();
        EXPECT_EQ(engine.run(work), Status::corrupt_stream) << "rank " << rank << ": " << message();
      },
      wrap);
}

TEST(DeviceFaults, MemoryThatIsShortIsToldToAllRanks) {
  constexpr int ranks = 3, faulty = 1;
  for (const bool reserved : {false, true}) {
    emulation().reset(kSeed);
    on_ranks(ranks, [&](int rank, engine::Engine& engine) {
      const Case c{.count = 200000};
      const auto in = wave(rank, c.count);
      const OnDevice on(c, rank, in, c.count);
      auto work = work_of(c, engine, on.from.data(), on.out());
      work.device = on.device.get();
      if (rank == faulty && reserved) {
        ASSERT_EQ(on.device->reserve(300000, 1 << 22), Status::ok) << message();
      } else if (rank == faulty) {
        emulation().refuse_memory(faulty);
      }
      const Status s = engine.run(work);
      const std::string text = message();
      EXPECT_EQ(s, reserved ? Status::buffer_too_small : Status::out_of_memory) << text;
      if (rank == faulty) {
        EXPECT_NE(text.find(reserved ? "300032 are reserved" : "CUDA error 2: out of memory"), std::string::npos)
            << text;
      }
    });
  }
}

TEST(DeviceFaults, EnoughMemoryIsEnoughAndNoneIsAskedForLater) {
  for (const Kind kind : {Kind::raw, Kind::recompress, Kind::homomorphic, Kind::fused}) {
    for (const std::string_view algorithm : {"ring", "recursive_doubling", "rabenseifner"}) {
      SCOPED_TRACE(std::string(algorithm) + " " + payload::name(kind));
      emulation().reset(kSeed);
      on_ranks(3, [&](int rank, engine::Engine& engine) {
        const Case c{.algorithm = algorithm, .kind = kind, .count = 30000};
        const auto in = wave(rank, c.count);
        const OnDevice on(c, rank, in, c.count);
        std::size_t device_bytes = 0, pinned_bytes = 0;
        ASSERT_EQ(on.device->need(payload::Type::f32, c.count, &device_bytes, &pinned_bytes), Status::ok);
        ASSERT_EQ(on.device->reserve(device_bytes, pinned_bytes), Status::ok) << message();
        for (int i = 0; i < 2; ++i) {
          auto work = work_of(c, engine, on.from.data(), on.out());
          work.device = on.device.get();
          EXPECT_EQ(engine.run(work), Status::ok) << message();
        }
      });
    }
  }
}

}  // namespace
}  // namespace stretto::tests
