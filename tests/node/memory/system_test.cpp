// Other Linux versions, stricter settings and more processors, by stand-ins for system calls.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "../children.hpp"
#include "node/group/group.hpp"
#include "node/memory/segment.hpp"

namespace {

constexpr unsigned kNoExecSeal = 0x8;  // MFD_NOEXEC_SEAL

struct System {
  bool knows_no_exec = true, wants_no_exec = false;  // Linux 6.3; vm.memfd_noexec = 2
  unsigned asked = 0;                                // the flags of the last anonymous file that was made
  int processors = 0;                                // possible ones; 0: as they are
  int allowed[2] = {-1, -1};                         // those of a process
};
System standing_in;

}  // namespace

extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  const bool no_exec = (flags & kNoExecSeal) != 0;
  if (no_exec && !standing_in.knows_no_exec) return errno = EINVAL, -1;
  if (!no_exec && standing_in.wants_no_exec) return errno = EACCES, -1;
  standing_in.asked = flags;
  return static_cast<int>(syscall(SYS_memfd_create, name, flags & ~kNoExecSeal));
}

extern "C" int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* cores) noexcept {
  if (standing_in.processors == 0) {
    std::memset(cores, 0, bytes);
    return syscall(SYS_sched_getaffinity, pid, bytes, cores) < 0 ? -1 : 0;
  }
  if (bytes * 8 < static_cast<size_t>(standing_in.processors)) return errno = EINVAL, -1;
  CPU_ZERO_S(bytes, cores);
  for (const int core : standing_in.allowed) CPU_SET_S(static_cast<size_t>(core), bytes, cores);
  return 0;
}

namespace stretto::node {
namespace {

struct As {
  explicit As(const System& s) { standing_in = s; }
  ~As() { standing_in = {}; }
};

int length_of_the_kernels_table() {
  std::ifstream status("/proc/self/status");
  std::string word;
  int length = 0;
  while (status >> word)
    if (word == "FDSize:") status >> length;
  return length;
}

// The kernel would wait for 10 to 20 ms then. A child with few open files has the shortest table. First of all tests,
// since a process reads the length once.
TEST(System, DescriptorTableDoesNotGrow) {
  const pid_t child = fork();
  if (child == 0) {
    for (int fd = 60; fd < 1024; ++fd) close(fd);
    const pid_t second = fork();
    if (second != 0) {
      int status = 1;
      waitpid(second, &status, 0);
      _exit(status == 0 ? 0 : 1);
    }
    const int before = length_of_the_kernels_table();
    const auto memory = make_memory("stretto-test", 4096);
    _exit(before == 64 && memory && length_of_the_kernels_table() == before ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(System, MemoryIsSealedAgainstExecutionWhereSupported) {
  for (const bool wants : {false, true}) {
    const As system({.wants_no_exec = wants});
    EXPECT_TRUE(make_memory("stretto-test", 4096)) << std::strerror(errno);
    EXPECT_NE(standing_in.asked & kNoExecSeal, 0u);
  }
}

TEST(System, MemoryWorksOnKernelsWithoutTheSeal) {
  const As system({.knows_no_exec = false});
  EXPECT_TRUE(make_memory("stretto-test", 4096)) << std::strerror(errno);
  EXPECT_EQ(standing_in.asked & kNoExecSeal, 0u);
}

TEST(System, ProcessorsBeyond1024AreCounted) {
  for (const int processors : {1025, 4096, 8192}) {
    const As system({.processors = processors, .allowed = {3, processors - 1}});
    for (const int ranks : {2, 3}) {
      all_hold_on(ranks, [&](Exchange& exchange, Expect& expect) {
        std::unique_ptr<Group> group;
        expect(Group::create(exchange, {.slot = 4096}, &group) == Status::ok, "a group is made");
        expect(group && group->oversubscribed() == (ranks > 2), "of as many cores as there are");
      });
    }
  }
}

}  // namespace
}  // namespace stretto::node
