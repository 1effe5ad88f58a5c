// Leftovers of a rank that dies in a collective, and access from outside.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "../processes.hpp"
#include "node/arena/arena.hpp"
#include "node/collectives/bounded.hpp"
#include "node/collectives/collectives.hpp"
#include "node/tree/tree.hpp"
#include "schedule/registry.hpp"

namespace stretto::node {
namespace {

constexpr int kRanks = 3, kVictim = 1;

// Those that a node's memory may be named for. Tests that run beside this one have files of other names.
std::set<std::string> files_in(const char* directory) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& e : std::filesystem::directory_iterator(directory, none)) {
    const std::string name = e.path().filename().string();
    if (name.find("stretto-node") != std::string::npos || name.find("stretto-arena") != std::string::npos)
      names.insert(e.path());
  }
  return names;
}

Status call(Collectives& c, Collective kind, std::span<float> in, std::span<float> out) {
  const std::size_t n = in.size() / kRanks, bytes = n * sizeof(float);
  const Combination sum{payload::Op::sum};
  switch (kind) {
    case Collective::barrier: return c.barrier();
    case Collective::bcast: return c.bcast(in.data(), bytes, kVictim);
    case Collective::reduce: return c.reduce(in.data(), out.data(), n, payload::Type::f32, sum, 0);
    case Collective::allreduce:
    case Collective::allreduce_multi: return c.allreduce(in.data(), out.data(), n, payload::Type::f32, sum);
    case Collective::allgather:
    case Collective::allgatherv: return c.allgather(in.data(), out.data(), bytes);
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: return c.reduce_scatter(in.data(), out.data(), n, payload::Type::f32, sum);
    case Collective::gather:
    case Collective::gatherv: return c.gather(in.data(), out.data(), bytes, kVictim);
    case Collective::scatter:
    case Collective::scatterv: return c.scatter(in.data(), out.data(), bytes, kVictim);
    case Collective::alltoall:
    case Collective::alltoallv: return c.alltoall(in.data(), out.data(), bytes);
    case Collective::scan:
    case Collective::exscan:
    case Collective::agreement: break;
  }
  return Status::internal;
}

Options patient() {
  Options options;
  options.group.patience.limit = 60;
  return options;
}

// Runs body(collectives) in each rank's process. The exit status is its result, or 2 without collectives.
template <class Body, class Meanwhile>
std::vector<int> on_collectives(Inherited& memory, const Options& options, const Body& body,
                                const Meanwhile& meanwhile) {
  return on_processes(
      kRanks, memory,
      [&](Exchange& exchange) {
        std::unique_ptr<Collectives> c;
        return Collectives::create(exchange, options, &c) == Status::ok ? body(*c) : 2;
      },
      meanwhile);
}

void nothing(const std::vector<pid_t>&) {}

void await(Inherited& memory, int count) {
  while (memory.count() < count) sched_yield();
}

bool names_victim() { return std::string(message()).find("rank 1 (process") != std::string::npos; }

void expect_end(int rank, int end) {
  EXPECT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 0) << "rank " << rank << " ended with " << end;
}

void expect_victim_alone_killed(const std::vector<int>& ends) {
  for (int r = 0; r < kRanks; ++r) {
    const int end = ends[static_cast<std::size_t>(r)];
    if (r == kVictim)
      EXPECT_TRUE(WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL) << end;
    else
      expect_end(r, end);
  }
}

enum class How : std::uint8_t { staged, copyable, mapped, bounded, tree };

const char* name(How how) {
  switch (how) {
    case How::staged: return "staged";
    case How::copyable: return "copyable";
    case How::mapped: return "mapped";
    case How::bounded: return "bounded";
    case How::tree: return "tree";
  }
  return "?";
}

struct Case {
  Collective kind;
  How how;
};

// Numbers on the heap, or in the arena; a process that ends frees them.
std::span<float> numbers(How how, std::size_t n) {
  const std::size_t bytes = n * sizeof(float);
  auto* at = static_cast<float*>(how == How::mapped ? arena::allocate(bytes, 64) : std::malloc(bytes));
  std::fill_n(at, n, 1.0f);
  return {at, n};
}

// The call within a bound.
Status call(Bounded& b, Collective kind, std::span<float> in, std::span<float> out) {
  BoundedCall c{kind, kind == Collective::bcast ? nullptr : in.data(), out.data(), in.size() / kRanks, 0, {}};
  if (kind == Collective::bcast) c.root = kVictim;
  c.spec.kind = payload::Kind::fused;
  c.spec.eps = 1e-3;
  StreamCounts streamed;
  return b.run(c, &streamed);
}

