// A rank is stopped (SIGSTOP) while the others call: within the limit they wait for it, beyond it they name the missing
// rank. If it continues after that, it learns of the end, and a new communicator works.
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <thread>

#include "../launched.hpp"
#include "life.hpp"

using namespace boundary;

namespace {

bool is_stopped(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_ends = text.rfind(") ");
  return name_ends != std::string::npos && (text[name_ends + 2] == 'T' || text[name_ends + 2] == 't');
}

// The last rank stops itself; rank 0 returns when it is so, with its number.
pid_t stop_the_last() {
  const bool last = world_rank() == world_size() - 1;
  long pid = getpid();
  MPI_Bcast(&pid, 1, MPI_LONG, world_size() - 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (last) std::raise(SIGSTOP);
  while (world_rank() == 0 && !is_stopped(static_cast<pid_t>(pid))) std::this_thread::yield();
  return static_cast<pid_t>(pid);
}

void goes_on_within_the_limit(Life& life) {
  for (int call = 0; call < 6; ++call) ASSERT_TRUE(life.allreduce(2)) << life.text();
  const pid_t last = stop_the_last();
  std::thread wakes;
  if (world_rank() == 0)
    wakes = std::thread([last] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the longer, the more it waits
      kill(last, SIGCONT);
    });
  EXPECT_TRUE(life.allreduce(2)) << life.text();
  EXPECT_TRUE(life.allgather(100000)) << life.text();
  if (wakes.joinable()) wakes.join();
}

void ends_beyond_the_limit(Life& life, const std::string& whom) {
  const pid_t last = stop_the_last();
  const bool ok = life.allreduce(2);
  EXPECT_FALSE(ok);
  if (world_rank() == 0) {
    EXPECT_NE(life.text().find(whom), std::string::npos) << life.text();
    kill(last, SIGCONT);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(life.allreduce(2));  // it stays ended
  EXPECT_FALSE(life.text().empty());
  Life fresh;
  ASSERT_TRUE(fresh.made()) << fresh.text();
#ifndef PRELOADED
  fresh.limit(60);
#endif
  EXPECT_TRUE(fresh.allreduce(2)) << fresh.text();
}

#ifdef PRELOADED
// STRETTO_TIMEOUT is set, or waits have no limit.
TEST(Stopped, RankBeyondTheLimitFailsTheCall) {
  if (std::getenv("STRETTO_TIMEOUT") == nullptr) GTEST_SKIP() << "without a limit";
  Life life;
  for (int call = 0; call < 6; ++call) ASSERT_TRUE(life.allreduce(2)) << life.text();
  ends_beyond_the_limit(life, "");
}

TEST(Stopped, RankIsAwaitedWithoutALimit) {
  if (std::getenv("STRETTO_TIMEOUT") != nullptr) GTEST_SKIP() << "with a limit";
  Life life;
  goes_on_within_the_limit(life);
}
#else
TEST(Stopped, RankWithinTheLimitIsAwaited) {
  for (const char* schedule : {"node", "ring"}) {
    Life life;
    ASSERT_TRUE(life.made()) << life.text();
    life.schedule(schedule);
    life.limit(60);
    goes_on_within_the_limit(life);
  }
}

TEST(Stopped, RankBeyondTheLimitIsNamedAndLearnsOfIt) {
  const std::string last = "rank " + std::to_string(world_size() - 1);
  for (const char* schedule : {"node", "ring"}) {
    SCOPED_TRACE(schedule);
    Life life;
    ASSERT_TRUE(life.made()) << life.text();
    life.schedule(schedule);
    for (int call = 0; call < 6; ++call) ASSERT_TRUE(life.allreduce(2)) << life.text();
    life.limit(1);
    ends_beyond_the_limit(life, last);
  }
}
#endif

}  // namespace

int main(int argc, char** argv) { return run_on_launched_ranks(argc, argv); }
