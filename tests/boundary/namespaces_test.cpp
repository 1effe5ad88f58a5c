// Rank 1 has its own namespaces, like a container beside the others: collectives work, in shared memory or without.
// Arguments: the namespaces (pid, ipc, mount, user, network).
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "../launched.hpp"
#include "life.hpp"

using namespace boundary;

namespace {

bool shares = true;  // expected result

TEST(Namespaces, CollectivesContinue) {
  for (int round = 0; round < 2; ++round) {
    Life life;
    ASSERT_TRUE(life.made()) << life.text();
    life.expect_calls_to_succeed();
#ifndef PRELOADED
    life.schedule("node");
    EXPECT_EQ(life.allreduce(2), shares) << life.text();
#endif
  }
}

int flags_of(int n, char** names) {
  int flags = 0;
  for (int i = 0; i < n; ++i) {
    const std::string_view name = names[i];
    if (name == "pid") flags |= CLONE_NEWPID;
    if (name == "ipc") flags |= CLONE_NEWIPC;
    if (name == "mount") flags |= CLONE_NEWNS;
    if (name == "user") flags |= CLONE_NEWUSER;
    if (name == "network") flags |= CLONE_NEWNET;
  }
  return flags;
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
    if (errno != EINTR) return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// The error of such namespaces, 0 if they are permitted. All ranks try, in a child, and end alike: Open MPI's launcher
// hangs at times where one ends while another starts.
int refusal(int flags) {
  const pid_t child = fork();
  if (child == 0) _exit(unshare(flags) == 0 ? 0 : errno);
  return child < 0 ? errno : status_of(child);
}

bool is_rank_1() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank) == 1;
  return false;
}

}  // namespace

// Before the MPI starts, whose threads keep a process in its namespaces. A namespace of processes holds children only.
int main(int argc, char** argv) {
  const int flags = flags_of(argc - 1, argv + 1);
  if (const int error = refusal(flags); error != 0) {
    MPI_Init(&argc, &argv);
    if (is_rank_1()) std::printf("skipped: no namespaces of its own for a rank: %s\n", std::strerror(error));
    MPI_Finalize();
    return 77;
  }
  if (is_rank_1() && unshare(flags) != 0) {
    std::perror("unshare");
    return 1;
  }
  if (is_rank_1() && (flags & CLONE_NEWPID) != 0) {
    if (const pid_t child = fork(); child != 0) return status_of(child);
  }
  shares = (flags & CLONE_NEWUSER) == 0 || (flags & CLONE_NEWNET) == 0;
  return run_on_launched_ranks(argc, argv);
}
