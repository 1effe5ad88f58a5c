// The arena in a program that closes descriptors, locks its memory, or may make no long files; and its settings.
#include "node/arena/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "../children.hpp"
#include "../ranks.hpp"
#include "node/arena/arena.hpp"
#include "node/collectives/collectives.hpp"

namespace stretto::node {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// The number of the descriptor that this process holds of its arena; -1: none.
int descriptor_of_arena() {
  for (const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(e.path(), gone).string().find("stretto-arena") != std::string::npos)
      return std::stoi(e.path().filename());
  }
  return -1;
}

// A line of /proc/self/status in MiB.
std::size_t mib_of(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field + ":", 0) == 0) return std::stoul(line.substr(field.size() + 1)) / 1024;
  return 0;
}

template <class Body>
void in_a_child(const Body& body) {
  all_hold_on(1, [&](Exchange&, Expect& expect) { body(expect); });
}

// The program closed the arena's descriptor, as daemons close all, and got its number for a file of its own.
TEST(Region, NeverTouchesAFileThatReusedItsDescriptor) {
  in_a_child([](Expect& expect) {
    void* kept = arena::allocate(kMiB, 64);
    const int number = descriptor_of_arena();
    expect(kept != nullptr && number >= 0, "there is an arena");
    const std::string name = testing::TempDir() + "stretto_region." + std::to_string(getpid());
    const int file = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    unlink(name.c_str());
    const std::string written(8 * kMiB, 'x');
    expect(write(file, written.data(), written.size()) == static_cast<ssize_t>(written.size()), "a file is written");
    expect(dup2(file, number) == number, "it gets the number");

    void* large = arena::allocate(100 * kMiB, 64);
    std::memset(large, 1, 100 * kMiB);
    const std::size_t before = mib_of("RssShmem");
    arena::release(large);
    expect(mib_of("RssShmem") + 90 < before, "free pages go back to the system");
    std::string found(written.size(), ' ');
    expect(pread(number, found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()) && found == written,
           "the file is as it was written");
    const arena::File offered = arena::file();
    expect(offered.fd < 0 && offered.which.inode != 0, "the file is not offered to peers");

    const pid_t child = fork();
    if (child == 0) _exit(fcntl(number, F_GETFD) == 0 && pread(number, found.data(), 1, 0) == 1 ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    expect(status == 0, "a forked child keeps the file's descriptor");
  });
}

TEST(Region, WithoutItsDescriptorIsUnusedAndItsOwnerNamed) {
  constexpr int ranks = 3;
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    arena::allocate(kMiB, 64);
    if (exchange.rank() == 1) close(descriptor_of_arena());
    std::unique_ptr<Collectives> c;
    expect(Collectives::create(exchange, {}, &c) == Status::ok, "collectives are made");
    if (!c) return;
    expect(!c->memory().usable(Access::arena), "arenas are not used");
    expect(c->memory().reason(Access::arena).find("rank 1 closed the descriptor") != std::string::npos,
           c->memory().reason(Access::arena).c_str());
    expect(c->barrier() == Status::ok, "collectives work");
  });
}

TEST(Region, TakesNoStandardDescriptor) {
  in_a_child([](Expect& expect) {
    const int said = dup(2);  // where failures are told
    for (const int standard : {0, 1, 2}) close(standard);
    const bool made = arena::allocate(kMiB, 64) != nullptr;
    const int number = descriptor_of_arena();
    const Descriptor memory = make_memory("stretto-test", kMiB);
    dup2(said, 2);
    expect(made && number > 2, "the arena's is above 2");
    expect(memory.get() > 2, "a segment's is above 2");
  });
}

TEST(Region, ObeysTheFileSizeLimit) {
  in_a_child([](Expect& expect) {
    const rlimit little{4 * kMiB, 4 * kMiB};
    expect(setrlimit(RLIMIT_FSIZE, &little) == 0, "the limit is set");
    expect(arena::allocate(kMiB, 64) != nullptr, "there is an arena");
    expect(arena::statistics().bound == 4 * kMiB, "of that length");
  });
}

TEST(Region, WithoutFilesArenaAndSegmentFailWithTheReason) {
  constexpr int ranks = 3;
  all_hold_on(ranks, [](Exchange& exchange, Expect& expect) {
    const rlimit none{4096, 4096};
    expect(setrlimit(RLIMIT_FSIZE, &none) == 0, "the limit is set");
    expect(arena::allocate(kMiB, 64) == nullptr, "there is no arena");
    expect(std::strstr(arena::remark(), "4096 bytes at most (RLIMIT_FSIZE)") != nullptr, arena::remark());
    std::unique_ptr<Collectives> c;
    expect(Collectives::create(exchange, {}, &c) == Status::out_of_memory, "there are no collectives");
    if (exchange.rank() == 0) expect(std::strstr(message(), "(RLIMIT_FSIZE)") != nullptr, "it is said why");
  });
}

