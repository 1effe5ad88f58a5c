#include "topology/free_cores.hpp"

#include <gtest/gtest.h>

#include <set>

#include "topology/locate.hpp"

namespace stretto::topology {
namespace {

Cpus on(std::initializer_list<int> cpus) {
  Cpus all{};
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), sizeof all.set, all.set);
  return all;
}

class MadeUp {
 public:
  explicit MadeUp(const char* description) {
    hwloc_topology_t raw = nullptr;
    hwloc_topology_init(&raw);
    machine_.reset(raw);
    EXPECT_EQ(hwloc_topology_set_synthetic(raw, description), 0) << description;
    EXPECT_EQ(hwloc_topology_load(raw), 0);
  }
  // The core of each rank, -1: none.
  std::vector<int> cores(const std::vector<Cpus>& bound) const {
    std::vector<int> all;
    int serving = -1;
    for (std::size_t r = 0; r < bound.size(); ++r) {
      const std::vector<int> cpus = free_core_of(machine_.get(), bound, r, &serving);
      EXPECT_LE(cpus.size(), 1u);
      all.push_back(cpus.empty() ? -1 : cpus[0]);
    }
    const std::set<int> distinct(all.begin(), all.end());
    EXPECT_EQ(serving, distinct.contains(-1) ? 0 : static_cast<int>(distinct.size()));
    return all;
  }

 private:
  Machine machine_;
};

using Cores = std::vector<int>;

TEST(FreeCores, OneForEachRankNearIt) {
  const MadeUp machine("package:2 core:4 pu:1");
  EXPECT_EQ(machine.cores({on({0}), on({4}), on({1}), on({5})}), (Cores{2, 6, 3, 7}));
}

TEST(FreeCores, SharedEvenlyWhereThereAreFewer) {
  const MadeUp machine("package:2 core:4 pu:1");
  EXPECT_EQ(machine.cores({on({0}), on({1}), on({2}), on({4}), on({5}), on({6})}), (Cores{3, 3, 3, 7, 7, 7}));
  EXPECT_EQ(machine.cores({on({0}), on({1}), on({2}), on({3}), on({4}), on({5}), on({6})}), (Cores(7, 7)));
}

// The only one near is taken by another: a far one is better than half of one.
TEST(FreeCores, AFarOneBeforeASharedOne) {
  const MadeUp machine("package:2 core:4 pu:1");
  EXPECT_EQ(machine.cores({on({0}), on({1}), on({2})}), (Cores{3, 4, 5}));
}

TEST(FreeCores, ACoreWithOneBusyThreadIsNotFree) {
  const MadeUp machine("package:1 core:3 pu:2");
  EXPECT_EQ(machine.cores({on({0}), on({3})}), (Cores{4, 4}));
}

TEST(FreeCores, NoneWhereRanksAreNotBoundOrHaveAll) {
  const MadeUp machine("package:1 core:2 pu:1");
  EXPECT_EQ(machine.cores({on({0, 1}), on({0, 1})}), (Cores{-1, -1}));
  EXPECT_EQ(machine.cores({on({0}), on({1})}), (Cores{-1, -1}));
}

TEST(FreeCores, OfThisMachine) {
  std::vector<int> cpus{-1};
  int serving = -1;
  const std::vector<Cpus> bound{bound_to()};
  ASSERT_EQ(free_core(bound, 0, &cpus, &serving), Status::ok) << message();
  for (const int cpu : cpus)
    EXPECT_FALSE(CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof bound[0].set, bound[0].set));
}

}  // namespace
}  // namespace stretto::topology
