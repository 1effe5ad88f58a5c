#include "base/peers.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <vector>

namespace stretto {
namespace {

TEST(PeersUsedCores, ButForAPartOfOne) {
  EXPECT_TRUE(peers_used_cores({100, 3, 2}, {100.01, 3.02, 2}));
  EXPECT_TRUE(peers_used_cores({100, 3, 2}, {100.01, 3.0171, 2}));
  EXPECT_FALSE(peers_used_cores({100, 3, 2}, {100.01, 3.0169, 2}));
  EXPECT_FALSE(peers_used_cores({100, 3, 64}, {100.01, 3.6, 64})) << "4 of 64 cores were another program's";
}

TEST(PeersUsedCores, NotIfOneSampleHasNone) {
  EXPECT_FALSE(peers_used_cores({}, {100, 200, 2}));
  EXPECT_FALSE(peers_used_cores({100, 3, 2}, {}));
}

// Samples of two cores.
TEST(PeersWatch, WantsAPartUnusedTwiceInSuccession) {
  PeersWatch watch;
  EXPECT_TRUE(watch.had_cores({100, 0, 2})) << "the first sample has none before it";
  EXPECT_TRUE(watch.had_cores({100.01, 0.01, 2})) << "once";
  EXPECT_TRUE(watch.had_cores({100.02, 0.03, 2}));
  EXPECT_TRUE(watch.had_cores({100.03, 0.04, 2})) << "once, after a full use";
  EXPECT_FALSE(watch.had_cores({100.04, 0.05, 2}));
  EXPECT_FALSE(watch.had_cores({100.05, 0.06, 2}));
  EXPECT_TRUE(watch.had_cores({100.06, 0.08, 2}));
}

TEST(PeersWatch, JudgesNeitherShortNorLongTimes) {
  PeersWatch watch;
  EXPECT_TRUE(watch.had_cores({100, 0, 2}));
  EXPECT_TRUE(watch.had_cores({100.01, 0.01, 2}));
  EXPECT_TRUE(watch.had_cores({100.013, 0.01, 2})) << "3 ms";
  EXPECT_TRUE(watch.had_cores({103, 0.01, 2})) << "3 s";
  EXPECT_TRUE(watch.had_cores({103.01, 0.01, 2})) << "once again";
  EXPECT_FALSE(watch.had_cores({103.02, 0.01, 2}));
}

TEST(PeersWatch, DoesNotCompareAcrossANewBinding) {
  PeersWatch watch;
  EXPECT_TRUE(watch.had_cores({100, 0, 2}));
  EXPECT_TRUE(watch.had_cores({100.01, 0.01, 2})) << "once";
  EXPECT_TRUE(watch.had_cores({100.02, 0.01, 1})) << "bound anew";
  EXPECT_TRUE(watch.had_cores({100.03, 0.01, 1})) << "once";
  EXPECT_TRUE(watch.had_cores({100.04, 0.01, 2})) << "bound anew";
  EXPECT_TRUE(watch.had_cores({100.05, 0.02, 2})) << "once";
  EXPECT_FALSE(watch.had_cores({100.06, 0.03, 2}));
}

TEST(PeersWatch, KnowsNothingOfRanksWithACoreEach) {
  PeersWatch watch;
  EXPECT_FALSE(watch.had_cores({}));
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

void bind_process(pid_t process, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ASSERT_EQ(sched_setaffinity(process, sizeof set, &set), 0);
}

// Peers are a process' own for ever, so this is one test.
TEST(PeersTime, IsOfAllWhileTheyOutnumberTheirCores) {
  const std::vector<int> cores = usable_cores();
  CoreSet unbound{};
  unbound.find();
  EXPECT_EQ(peers_time().cores, 0);
  bind_process(0, cores.front());
  add_peer(getpid());
  add_peer(getpid());
  EXPECT_EQ(peers_time().cores, 0) << "one peer, one core";

  const pid_t child = fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  add_peer(child);
  const PeersTime before = peers_time();
  EXPECT_EQ(before.cores, 1);
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double begun = used();
  while (used() - begun < 2e-3) {
  }
  const PeersTime after = peers_time();
  EXPECT_GE(after.used - before.used, 2e-3);
  EXPECT_GT(after.when, before.when);

  if (cores.size() > 1) {
    bind_process(child, cores[1]);
    EXPECT_EQ(peers_time().cores, 0) << "two peers, two cores";
    bind_process(child, cores[0]);
    EXPECT_EQ(peers_time().cores, 1) << "bound to one again";
  }

  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(peers_time().cores, 0) << "a process that ended needs no core";
  EXPECT_EQ(sched_setaffinity(0, sizeof unbound.sets, unbound.sets), 0);
}

}  // namespace
}  // namespace stretto