// The call by a tree of which a level runs before or after the others.
Status by_tree(Collectives& c, Collective kind, std::span<float> in, std::span<float> out) {
  schedule::Request q;
  q.collective = kind;
  q.ranks = kRanks;
  q.rank = c.rank();
  q.root = kind == Collective::reduce ? 0 : kVictim;
  q.split = 1;
  const schedule::Schedule steps = schedule::find(kind, "binomial")->build(q);
  return c.tree({steps, in.data(), out.data(), in.size() / kRanks, payload::Type::f32, {payload::Op::sum}, true});
}

class Death : public testing::TestWithParam<Case> {};

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (int i = 0; i < schedule::kCollectives; ++i) {
    const auto k = static_cast<Collective>(i);
    if (!schedule::is_family(k) || schedule::is_prefix(k)) continue;
    for (const How how : {How::staged, How::copyable, How::mapped}) all.push_back({k, how});
  }
  for (const Collective k : {Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::bcast,
                             Collective::allgather})
    all.push_back({k, How::bounded});
  for (const Collective k : {Collective::reduce, Collective::bcast, Collective::gather, Collective::scatter})
    all.push_back({k, How::tree});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Collectives, Death, testing::ValuesIn(all_cases()),
                         [](const auto& i) { return std::string(name(i.param.kind)) + '_' + name(i.param.how); });

// The survivors continue until a call fails; it fails, names the dead rank, and leaves neither a file nor a process.
TEST_P(Death, OthersLearnWhoDiedAndNothingIsLeft) {
  const auto before = files_in("/dev/shm"), before_tmp = files_in("/tmp");
  Inherited memory(kRanks);
  Options options = patient();
  const auto [kind, how] = GetParam();
  options.group.slot = how == How::bounded ? 16384 : 8192;
  options.eager = options.eager_reduce = 256;
  options.direct = 1024;
  options.memory.xpmem = false;  // the three ways are without it (xpmem_module_test.cpp)
  options.kernel = how == How::copyable ? 1024 : ~std::size_t{0};
  const auto body = [&, kind = kind, how = how](Collectives& c) {
    if (how == How::mapped && !c.memory().usable(Access::arena)) return 4;
    Bounded bounded(c.group());
    const std::span<float> in = numbers(how, kRanks * 9000), out = numbers(how, kRanks * 9000);
    for (;;) {
      const Status s = how == How::bounded ? call(bounded, kind, in, out)
                       : how == How::tree  ? by_tree(c, kind, in, out)
                                           : call(c, kind, in, out);
      if (c.rank() == kVictim) memory.count().fetch_add(1);
      if (s == Status::ok) continue;
      const std::string why = message();
      const bool named = names_victim() || why.find("process_vm_readv") != std::string::npos;
      // A survivor that ends before the other one has looked may be the rank that the other one names.
      constexpr int learnt = 1 << 20;  // more than the victim's calls
      memory.count().fetch_add(learnt);
      await(memory, (kRanks - 1) * learnt);
      if (s == Status::mpi_error && named && why.find("has ended") != std::string::npos) return 0;
      std::fprintf(stderr, "%s: %s\n", stretto::name(s), why.c_str());
      return 3;
    }
  };
  expect_victim_alone_killed(on_collectives(memory, options, body, [&](const std::vector<pid_t>& children) {
    while (memory.count().load() < 20) sched_yield();
    kill(children[kVictim], SIGKILL);
  }));
  EXPECT_EQ(files_in("/dev/shm"), before);
  EXPECT_EQ(files_in("/tmp"), before_tmp);
}

// A root runs ahead and dies before its readers have caught up: its data arrive, and the next call names the ended
// rank.
TEST(DeathAhead, RootsDeathIsSeenAfterAllItsData) {
  constexpr std::uint64_t given = 20;
  Inherited memory(kRanks);
  const auto body = [&](Collectives& c) {
    for (std::uint64_t k = 0;; ++k) {
      if (c.rank() == kVictim && k == given) {
        memory.count() = 1;
        raise(SIGKILL);
      }
      if (c.rank() != kVictim) await(memory, 1);
      if (c.rank() != kVictim && k == given) {  // who learns of the end ends the calls of all: not before all have read
        ++memory.count();
        await(memory, kRanks);
      }
      std::uint64_t data = c.rank() == kVictim ? k * k : 0;
      const Status s = c.bcast(&data, sizeof data, kVictim);
      if (s == Status::ok && (k >= given || data != k * k)) return 3;
      if (s != Status::ok) {
        const bool learnt = k == given && s == Status::mpi_error && names_victim();
        ++memory.count();  // a rank that ends before the others check may be named instead
        await(memory, 2 * kRanks - 1);
        return learnt ? 0 : 4;
      }
    }
  };
  expect_victim_alone_killed(on_collectives(memory, patient(), body, nothing));
}

