// Each system call of a rank fails once while ranks meet, move data and part: either all ranks have collectives or none
// has, and results are right. No rank hangs, and no descriptor and no shared memory leaks.
#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../boundary/faults.hpp"
#include "../children.hpp"
#include "node/arena/arena.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

using boundary::Fails;
using boundary::Fault;

constexpr int kSpared = 100;  // in the count of ranks that have collectives: the fault never came
constexpr int kHang = 20;     // seconds

int descriptors() {
  int n = 0;
  DIR* all = opendir("/proc/self/fd");
  while (all != nullptr && readdir(all) != nullptr) ++n;
  if (all != nullptr) closedir(all);
  return n;
}

int shared_mappings() {
  int n = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) n += line.find("memfd:stretto-node") != std::string::npos ? 1 : 0;
  return n;
}

// A rank's use of its collectives. 1: a wrong result, or a failure without a name.
int use(Collectives& c) {
  constexpr std::size_t n = 100000;  // copied by the kernel, where it does
  int wrong = 0;
  std::vector<float> x(n, static_cast<float>(c.rank() + 1)), y(n * static_cast<std::size_t>(c.size()));
  const Status sum = c.allreduce(x.data(), y.data(), n, payload::Type::f32, {});
  if (sum == Status::ok && y[n - 1] != static_cast<float>(c.size() * (c.size() + 1) / 2)) ++wrong;
  if (sum != Status::ok && *message() == '\0') ++wrong;
  if (sum != Status::ok) return wrong;
  const Status all = c.allgather(x.data(), y.data(), n * sizeof(float));
  for (std::size_t r = 0; all == Status::ok && r < static_cast<std::size_t>(c.size()); ++r)
    if (y[r * n + n - 1] != static_cast<float>(r + 1)) ++wrong;
  return wrong;
}

// `beside` fails always, so that ranks come to the call.
struct Trouble {
  const Fault& fault;
  long n = 0;   // the call that fails; negative: all of them
  int who = 0;  // on which rank
  const Fault* beside = nullptr;
};

int live(Exchange& exchange, Inherited& memory, const Trouble& trouble) {
  alarm(kHang);
  Expect expect;
  const bool mine = exchange.rank() == trouble.who;
  void* const own = arena::allocate(1, 64);  // the arena outlives its users
  if (own != nullptr) arena::release(own);
  const int before = descriptors();
  {
    std::unique_ptr<Collectives> c;
    std::optional<Fails> fails;
    if (trouble.beside != nullptr) boundary::always(*trouble.beside);
    if (mine && trouble.n >= 0) fails.emplace(trouble.fault, trouble.n);
    if (mine && trouble.n < 0) boundary::always(trouble.fault);
    Options options;
    options.group.patience.limit = 5;
    const Status made = Collectives::create(exchange, options, &c);
    const bool reason = made == Status::ok || *message() != '\0';
    if (made == Status::ok) {
      ++memory.count();
      expect(use(*c) == 0, "results are right");
    }
    c.reset();
    boundary::never_again();
    if (fails && !fails->struck()) memory.count() += kSpared;
    fails.reset();
    expect(reason, "a refusal has a reason");
  }
  expect(agree(exchange, Status::ok) == Status::ok, "the ranks meet again");
  expect(descriptors() == before, "no descriptor is left");
  expect(shared_mappings() == 0, "no shared memory is left");
  return expect.failures;
}

// False: the fault never came.
bool all_or_none(int ranks, const Trouble& trouble) {
  Inherited memory(ranks);
  const auto ends = on_processes(
      ranks, memory, [&](Exchange& exchange) { return live(exchange, memory, trouble); }, kNothing);
  const int made = memory.count() % kSpared;
  const testing::Message what = testing::Message() << trouble.fault.call << " " << trouble.n << " of rank "
                                                   << trouble.who << " of " << ranks;
  for (const int end : ends) EXPECT_EQ(end, 0) << what;
  EXPECT_TRUE(made == 0 || made == ranks) << made << " ranks have collectives, " << what;
  return memory.count() < kSpared;
}

