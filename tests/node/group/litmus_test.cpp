// Litmus tests of the order that the node's lines and bells need of memory: what a processor or compiler may exchange
// would show as one of the outcomes that these forbid. An emulator may order more strictly.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "../ranks.hpp"
#include "base/waiting.hpp"
#include "node/group/bell.hpp"

namespace stretto::node {
namespace {

// Each word of the room has the number of its round.
void stamp(std::byte* room, std::size_t bytes, std::uint64_t round) {
  for (std::size_t at = 0; at < bytes; at += sizeof round) std::memcpy(room + at, &round, sizeof round);
}

bool stamped(const std::byte* room, std::size_t bytes, std::uint64_t round) {
  bool all = true;
  for (std::size_t at = 0; at < bytes; at += sizeof round) {
    std::uint64_t found = 0;
    std::memcpy(&found, room + at, sizeof found);
    all &= found == round;
  }
  return all;
}

struct Message {
  Group::Room room;
  std::size_t bytes;
};
constexpr Message kMessages[] = {
    {Group::Room::small, kInline}, {Group::Room::small, kSmall}, {Group::Room::slot, 4096}};

// Rank 0 writes data, then a line's number; the others see the number, then the data. They announce that they are done,
// then rank 0 writes later data to the same places, which no reader of the earlier ones may see.
TEST(Litmus, MessagePassing) {
  for (const Message& message : kMessages)
    on_groups(3, {.slot = 4096}, [&](Group& g) {
      constexpr std::uint64_t rounds = 5000;
      const std::vector<int> readers{1, 2};
      ASSERT_EQ(g.enter({Collective::bcast}), Status::ok);
      g.rounds(rounds);
      std::uint64_t torn = 0;
      for (std::uint64_t r = 0; r < rounds; ++r) {
        if (g.rank() == 0) {
          ASSERT_EQ(g.open(r, readers, message.room), Status::ok);
          stamp(g.place(r, message.room, message.bytes), message.bytes, r);
          g.publish(r);
        } else {
          const Line* line = nullptr;
          ASSERT_EQ(g.await(0, r, &line), Status::ok);
          torn += stamped(g.place(0, r, message.room, message.bytes), message.bytes, r) ? 0 : 1;
        }
        g.done(r + 1);
      }
      EXPECT_EQ(torn, 0u);
      g.leave();
    });
}

// Rank 1 sees rank 0's line and publishes its own; rank 2 sees rank 1's, and so rank 0's line and data, too.
TEST(Litmus, WriteToReadCausality) {
  on_groups(3, {.slot = 4096}, [](Group& g) {
    constexpr std::uint64_t rounds = 5000;
    ASSERT_EQ(g.enter({Collective::bcast}), Status::ok);
    g.rounds(rounds);
    std::uint64_t late = 0;
    for (std::uint64_t r = 0; r < rounds; ++r) {
      const Line* line = nullptr;
      const std::vector<int> readers = g.rank() == 0 ? std::vector<int>{1, 2} : std::vector<int>{2};
      if (g.rank() > 0) {
        ASSERT_EQ(g.await(g.rank() - 1, r, &line), Status::ok);
      }
      if (g.rank() < 2) {
        ASSERT_EQ(g.open(r, readers, Group::Room::small), Status::ok);
        stamp(g.place(r, Group::Room::small, kSmall), kSmall, r);
        g.publish(r);
      } else {
        const std::byte* const first = g.place(0, r, Group::Room::small, kSmall);
        const Line* const above = reinterpret_cast<const Line*>(first - kLine);
        if (above->number.load(std::memory_order_relaxed) != r + 1 || !stamped(first, kSmall, r)) ++late;
      }
      g.done(r + 1);
    }
    EXPECT_EQ(late, 0u);
    g.leave();
  });
}

// Two threads meet before each trial, so that their stores and loads fall together.
class Start {
 public:
  void meet(std::uint64_t trial) noexcept {
    arrived_.fetch_add(1, std::memory_order_acq_rel);
    for (int looks = 0; arrived_.load(std::memory_order_acquire) < 2 * trial + 2; ++looks)
      looks < 1000 ? pause() : static_cast<void>(sched_yield());
  }

 private:
  alignas(64) std::atomic<std::uint64_t> arrived_{0};
};

// One thread stores its number, then looks whether the bell is armed; the other arms the bell, then looks at the
// number. Were both to see the old state, the sleeper would miss its wake-up.
TEST(Litmus, StoreBuffer) {
  constexpr int query = 0, global_expedited = 1 << 1;
  const long commands = syscall(SYS_membarrier, query, 0, 0);
  if (commands < 0 || (commands & global_expedited) == 0) GTEST_SKIP() << "no membarrier(2): a ring may be missed";
  Bell::prepare();
  struct Trial {
    alignas(64) std::atomic<std::uint64_t> number{0};
    alignas(64) Bell bell;
    std::uint32_t armed = 0;
    bool seen = false;
  };
  constexpr std::uint64_t trials = 2000;
  const auto all = std::make_unique<std::array<Trial, trials>>();
  Start start;
  std::thread ringer([&] {
    unsigned random = 1;
    for (std::uint64_t i = 0; i < trials; ++i) {
      random = random * 1664525u + 1013904223u;
      start.meet(i);
      for (unsigned wait = 0; wait < random >> 27; ++wait) asm volatile("");
      Trial& trial = (*all)[i];
      trial.number.store(1, std::memory_order_release);
      trial.bell.ring();
    }
  });
  for (std::uint64_t i = 0; i < trials; ++i) {
    start.meet(i);
    Trial& trial = (*all)[i];
    trial.armed = trial.bell.arm();
    trial.seen = trial.number.load(std::memory_order_acquire) != 0;
  }
  ringer.join();
  std::uint64_t missed = 0;
  for (Trial& trial : *all)  // a ring that saw the bell armed has changed it
    if (!trial.seen && trial.bell.arm() == trial.armed) ++missed;
  EXPECT_EQ(missed, 0u);
}

// A process of several threads would wait for it.
TEST(Litmus, TheLibraryRegistersForBarriersWhenItIsLoaded) {
  constexpr int get_registrations = 1 << 9, register_global_expedited = 1 << 2;  // Linux 6.3
  const long registered = syscall(SYS_membarrier, get_registrations, 0, 0);
  if (registered < 0) GTEST_SKIP() << "this kernel does not say";
  struct stat tasks {};
  if (stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 3)  // 2 links, and 1 for each thread
    GTEST_SKIP() << "another thread is in this process, as an emulator's";
  EXPECT_NE(registered & register_global_expedited, 0);
}

}  // namespace
}  // namespace stretto::node
