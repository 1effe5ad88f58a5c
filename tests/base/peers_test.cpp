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
