// Ranks as processes through the real XPMEM: libxpmem.so.0 and its module. Skipped without them, unless
// STRETTO_TEST_XPMEM is set (`make test-xpmem` loads the module in a virtual machine).
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "../cases.hpp"
#include "../children.hpp"
#include "node/memory/xpmem.hpp"

namespace stretto::node {
namespace {

constexpr const char* kLibrary = "libxpmem.so.0";

// Nothing but XPMEM and slots is left for private buffers.
Options by_xpmem() {
  Options o;
  o.group.slot = 4096;
  o.eager = o.eager_reduce = 256;
  o.direct = 1024;
  o.memory.kernel = false;
  return o;
}

std::byte* map(std::size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS, void* at = nullptr, int fd = -1) {
  void* const here = mmap(at, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  return here == MAP_FAILED ? nullptr : static_cast<std::byte*>(here);
}

// Pages that peers hold of all processes.
long held() {
  std::ifstream file("/proc/xpmem/global_pages");
  long counts[2] = {0, 0};  // pinned, unpinned
  std::string line;
  for (long& count : counts) {
    if (!std::getline(file, line)) return -1;
    count = std::atol(line.c_str() + line.find(':') + 1);
  }
  return counts[0] - counts[1];
}

class XpmemModule : public testing::Test {
 protected:
  // Asked in a child: this process, whose children the ranks are, has nothing to do with the module.
  void SetUp() override {
    const pid_t child = fork();
    if (child == 0) {
      std::string why;
      const bool there = Xpmem::load(kLibrary, &why) != nullptr;
      if (!there) std::fprintf(stderr, "%s\n", why.c_str());
      _exit(there ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status == 0) return;
    if (std::getenv("STRETTO_TEST_XPMEM") != nullptr) FAIL() << "no XPMEM";
    GTEST_SKIP() << "no XPMEM";
  }
  void TearDown() override {
    if (std::getenv("STRETTO_TEST_XPMEM") == nullptr) return;  // others may use the module
    EXPECT_EQ(held(), 0) << "pages that nobody gave back";
  }

  // body(collectives, expect) in each rank's process.
  template <class Body>
  static void on_ranks(int ranks, const Body& body, const Options& options = by_xpmem()) {
    all_hold_on(ranks, [&](Exchange& exchange, Expect& expect) {
      alarm(120);  // for who waits for a rank that is gone
      std::unique_ptr<Collectives> c;
      expect(Collectives::create(exchange, options, &c) == Status::ok, "created");
      if (!c) return;
      expect(c->memory().usable(Access::xpmem), c->memory().reason(Access::xpmem).c_str());
      body(*c, expect);
      expect(agree(exchange, Status::ok) == Status::ok, "nobody frees what others still read");
    });
  }
};

TEST_F(XpmemModule, EveryCollectiveMapsPrivateBuffers) {
  for (const int ranks : {2, 3})
    on_ranks(ranks, [](Collectives& c, Expect& expect) {
      cases::Cases cases(c, {});
      for (const std::size_t n : {1000, 9001}) cases.all(n);
      expect(cases.failures() == 0, "every collective keeps its promise");
      const Counters& n = c.counters();
      expect(n.mapped > 0 && n.copyable == 0 && n.refused == 0, "buffers were mapped");
    });
}

// Buffers with their own pages, whose addresses the next buffers reuse: a stale attachment would show the old pages.
TEST_F(XpmemModule, ReallocatedBuffersAreSeenAsTheyAre) {
  constexpr std::size_t bytes = 4 << 20;
  const cases::Buffers anonymous{[](std::size_t) { return map(bytes); }, [](void* at) { munmap(at, bytes); }};
  const cases::Buffers huge{[](std::size_t) {
                              std::byte* const at = map(bytes);
                              madvise(at, bytes, MADV_HUGEPAGE);
                              return at;
                            },
                            [](void* at) { munmap(at, bytes); }};
  const cases::Buffers file{[](std::size_t) {
                              const int fd = memfd_create("stretto-test", MFD_CLOEXEC);
                              std::byte* const at =
                                  ftruncate(fd, bytes) == 0 ? map(bytes, MAP_SHARED, nullptr, fd) : nullptr;
                              close(fd);
                              return at;
                            },
                            [](void* at) { munmap(at, bytes); }};
  for (const cases::Buffers& buffers : {anonymous, huge, file})
    on_ranks(3, [&](Collectives& c, Expect& expect) {
      cases::Cases cases(c, buffers);
      for (const std::size_t n : {5003, 9001}) {
        cases.bcast(n, 1);
        cases.allgather(n, false);
        cases.alltoall(n, true);
        cases.allreduce(n, false);
        cases.reduce_scatter(n, true);
      }
      expect(cases.failures() == 0, "every collective keeps its promise");
      expect(c.counters().mapped > 0 && c.counters().refused == 0, "buffers were mapped");
    });
}

// One buffer at one address, whose pages are others in each call.
TEST_F(XpmemModule, ChangedPagesOfAnAttachmentAreSeen) {
  constexpr std::size_t bytes = 1 << 20, words = bytes / sizeof(std::uint32_t);
  on_ranks(3, [](Collectives& c, Expect& expect) {
    auto* const data = reinterpret_cast<std::uint32_t*>(map(bytes));
    const auto told = [&](std::uint32_t value, const char* after) {
      std::fill_n(data, words, c.rank() == 0 ? value : 0);
      expect(c.bcast(data, bytes, 0) == Status::ok, after);
      expect(std::count(data, data + words, value) == std::ptrdiff_t{words}, after);
    };
    for (std::uint32_t round = 1; round < 50; round += 10) {
      told(round, "nothing");
      const pid_t child = fork();  // it keeps the old pages
      if (child == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        _exit(data[0] == round && data[words - 1] == round ? 0 : 1);
      }
      told(round + 1, "a fork");
      int status = 1;
      expect(waitpid(child, &status, 0) == child && status == 0, "the child sees what was there when it was forked");
      told(round + 2, "the child's end");
      madvise(data, bytes, MADV_DONTNEED);
      told(round + 3, "pages given back");
      expect(map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, data) != nullptr, "mapped anew");
      told(round + 4, "another mapping");
    }
    expect(c.counters().mapped > 0 || c.rank() != 0, "the root's buffer was mapped");
  });
}

TEST_F(XpmemModule, InputsMayBeReadOnly) {
  constexpr std::size_t count = 50000, bytes = count * sizeof(float);
  on_ranks(3, [](Collectives& c, Expect& expect) {
    auto* const in = reinterpret_cast<float*>(map(bytes));
    std::fill_n(in, count, 1.0f + static_cast<float>(c.rank()));
    expect(mprotect(in, bytes, PROT_READ) == 0, "protected");
    const auto* const zeros = static_cast<const float*>(
        mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));  // never written
    std::vector<float> out(count);
    for (const float* from : {static_cast<const float*>(in), zeros}) {
      const float sum = from == zeros ? 0.0f : 6.0f;
      expect(c.allreduce(from, out.data(), count, payload::Type::f32, {payload::Op::sum}) == Status::ok, "allreduce");
      expect(std::count(out.begin(), out.end(), sum) == std::ptrdiff_t{count}, "the sum");
      std::vector<float> all(3 * count, -1.0f);
      expect(c.allgather(from, all.data(), bytes) == Status::ok, "allgather");
      for (int r = 0; r < 3; ++r)
        expect(all[static_cast<std::size_t>(r) * count + 777] == (from == zeros ? 0.0f : 1.0f + static_cast<float>(r)),
               "a block");
    }
    expect(c.counters().mapped > 0, "buffers were mapped");
  });
}

// XPMEM attachments have no pages of their own, like memory pinned by CUDA: peers that attached them would end by
// SIGBUS.
TEST_F(XpmemModule, MemoryWithoutPagesComesThroughSlots) {
  constexpr std::size_t bytes = 1 << 18;
  on_ranks(3, [](Collectives& c, Expect& expect) {
    std::string why;
    auto own = Xpmem::load(kLibrary, &why);
    if (!own || !own->open({own->segment()}, &why)) return expect(false, why.c_str());
    const cases::Buffers buffers{[&](std::size_t) {
                                   std::byte* const at = map(bytes);
                                   return own->reach(0, reinterpret_cast<std::uintptr_t>(at), bytes);
                                 },
                                 [](void*) {}};
    cases::Cases cases(c, buffers);
    for (int k = 0; k < 2; ++k) {
      cases.bcast(9001, k);
      cases.allgather(9001, false);
      cases.alltoall(9001, false);
      cases.allreduce(9001, false);
      cases.reduce(9001, k, false);
    }
    expect(cases.failures() == 0, "every collective keeps its promise");
    expect(c.counters().staged > 0 && c.counters().mapped == 0, "nothing was mapped");
  });
}

TEST_F(XpmemModule, ManyCommunicatorsLeaveNothing) {
  constexpr int ranks = 3;
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    const auto descriptors = [] {
      return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
    };
    std::ptrdiff_t after_one = 0;
    for (int k = 0; k < 50; ++k) {
      std::unique_ptr<Collectives> c;
      expect(Collectives::create(exchange, by_xpmem(), &c) == Status::ok && c->memory().usable(Access::xpmem),
             "created");
      if (!c) break;
      cases::Cases cases(*c, {});
      cases.allreduce(5003, false);
      expect(cases.failures() == 0 && c->counters().mapped > 0, "an allreduce of mapped buffers");
      expect(agree(exchange, Status::ok) == Status::ok, "agree");
      c.reset();
      if (k == 0) after_one = descriptors();
    }
    expect(descriptors() == after_one, "no more descriptors than one communicator leaves");
  });
}

