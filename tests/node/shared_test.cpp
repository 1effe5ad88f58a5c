// What groups and memories leave of a process's descriptors and addresses to its program.
#include "node/shared.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "node/arena/arena.hpp"
#include "node/collectives.hpp"
#include "processes.hpp"

namespace stretto::node {
namespace {

// Descriptors of this process that watch another.
int watches() {
  int n = 0;
  for (const auto& e : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the one that reads the directory
    n += std::filesystem::read_symlink(e.path(), gone).string().find("[pidfd]") != std::string::npos;
  }
  return n;
}

// Arenas that are mapped here, this process's own among them.
int arenas() {
  int n = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) n += line.find("stretto-arena") != std::string::npos;
  return n;
}

// A child has no gtest to report to: it says what is not so on standard error, and exits with how often.
struct Expect {
  int failures = 0;
  void operator()(bool holds, const char* what) {
    if (holds) return;
    ++failures;
    std::fprintf(stderr, "process %d: not so: %s (%s)\n", getpid(), what, message());
  }
};

void all_hold(const std::vector<int>& ends) {
  for (std::size_t r = 0; r < ends.size(); ++r)
    EXPECT_TRUE(WIFEXITED(ends[r]) && WEXITSTATUS(ends[r]) == 0) << "rank " << r << " ended with " << ends[r];
}

constexpr auto nothing = [](const std::vector<pid_t>&) {};

TEST(Shared, a_peer_takes_one_descriptor_however_many_groups_it_is_in) {
  constexpr int ranks = 3;
  Inherited memory(ranks);
  all_hold(on_processes(
      ranks, memory,
      [](Exchange& exchange) {
        Expect expect;
        std::vector<std::unique_ptr<Group>> groups(5);
        for (auto& g : groups) expect(Group::create(exchange, {.slot = 4096}, &g) == Status::ok, "a group is made");
        expect(watches() == ranks - 1, "five groups take a descriptor a peer");
        groups.resize(1);
        expect(watches() == ranks - 1, "the last group keeps them");
        groups.clear();
        expect(watches() == 0, "no group keeps none");
        return expect.failures;
      },
      nothing));
}

TEST(Shared, watching_takes_a_quarter_of_the_descriptors_at_most) {
  constexpr int ranks = 9;
  Inherited memory(ranks);
  all_hold(on_processes(
      ranks, memory,
      [](Exchange& exchange) {
        Expect expect;
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
        return expect.failures;
      },
      nothing));
}

TEST(Shared, a_forked_child_finds_nothing_of_its_parents) {
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

}  // namespace
}  // namespace stretto::node
