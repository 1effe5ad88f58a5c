#include "base/peers.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gtest/gtest.h>

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

TEST(PeersWatch, KnowsNothingOfRanksWithACoreEach) {
  PeersWatch watch;
  EXPECT_FALSE(watch.had_cores({}));
}

// Peers are a process' own for ever, so this is one test.
TEST(PeersTime, IsOfAllOnceTheyOutnumberTheirCores) {
  EXPECT_EQ(peers_time().cores, 0);
  CoreSet one{};
  CPU_SET(3, one.sets);
  add_peers_cores(one);
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

  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_GE(peers_time().used, 2e-3) << "a process that ended counts nothing";

  CPU_SET(4, one.sets);
  add_peers_cores(one);
  EXPECT_EQ(peers_time().cores, 0) << "two peers, two cores";
}

}  // namespace
}  // namespace stretto
