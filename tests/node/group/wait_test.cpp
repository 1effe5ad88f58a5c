// The wait: when it yields its core, when it sleeps, and its wake-ups. A separate program, since it counts the calls of
// sched_yield.
#include "node/group/wait.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "base/waiting.hpp"

namespace {
std::atomic<int> yields = 0;
}

extern "C" int sched_yield() noexcept {
  ++yields;
  return 0;
}

namespace stretto::node {
namespace {

class Looks final : public Watch {
 public:
  Status check() noexcept override { return Status::ok; }
  Status give_up(double seconds) noexcept override {
    gave_up_after = seconds;
    return fail(Status::timeout, "given up");
  }
  double gave_up_after = 0;
};

struct Passed {
  int yields;
  std::uint64_t sleeps;
};

Passed passed(Patience patience, int looks) {
  Looks watch;
  Bell bell;
  const int before = yields;
  const std::uint64_t asleep = sleeps();
  EXPECT_EQ(wait(patience, watch, bell, [&] { return looks-- <= 0; }), Status::ok);
  return {yields - before, sleeps() - asleep};
}

TEST(Wait, LooksFirstAndNeitherYieldsNorSleeps) {
  const Passed p = passed(Patience{8}, 8);
  EXPECT_EQ(p.yields, 0);
  EXPECT_EQ(p.sleeps, 0u);
}

TEST(Wait, GivesASharedCoreAwayAtEachLookInVain) {
  const Passed p = passed(Patience{8}, 40);
  // A sleep has a look before and one after it. The last look may be one before a sleep, which then is none.
  EXPECT_GE(static_cast<std::uint64_t>(p.yields) + 2 * p.sleeps, 31u);
}

TEST(Wait, KeepsACoreOfItsOwnUntilItSleeps) {
  Patience patience{8};
  patience.shares = false;
  EXPECT_EQ(passed(patience, 1000).yields, 0);
}

TEST(Wait, GivesItsCoreToThePeerThatIsThere) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Patience patience{2000};
  patience.shares = false;
  Looks watch;
  Bell peer;
  peer.note_core();
  const int yielded = yields;
  int looks = 500;
  EXPECT_EQ(wait(patience, watch, peer, [&] { return looks-- <= 0; }), Status::ok);
  EXPECT_GT(yields, yielded);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Wait, SleepsAfterAMomentAndGivesUpAtTheLimit) {
  for (const bool shares : {false, true}) {
    Patience patience{8};
    patience.shares = shares;
    patience.limit = 0.02;
    Looks watch;
    Bell bell;
    const std::uint64_t asleep = sleeps();
    EXPECT_EQ(wait(patience, watch, bell, [] { return false; }), Status::timeout);
    EXPECT_GT(sleeps(), asleep);
    EXPECT_GT(watch.gave_up_after, patience.limit);
  }
}

TEST(Wait, LetsTheMpiProgressBetweenSleeps) {
  Patience patience{8};
  patience.shares = false;
  patience.limit = 0.02;
  int calls = 0;
  patience.progress = [](void* n) { ++*static_cast<int*>(n); };
  patience.context = &calls;
  Looks watch;
  Bell bell;
  EXPECT_EQ(wait(patience, watch, bell, [] { return false; }), Status::timeout);
  EXPECT_GT(calls, 0);
}

double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

TEST(Wait, OfASecondTakesLittleProcessorTime) {
  for (const bool shares : {false, true}) {
    Patience patience{shares ? 1u : 2000u};
    patience.shares = shares;
    patience.limit = 1;
    patience.progress = [](void*) {};
    Looks watch;
    Bell bell;
    const double before = processor_seconds();
    EXPECT_EQ(wait(patience, watch, bell, [] { return false; }), Status::timeout);
    EXPECT_LT(processor_seconds() - before, 0.2);
  }
}

// Ranks pass a number around a ring. A bell was not heard if it has rung for a number while a rank slept until the end
// of its limit. How long a sleep took tells nothing: the processes may have been stopped meanwhile.
struct Ring {
  struct alignas(64) Rank {
    std::atomic<std::uint64_t> number{0}, rung{0};
    Bell bell;
  };
  static constexpr int kRanks = 5, kRounds = 400;
  static constexpr double kLongest = 20;
  Rank all[kRanks];

  // Rank 0 is a round ahead of the others. False: a bell was not heard.
  bool run(int rank) noexcept {
    Rank& own = all[rank];
    Rank& before = all[(rank + kRanks - 1) % kRanks];
    unsigned random = 1u + static_cast<unsigned>(rank);
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      random = random * 1664525u + 1013904223u;
      for (unsigned i = 0; i < random >> 22; ++i) pause();
      const std::uint64_t wanted = rank == 0 ? round - 1 : round;
      while (before.number.load(std::memory_order_acquire) < wanted) {
        const std::uint32_t armed = before.bell.arm();
        if (before.number.load(std::memory_order_acquire) >= wanted) break;
        before.bell.sleep(kLongest, armed);
        // A ring that was heard has changed the armed bell.
        const bool rang = before.rung.load(std::memory_order_acquire) >= wanted;
        if (rang && before.bell.arm() == armed) return false;
      }
      own.number.store(round, std::memory_order_release);
      own.bell.ring();
      own.rung.store(round, std::memory_order_release);
    }
    return true;
  }
};

TEST(Bell, IsHeardByThreads) {
  Bell::prepare();
  Ring ring;
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (int r = 0; r < Ring::kRanks; ++r) threads.emplace_back([&, r] { heard += ring.run(r) ? 1 : 0; });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(heard, Ring::kRanks);
}

TEST(Bell, IsHeardByProcesses) {
  void* const shared = mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Ring& ring = *new (shared) Ring;
  std::vector<pid_t> children;
  for (int r = 0; r < Ring::kRanks; ++r) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Bell::prepare();
      _exit(ring.run(r) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  munmap(shared, sizeof(Ring));
}

TEST(Bell, WakesAllThatSleep) {
  Bell bell;
  std::atomic<bool> there{false};
  std::atomic<int> woken{0};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 3; ++i) {
    sleepers.emplace_back([&] {
      while (!there) {
        const std::uint32_t armed = bell.arm();
        if (!there) bell.sleep(20, armed);
      }
      ++woken;
    });
  }
  there = true;
  bell.ring();
  for (std::thread& t : sleepers) t.join();
  EXPECT_EQ(woken, 3);
}

}  // namespace
}  // namespace stretto::node