TEST(Region, ThreadsShareMemoryWithoutFiles) {
  in_a_child([](Expect& expect) {
    const rlimit none{4096, 4096};
    expect(setrlimit(RLIMIT_FSIZE, &none) == 0, "the limit is set");
    std::array<Status, 3> made{};
    on_exchanges(3, [&](Exchange& exchange) {
      std::unique_ptr<Collectives> c;
      made[static_cast<std::size_t>(exchange.rank())] = agree(exchange, Collectives::create(exchange, {}, &c));
    });
    for (const Status s : made) expect(s == Status::ok, name(s));
  });
}

// True if a process may lock mappings of this size.
bool may_lock(std::size_t bytes) {
  const pid_t child = fork();
  if (child == 0)
    _exit(mlockall(MCL_FUTURE) == 0 &&
                  mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED
              ? 0
              : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

// A program that locks future mappings gets its own pages locked on use, and none of its peers'.
TEST(Region, MlockallLocksOnlyTheUsedPart) {
  constexpr int ranks = 3;
  if (!may_lock(ranks * 512 * kMiB)) GTEST_SKIP() << "this process may not lock so much (RLIMIT_MEMLOCK, CAP_IPC_LOCK)";
  const Setting size("STRETTO_ARENA_SIZE", "512M");
  Inherited memory(ranks);
  all_hold(on_processes(
      ranks, memory,
      [](Exchange& exchange) {
        Expect expect;
        expect(mlockall(MCL_FUTURE) == 0, "memory is locked");
        void* at = arena::allocate(kMiB, 64);
        expect(at != nullptr, "there is an arena");
        std::unique_ptr<Collectives> c;
        expect(Collectives::create(exchange, {}, &c) == Status::ok, "collectives are made");
        expect(c && c->memory().usable(Access::arena), "arenas are used");
        expect(mib_of("VmLck") < 64, "arenas are not locked whole");
        expect(mib_of("RssShmem") < 64, "and take no pages");
        void* large = arena::allocate(100 * kMiB, 64);
        std::memset(large, 1, 100 * kMiB);
        expect(mib_of("VmLck") >= 100, "what is used is locked");
        arena::release(large);
        expect(mib_of("RssShmem") < 64, "free pages go back to the system");
        std::fill_n(static_cast<float*>(at), 9000, 1.0f);
        std::vector<float> sum(9000);
        expect(c->allreduce(at, sum.data(), sum.size(), payload::Type::f32, {payload::Op::sum}) == Status::ok &&
                   sum.back() == ranks,
               "collectives work");
        expect(mlockall(MCL_CURRENT) == 0 && mib_of("RssShmem") < 400, "all of it locked now, it takes what was used");
        return expect.failures + (agree(exchange, Status::ok) == Status::ok ? 0 : 1);
      },
      kNothing));
}

TEST(Setting, IsANumberOfBytesOrRefusedByNameAndValue) {
  using arena::bytes_from, arena::parse_bytes;
  std::uint64_t n = 0;
  const auto is = [&](const char* text, std::uint64_t bytes) { return parse_bytes(text, &n) && n == bytes; };
  EXPECT_TRUE(is("0", 0) && is("65536", 65536) && is("64K", 65536) && is("64k", 65536) && is("2M", 2 * kMiB) &&
              is("3g", 3072 * kMiB) && is("1T", kMiB * kMiB) && is("18446744073709551615", ~std::uint64_t{0}));
  for (const char* text : {"", "half", "1.5G", "-1", "+1", " 1", "1 ", "K", "1KB", "1KK", "0x10", "1P", "64K,",
                           "18446744073709551616", "18014398509481984K", "16777216T"})
    EXPECT_FALSE(parse_bytes(text, &n)) << text;
  arena::SettingError none, one;
  const Setting good("STRETTO_ARENA_TEST", "64K");
  EXPECT_EQ(bytes_from("STRETTO_ARENA_TEST", 7, &none), 65536u);
  EXPECT_EQ(bytes_from("STRETTO_ARENA_NOT_SET", 7, &none), 7u);
  EXPECT_STREQ(none.text, "");
  const Setting bad("STRETTO_ARENA_TEST", "1.5G");
  EXPECT_EQ(bytes_from("STRETTO_ARENA_TEST", 7, &one), 7u);
  EXPECT_EQ(std::string(one.text).rfind("STRETTO_ARENA_TEST: '1.5G' is no number of bytes", 0), 0u) << one.text;
}

TEST(Setting, ThatIsUnreadableLeavesTheArenasDefaultAndARemark) {
  const Setting size("STRETTO_ARENA_SIZE", "half");
  in_a_child([](Expect& expect) {
    expect(arena::allocate(kMiB, 64) != nullptr, "there is an arena");
    expect(std::strstr(arena::remark(), "STRETTO_ARENA_SIZE: 'half'") != nullptr, arena::remark());
  });
}

}  // namespace
}  // namespace stretto::node
