// Descriptors and addresses of a process that groups and memories leave to the program.
#include "node/memory/shared.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "../children.hpp"
#include "node/arena/arena.hpp"
#include "node/arena/region.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

// Descriptors of this process that watch another.
std::vector<int> watching() {
  std::vector<int> numbers;
  for (const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor that reads the directory
    if (std::filesystem::read_symlink(e.path(), gone).string().find("[pidfd]") != std::string::npos)
      numbers.push_back(std::stoi(e.path().filename()));
  }
  return numbers;
}

int watches() { return static_cast<int>(watching().size()); }

// Arenas that are mapped here, this process's own among them.
int arenas() {
  int n = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) n += line.find("stretto-arena") != std::string::npos;
  return n;
}

TEST(Shared, PeerTakesOneDescriptorForAllItsGroups) {
  constexpr int ranks = 3;
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    std::vector<std::unique_ptr<Group>> groups(5);
    for (auto& g : groups) expect(Group::create(exchange, {.slot = 4096}, &g) == Status::ok, "a group is made");
    expect(watches() == ranks - 1, "five groups take a descriptor a peer");
    groups.resize(1);
    expect(watches() == ranks - 1, "the last group keeps them");
    groups.clear();
    expect(watches() == 0, "no group keeps none");
  });
}

// A program closes unknown descriptors, and opens its own files in their place.
TEST(Shared, ClosedDescriptorReportsNoDeathAndIsNotClosedAgain) {
  enum class Reused {
    nothing,
    file,
    event
  };  // event: an anonymous inode that is readable, as a pidfd of a process that has ended
  for (const Reused by : {Reused::nothing, Reused::file, Reused::event}) {
    const bool reused = by != Reused::nothing;
    constexpr int ranks = 3;
    all_hold_on(ranks, [by, reused](Exchange& exchange, Expect& expect) {
      std::unique_ptr<Collectives> c;
      expect(Collectives::create(exchange, {}, &c) == Status::ok, "collectives are made");
      const std::vector<int> numbers = watching();
      expect(numbers.size() == ranks - 1 && numbers[0] > 2, "peers are watched");
      const int file = by == Reused::event ? eventfd(1, 0) : open("/dev/null", O_RDWR);
      for (const int n : numbers) reused ? dup2(file, n) : close(n);
      if (exchange.rank() == 1) usleep(50000);  // others look meanwhile whether it has ended
      expect(c->barrier() == Status::ok, "nobody is taken for dead");
      expect(agree(exchange, Status::ok) == Status::ok, "all are done");
      c.reset();
      for (const int n : numbers) expect((fcntl(n, F_GETFD) >= 0) == reused, "the program's files stay open");
    });
  }
}

TEST(Shared, RangeBeyondAPeersArenaIsRefusedWithItsOwnReason) {
  constexpr int ranks = 2;
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    std::unique_ptr<Collectives> c;
    expect(Collectives::create(exchange, {}, &c) == Status::ok, "collectives are made");
    if (c->memory().usable(Access::arena)) {
      auto& seen = const_cast<Memory&>(c->memory());
      const Exposure beyond{std::uint64_t{1} << 60, Access::arena, 0};
      char byte = 0;
      errno = EEXIST;  // of something before
      expect(seen.reach(1 - exchange.rank(), beyond, 0, 1) == nullptr, "it is out of reach");
      expect(seen.read(1 - exchange.rank(), beyond, 0, &byte, 1) == Status::unsupported, "nor is it read");
      expect(std::string(message()).find(std::strerror(ERANGE)) != std::string::npos, "it is said why");
    }
  });
}

TEST(Shared, WatchingTakesAtMostAQuarterOfTheDescriptors) {
  constexpr int ranks = 9;
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    const rlimit few{24, 24};
    expect(setrlimit(RLIMIT_NOFILE, &few) == 0, "the limit is set");
    std::vector<std::unique_ptr<Collectives>> made(3);
    Options options;
    options.memory.arena = false;
    for (auto& c : made) {
      expect(Collectives::create(exchange, options, &c) == Status::ok, "collectives are made");
      expect(c && c->barrier() == Status::ok, "they work");
    }
    expect(watches() == 24 / 4, "a quarter is taken");
  });
}