void fail_each(const Fault& fault, const Fault* beside) {
  // A rank that waits asks now and then whether others live, however often; and interrupted for ever it is by nobody.
  const bool polls = fault.call == std::string_view("poll");
  for (const int ranks : {2, 3}) {
    const int who = ranks == 2 ? 0 : ranks - 1;
    long n = 0;
    while (n < (polls ? 10 : 200) && !testing::Test::HasFailure() && all_or_none(ranks, {fault, n, who, beside})) ++n;
    EXPECT_LT(n, 200) << fault.call;
    for (const int always_on : {0, ranks - 1})
      if (!polls && (n > 0 || always_on != who)) all_or_none(ranks, {fault, -1, always_on, beside});
  }
}

class EveryCall : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { boundary::count_the_program(); }
  const Fault& fault() const { return boundary::faults()[static_cast<std::size_t>(GetParam())]; }
};
INSTANTIATE_TEST_SUITE_P(Faults, EveryCall, testing::Range(0, static_cast<int>(boundary::faults().size())),
                         [](const auto& info) {
                           return std::string(boundary::faults()[static_cast<std::size_t>(info.param)].call);
                         });

TEST_P(EveryCall, ThatFailsLeavesAllRanksWithCollectivesOrNone) { fail_each(fault(), nullptr); }

// As where ranks have user namespaces of their own: memory passes through sockets.
TEST_P(EveryCall, ThatFailsWhileMemoryPassesThroughSockets) {
  static constexpr Fault kNoProc{"open", EACCES};
  static constexpr std::string_view kUsed[] = {"fcntl",   "poll",    "write",   "socket",  "bind", "listen",
                                               "connect", "accept4", "sendmsg", "recvmsg", "mmap"};
  if (std::find(std::begin(kUsed), std::end(kUsed), fault().call) == std::end(kUsed)) GTEST_SKIP() << "used as ever";
  fail_each(fault(), &kNoProc);
}

// 0: the child has its parent's values, and writes none of the parent's memory.
int fork_with(const Fault& fault, long n, bool* struck) {
  constexpr std::size_t length = 1 << 18;
  auto* const x = static_cast<int*>(arena::allocate(length * sizeof(int), 64));
  if (x == nullptr) return 1;
  std::fill(x, x + length, 7);
  int status = 1;
  {
    const Fails fails(fault, n);
    const pid_t child = fork();
    if (child == 0) {
      int wrong = 0;
      for (std::size_t i = 0; i < length; ++i) wrong |= x[i] ^ 7;
      std::fill(x, x + length, 8);
      _exit(wrong != 0 ? 2 : fails.struck() ? 100 : 0);
    }
    waitpid(child, &status, 0);
    *struck = fails.struck() || (WIFEXITED(status) && WEXITSTATUS(status) == 100);
  }
  const bool own = std::all_of(x, x + length, [](int value) { return value == 7; });
  arena::release(x);
  return own && WIFEXITED(status) && WEXITSTATUS(status) % 100 == 0 ? 0 : 3;
}

// In a process of its own: the arena is never one of this program's.
TEST_P(EveryCall, ThatFailsInAForkLeavesTheParentItsMemory) {
  for (long n = 0; n < 50; ++n) {
    Inherited memory(1);
    const auto ends = on_processes(
        1, memory,
        [&](Exchange&) {
          alarm(kHang);
          bool struck = false;
          const int before = descriptors(), wrong = fork_with(fault(), n, &struck);
          memory.count() += struck ? 1 : 0;
          return wrong != 0 ? wrong : descriptors() - before - 1;  // the arena's own
        },
        kNothing);
    ASSERT_EQ(ends[0], 0) << fault().call << " " << n;
    if (memory.count() == 0) return;
  }
  FAIL() << fault().call;
}

}  // namespace
}  // namespace stretto::node
