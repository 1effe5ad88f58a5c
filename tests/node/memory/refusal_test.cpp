// Kernel copies refused in the middle of a run, by a stand-in for process_vm_readv: some ranks may read a number of
// times, the last time only half of the request, and never again.
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <climits>

#include "../cases.hpp"
#include "../children.hpp"
#include "node/memory/window.hpp"

namespace {

int reads_left = INT_MAX;  // of this process
int refusal = EPERM;

}  // namespace

extern "C" ssize_t process_vm_readv(pid_t pid, const iovec* here, unsigned long n, const iovec* there, unsigned long m,
                                    unsigned long flags) {
  if (reads_left == 0) {
    errno = refusal;
    return -1;
  }
  iovec some = *here;
  if (reads_left != INT_MAX && --reads_left == 0) some.iov_len = (some.iov_len + 1) / 2;
  return syscall(SYS_process_vm_readv, pid, &some, n, there, m, flags);
}

namespace stretto::node {
namespace {

constexpr std::size_t kLength = 9001;  // bytes a block: several chunks of slots so small

// All moves by the kernel but broadcasts, which go through slots, as reductions do.
Options copying() {
  Options o;
  o.group.slot = 4096;
  o.eager = o.eager_reduce = 256;
  o.direct = 1024;
  o.kernel = 0;
  o.memory.arena = o.memory.xpmem = false;
  return o;
}

// Every collective twice; the last `refused` ranks may read `reads` times. The result: how many blocks came through
// slots after all.
int run(int ranks, const Options& options, int refused, int reads) {
  Inherited memory(ranks);
  all_hold(on_processes(
      ranks, memory,
      [&](Exchange& exchange) {
        Expect expect;
        std::unique_ptr<Collectives> c;
        expect(Collectives::create(exchange, options, &c) == Status::ok, "created");
        if (!c) return expect.failures;
        if (c->rank() >= ranks - refused) reads_left = reads;
        cases::Cases cases(*c, {});
        cases.expect_rank_order(true);
        cases.all(kLength);
        cases.all(kLength);
        expect(cases.failures() == 0, "every collective keeps its promise");
        const Counters before = c->counters();
        cases.allgather(kLength, false);
        const Counters n = c->counters();
        if (refused == ranks && reads_left == 0)
          expect(n.staged == before.staged + 1 && n.refused == before.refused,
                 "nothing is left to the kernel any more");
        memory.count() += static_cast<int>(n.refused);
        return expect.failures;
      },
      kNothing));
  return memory.count();
}

class Refusal : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Reads, Refusal, testing::Values(0, 1, 2, 3, 4, 5, 7, 10, 14));

TEST_P(Refusal, RefusedCopiesComeThroughSlots) {
  for (const int ranks : {2, 3, 5})
    for (const int refused : {1, ranks / 2, ranks}) {
      SCOPED_TRACE(testing::Message() << refused << " of " << ranks << " ranks");
      EXPECT_GT(run(ranks, copying(), refused, GetParam()), 0);
    }
}

// A process may lack the call altogether (seccomp), or its peer's memory be such that the kernel does not copy it.
TEST(Refusal, IsHandledForEveryKernelError) {
  for (const int reason : {ENOSYS, EFAULT, ENOMEM}) {
    refusal = reason;
    EXPECT_GT(run(3, copying(), 2, 3), 0);
  }
  refusal = EPERM;
}

// Two windows by the kernel, which refuses the last ranks' copies after `reads`. The second one is not tried anew.
void expect_windows(int ranks, int refused, int reads) {
  Inherited memory(ranks);
  all_hold(on_processes(
      ranks, memory,
      [&](Exchange& exchange) {
        Expect expect;
        std::unique_ptr<Collectives> c;
        expect(Collectives::create(exchange, copying(), &c) == Status::ok, "created");
        if (!c) return expect.failures;
        if (c->rank() >= ranks - refused) reads_left = reads;
        for (int i = 0; i < 2; ++i) {
          const std::vector<std::byte> in(kLength, std::byte(c->rank())), out(kLength, std::byte(c->rank() + 100));
          std::vector<std::byte> got(kLength);
          Window window(c->group(), c->memory());
          bool visible = false;
          expect(window.open({Collective::allreduce, 0, 0, 0, kLength}, in, out, 1, &visible) == Status::ok, "opened");
          expect(visible == (refused == 0), "all ranks have the window, or none");
          expect(i == 0 || visible || !c->memory().usable(Access::kernel) ||
                     c->memory().expose(in.data(), in.size(), true).access == Access::staged,
                 "refused copies are not tried again");
          if (!visible) continue;
          expect(window.publish() == Status::ok, "published");
          for (int r = 0; r < ranks; ++r) {
            if (r == c->rank()) continue;
            const std::byte* found = nullptr;
            expect(window.input(r, 0, kLength, got.data(), &found) == Status::ok && found == got.data() &&
                       got == std::vector<std::byte>(kLength, std::byte(r)),
                   "a peer's input");
            expect(window.fetch(r, 0, 0, kLength, got.data()) == Status::ok &&
                       got == std::vector<std::byte>(kLength, std::byte(r + 100)),
                   "a peer's results");
          }
          window.leave(0);
          expect(window.close() == Status::ok, "closed");
        }
        cases::Cases cases(*c, {});
        cases.expect_rank_order(true);
        cases.all(kLength);
        expect(cases.failures() == 0, "later collectives keep their promises");
        return expect.failures;
      },
      kNothing));
}

TEST(Refusal, AWindowOpensForAllOrNone) {
  for (const int ranks : {2, 3, 5}) {
    expect_windows(ranks, 0, 0);
    for (const int refused : {1, ranks})
      for (const int reads : {0, 3}) expect_windows(ranks, refused, reads);
  }
}

TEST(Refusal, WithoutRefusalNoBlockComesTwice) { EXPECT_EQ(run(3, copying(), 0, 0), 0); }

}  // namespace
}  // namespace stretto::node
