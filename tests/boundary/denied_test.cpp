// A filter (seccomp) denies one rank a system call before its first use of stretto: collectives work, without shared
// memory if need be, and the reason is reported. Arguments: the call's name, and the rank.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../launched.hpp"
#include "life.hpp"

using namespace boundary;

namespace {

struct Call {
  const char* name;
  unsigned number;
  bool rank_0_needs_it, others_need_it;  // to share memory
};
constexpr Call kCalls[] = {{"getrandom", SYS_getrandom, true, true},
                           {"memfd_create", SYS_memfd_create, true, false},
                           {"process_vm_readv", SYS_process_vm_readv, false, false},
                           {"pidfd_open", SYS_pidfd_open, false, false},
                           {"socket", SYS_socket, false, false}};
const Call* denied = nullptr;
int denied_rank = 0;

// For this thread and those that it starts, for ever. False: the kernel takes no filter.
bool deny(unsigned number, unsigned error) {
  sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof lines / sizeof *lines, lines};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Denied, CollectivesContinueAndReportTheReason) {
  for (int round = 0; round < 2; ++round) {
    Life life;
    ASSERT_TRUE(life.made()) << life.text();
    life.expect_calls_to_succeed();
#ifndef PRELOADED
    life.schedule("node");
    const bool shares = life.allreduce(2);
    EXPECT_EQ(shares, !(denied_rank == 0 ? denied->rank_0_needs_it : denied->others_need_it)) << life.text();
    const std::string reason = "shared memory: ", at = life.text();
    EXPECT_TRUE(shares || at.size() > at.find(reason) + reason.size()) << at;
    EXPECT_TRUE(shares || at.find(std::strerror(EPERM)) != std::string::npos) << at;
#endif
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const Call& c : kCalls)
    if (argc > 2 && std::strcmp(argv[1], c.name) == 0) denied = &c;
  if (denied == nullptr) return 2;
  denied_rank = std::atoi(argv[2]);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const bool filtered = world_rank() != denied_rank || deny(denied->number, EPERM);
  int status = 77;
  if (count_of(filtered) == world_size()) {
    testing::InitGoogleTest(&argc, argv);
    status = failed_anywhere(RUN_ALL_TESTS());
  } else if (!filtered) {
    std::printf("skipped: the kernel takes no filter: %s\n", std::strerror(errno));
  }
  MPI_Finalize();
  return status;
}