// The pages of a process that ends leave its peers' attachments: a rank that reads at that moment ends by SIGBUS, as in
// any program that uses XPMEM; all others learn which rank died.
TEST_F(XpmemModule, PeersOfADeadRankEndOrLearnIt) {
  constexpr int ranks = 3, victim = 1;
  int learnt = 0, broken = 0;
  for (int k = 0; k < 10; ++k) {
    Inherited memory(ranks);
    const auto ends = on_processes(
        ranks, memory,
        [&](Exchange& exchange) {
          Options options = by_xpmem();
          options.group.patience.limit = 60;
          std::unique_ptr<Collectives> c;
          if (Collectives::create(exchange, options, &c) != Status::ok) return 2;
          std::vector<float> in(27000, 1.0f), out(27000);
          for (;;) {
            const Status s =
                k % 2 == 0 ? c->allreduce(in.data(), out.data(), in.size(), payload::Type::f32, {payload::Op::sum})
                           : c->scatter(in.data(), out.data(), 36000, victim);
            if (c->rank() == victim) memory.count().fetch_add(1);
            if (s == Status::ok) continue;
            return s == Status::mpi_error && std::string(message()).find("has ended") != std::string::npos ? 0 : 3;
          }
        },
        [&](const std::vector<pid_t>& children) {
          while (memory.count() < 20) sched_yield();
          kill(children[victim], SIGKILL);
        });
    for (int r = 0; r < ranks; ++r) {
      const int end = ends[static_cast<std::size_t>(r)];
      if (r == victim) continue;
      learnt += WIFEXITED(end) && WEXITSTATUS(end) == 0 ? 1 : 0;
      broken += WIFSIGNALED(end) && WTERMSIG(end) == SIGBUS ? 1 : 0;
    }
  }
  EXPECT_EQ(learnt + broken, 10 * (ranks - 1));
  std::printf("%d peers learnt that rank %d had ended, %d ended by SIGBUS\n", learnt, victim, broken);
}

TEST_F(XpmemModule, AnotherUserGetsNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can try as another user";
  for (const bool same : {true, false}) {
    all_hold_on(2, [&](Exchange& exchange, Expect& expect) {
      const uid_t user = same || exchange.rank() == 0 ? 1234 : 65534;
      expect(setgid(user) == 0 && setuid(user) == 0, "another user");
      std::string why;
      const auto own = Xpmem::load(kLibrary, &why);
      const std::int64_t mine = own ? own->segment() : -1;
      std::int64_t all[2] = {-1, -1};
      expect(own != nullptr, why.c_str());
      expect(exchange.allgather(&mine, sizeof mine, all) == Status::ok, "segments are known");
      expect(own && own->open({all[1 - exchange.rank()]}, &why) == same, "opened by the same user, and no other");
      if (!same) expect(why.find("Permission denied") != std::string::npos, why.c_str());
      expect(agree(exchange, Status::ok) == Status::ok, "segments live until all have tried");
    });
  }
}

}  // namespace
}  // namespace stretto::node
