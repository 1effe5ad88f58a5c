// Permission to read, with a stand-in for Yama's scope 1: process_vm_readv is refused until the target process allows
// it.
#include "node/memory/memory.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdarg>
#include <fstream>
#include <string>

#include "../processes.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

constexpr int kRanks = 3;

struct Yama {
  std::atomic<bool> restricts{false};
  std::atomic<int> allowed{0};  // processes that let any other read
};

// Seen by all children.
Yama& yama() {
  static Yama* const shared =
      new (mmap(nullptr, sizeof(Yama), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Yama;
  return *shared;
}

}  // namespace
}  // namespace stretto::node

extern "C" int prctl(int option, ...) {
  va_list rest;
  va_start(rest, option);
  unsigned long a[4];
  for (auto& x : a) x = va_arg(rest, unsigned long);
  va_end(rest);
  if (option == PR_SET_PTRACER && a[0] == PR_SET_PTRACER_ANY) {
    stretto::node::yama().allowed.fetch_add(1);
    return 0;
  }
  return static_cast<int>(syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]));
}

extern "C" ssize_t process_vm_readv(pid_t pid, const iovec* here, unsigned long n, const iovec* there, unsigned long m,
                                    unsigned long flags) {
  const auto& yama = stretto::node::yama();
  if (yama.restricts && yama.allowed < stretto::node::kRanks && pid != getpid()) {
    errno = EPERM;
    return -1;
  }
  return syscall(SYS_process_vm_readv, pid, here, n, there, m, flags);
}

namespace stretto::node {
namespace {

// How many processes let themselves be read, and whether that made memory copyable on all.
struct Outcome {
  int allowed = 0, copyable = 0;
};

Outcome meet(bool restricts, const char* scope) {
  yama().restricts = restricts;
  yama().allowed = 0;
  const std::string file = testing::TempDir() + "yama_scope." + std::to_string(getpid());
  if (scope != nullptr) std::ofstream(file) << scope << '\n';
  Inherited memory(kRanks);
  const auto ends = on_processes(
      kRanks, memory,
      [&](Exchange& exchange) {
        Options options;
        options.memory.yama_scope = file.c_str();
        std::unique_ptr<Collectives> c;
        if (Collectives::create(exchange, options, &c) != Status::ok) return 1;
        memory.count() += c->memory().usable(Access::kernel) ? 1 : 0;
        return c->barrier() == Status::ok ? 0 : 2;
      },
      [](const std::vector<pid_t>&) {});
  for (const int end : ends) EXPECT_EQ(end, 0);
  unlink(file.c_str());
  return {yama().allowed, memory.count()};
}

TEST(Memory, ProcessPermitsNoReaderWhereReadingWorks) {
  const Outcome o = meet(false, "1");
  EXPECT_EQ(o.allowed, 0);
  EXPECT_EQ(o.copyable, kRanks);
}

TEST(Memory, RanksPermitReadingUnderYamaAndRetry) {
  const Outcome o = meet(true, "1");
  EXPECT_EQ(o.allowed, kRanks);
  EXPECT_EQ(o.copyable, kRanks);
}

TEST(Memory, OtherRefusalsThanYamaScope1ChangeNothing) {
  for (const char* scope : {"0", "2", "3", static_cast<const char*>(nullptr)}) {
    const Outcome o = meet(true, scope);
    EXPECT_EQ(o.allowed, 0);
    EXPECT_EQ(o.copyable, 0);
  }
}

}  // namespace
}  // namespace stretto::node