// A reader dies behind its root: the root sends until the room is full, then reports the ended rank.
TEST(DeathAhead, ReadersDeathIsSeenOnceTheRingIsFull) {
  constexpr std::uint64_t read = 3;
  Inherited memory(kRanks);
  const auto body = [&](Collectives& c) {
    for (std::uint64_t k = 0;; ++k) {
      if (c.rank() == kVictim && k == read) raise(SIGKILL);
      std::uint64_t data = k;
      const Status s = c.bcast(&data, sizeof data, 0);
      if (s == Status::ok && k > read + kLines) return 3;
      if (s != Status::ok) {
        const bool learnt = s == Status::mpi_error && names_victim();
        ++memory.count();  // as above
        await(memory, kRanks - 1);
        return learnt ? 0 : 4;
      }
    }
  };
  expect_victim_alone_killed(on_collectives(memory, patient(), body, nothing));
}

// The others would wait until their limit: the process lives on.
TEST(DeathAhead, ARankThatFreesItsGroupIsNamedByThoseThatWait) {
  Inherited memory(kRanks);
  const auto rank = [&](Exchange& exchange) {
    std::unique_ptr<Collectives> c;
    if (Collectives::create(exchange, patient(), &c) != Status::ok) return 2;
    for (int k = 0; k < 3; ++k)
      if (c->barrier() != Status::ok) return 3;
    const bool frees = c->rank() == kVictim;
    if (frees) c.reset();
    const Status s = frees ? Status::mpi_error : c->barrier();
    const bool named =
        frees || (names_victim() && std::string(message()).find("has freed the communicator") != std::string::npos);
    ++memory.count();
    await(memory, kRanks);
    return s == Status::mpi_error && named ? 0 : 4;
  };
  const std::vector<int> ends = on_processes(kRanks, memory, rank, nothing);
  for (int r = 0; r < kRanks; ++r) expect_end(r, ends[static_cast<std::size_t>(r)]);
}

// Tries, as another user, to open the files of `pid`, to read its memory, and to write there. Returns the number of
// successes.
int intrude(pid_t pid, const void* at) {
  int successes = 0;
  const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
  if (DIR* d = opendir(directory.c_str())) {
    ++successes;
    closedir(d);
  }
  for (int fd = 3; fd < 1024; ++fd) {
    const int mine = open((directory + "/" + std::to_string(fd)).c_str(), O_RDWR);
    if (mine >= 0) ++successes, close(mine);
  }
  char byte = 0;
  iovec here{&byte, 1}, there{const_cast<void*>(at), 1};
  if (process_vm_readv(pid, &here, 1, &there, 1, 0) == 1) ++successes;
  if (process_vm_writev(pid, &here, 1, &there, 1, 0) == 1) ++successes;
  return successes;
}

TEST(Intruder, AnotherUserCannotOpenOrReadSharedMemory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can try as another user";
  Inherited memory(kRanks);
  int value = 42;
  const auto rank = [&](Exchange& exchange) {
    // Ranks of an ordinary user: the intruder is another ordinary one.
    if (setgid(1234) != 0 || setuid(1234) != 0) return 4;
    prctl(PR_SET_DUMPABLE, 1);  // as after exec; a change of user takes it away
    Options options;
    std::unique_ptr<Collectives> c;
    if (Collectives::create(exchange, options, &c) != Status::ok) return 2;
    if (!c->memory().usable(Access::kernel)) return 5;
    if (exchange.rank() == 0) memory.count() = 1;
    while (memory.count() != 2) sched_yield();
    return c->barrier() == Status::ok ? 0 : 3;
  };
  const auto ends = on_processes(kRanks, memory, rank, [&](const std::vector<pid_t>& children) {
    while (memory.count() != 1) sched_yield();
    const auto try_as = [&](uid_t user) {
      const pid_t intruder = fork();
      if (intruder == 0) {
        if (setgid(user) != 0 || setuid(user) != 0) _exit(255);
        _exit(std::min(intrude(children[0], &value), 100));
      }
      int status = 0;
      waitpid(intruder, &status, 0);
      return WEXITSTATUS(status);
    };
    EXPECT_EQ(try_as(65534), 0);
    EXPECT_GE(try_as(1234), 3) << "the same user can, so the attempt is a real one";
    memory.count() = 2;
  });
  for (int r = 0; r < kRanks; ++r) expect_end(r, ends[static_cast<std::size_t>(r)]);
}

}  // namespace
}  // namespace stretto::node