TEST(Shared, ArenaIsMappedOnceForAllMemories) {
  constexpr int ranks = 3;
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    std::vector<std::unique_ptr<Collectives>> made(4);
    for (auto& c : made) {
      expect(Collectives::create(exchange, {}, &c) == Status::ok, "collectives are made");
      expect(c && c->memory().usable(Access::arena), "arenas are used");
    }
    expect(arenas() == ranks, "each is mapped once");
    made.erase(made.begin(), made.begin() + 3);
    expect(arenas() == ranks, "the last keeps them");
    float x = 1, sum = 0;
    expect(made[0]->allreduce(&x, &sum, 1, payload::Type::f32, {payload::Op::sum}) == Status::ok && sum == ranks,
           "it works");
    expect(agree(exchange, Status::ok) == Status::ok, "all are done");
    made.clear();
    expect(arenas() == 1, "a process keeps its own");
  });
}

// Rank 1 has no room for its peers' arenas: then nobody keeps one.
TEST(Shared, ArenaThatOneRankCannotMapIsKeptByNone) {
  constexpr int ranks = 3;
  const Setting size("STRETTO_ARENA_SIZE", "1G");
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    expect(arena::view().bytes == std::size_t{1} << 30, "there is an arena");
    const rlimit little{std::uint64_t{7} << 30, std::uint64_t{7} << 30};
    if (exchange.rank() == 1) expect(setrlimit(RLIMIT_AS, &little) == 0, "the limit is set");
    std::unique_ptr<Collectives> c;
    expect(Collectives::create(exchange, {}, &c) == Status::ok, "collectives are made");
    if (!c) return;
    expect(!c->memory().usable(Access::arena), "arenas are not used");
    expect(c->memory().reason(Access::arena).find("RLIMIT_AS (rank 1)") != std::string::npos, "it is said why");
    expect(arenas() == 1, "a process has its own alone");
    expect(c->barrier() == Status::ok, "collectives work");
  });
}

TEST(Shared, ArenaLeavesALimitedAddressSpaceToTheProgram) {
  all_hold_on(1, [](Exchange&, Expect& expect) {
    const rlimit little{std::uint64_t{2} << 30, std::uint64_t{2} << 30};
    expect(setrlimit(RLIMIT_AS, &little) == 0, "the limit is set");
    void* at = arena::allocate(1 << 20, 64);
    expect(at != nullptr, "there is an arena");
    expect(arena::statistics().bound == std::uint64_t{128} << 20, "it is a sixteenth");
  });
}

TEST(Shared, DefaultArenaSizeObeysEveryLimit) {
  constexpr std::uint64_t GiB = std::uint64_t{1} << 30;
  EXPECT_EQ(arena::default_bound(32 * GiB, arena::kUnlimited, 64 * GiB), 16 * GiB);
  EXPECT_EQ(arena::default_bound(2048 * GiB, arena::kUnlimited, 64 * GiB), 64 * GiB);
  EXPECT_EQ(arena::default_bound(2048 * GiB, arena::kUnlimited, arena::kUnlimited), 1024 * GiB);
  EXPECT_EQ(arena::default_bound(2048 * GiB, 160 * GiB, 64 * GiB), 10 * GiB);
}

TEST(Shared, ForkedChildFindsNothingOfItsParents) {
  using Held = Shared<int, const int>;
  const auto make = [](std::size_t) { return std::make_shared<const int>(1); };
  const auto held = Held::mine().get(7, make);
  EXPECT_EQ(Held::mine().find(7), held);
  EXPECT_EQ(Held::mine().get(7, make), held);
  const pid_t child = fork();
  if (child == 0) _exit(Held::mine().find(7) == nullptr && Held::mine().get(7, make) != held ? 0 : 1);
  int status = 1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// A page fault for every few rounds would make a communicator's first calls several times as long.
TEST(Shared, TheFirstRoundsFindTheirPagesMapped) {
  void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  constexpr int populate_write = 23;
  const bool populates = madvise(page, 4096, populate_write) == 0;
  munmap(page, 4096);
  if (!populates) GTEST_SKIP() << "Linux before 5.14";
  all_hold_on(3, [](Exchange& exchange, Expect& expect) {
    std::unique_ptr<Collectives> c;
    expect(Collectives::create(exchange, {}, &c) == Status::ok, "collectives are made");
    if (!c) return;
    const auto faults = [] {
      rusage used{};
      getrusage(RUSAGE_SELF, &used);
      return used.ru_minflt;
    };
    double x = 1, y = 0;
    const auto sum = [&] { return c->allreduce(&x, &y, 1, payload::Type::f64, {payload::Op::sum}) == Status::ok; };
    expect(sum(), "the first call touches the rest");
    const long before = faults();
    for (int k = 0; k < 60; ++k) expect(sum(), "a sum");
    expect(faults() - before < 10, "60 rounds, whose lines have 17 pages, touch few new ones");
  });
}

}  // namespace
}  // namespace stretto::node
