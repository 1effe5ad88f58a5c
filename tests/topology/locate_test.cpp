// Places in hwloc's synthetic machines, and in the test's machine.
#include "topology/locate.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace stretto::topology {
namespace {

class Synthetic {
 public:
  explicit Synthetic(const char* description) {
    EXPECT_EQ(hwloc_topology_init(&machine_), 0);
    EXPECT_EQ(hwloc_topology_set_synthetic(machine_, description), 0) << description;
    EXPECT_EQ(hwloc_topology_set_flags(machine_, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED), 0);
    EXPECT_EQ(hwloc_topology_load(machine_), 0) << description;
  }
  ~Synthetic() { hwloc_topology_destroy(machine_); }
  Synthetic(const Synthetic&) = delete;
  Synthetic& operator=(const Synthetic&) = delete;

  Place bound_to(std::initializer_list<unsigned> threads) const {
    const hwloc_bitmap_t set = hwloc_bitmap_alloc();
    for (const unsigned t : threads) hwloc_bitmap_set(set, t);
    const Place p = place_of(machine_, set);
    hwloc_bitmap_free(set);
    return p;
  }
  Place unbound() const { return place_of(machine_, nullptr); }
  int cores() const { return cores_of(machine_); }
  void allow_only(unsigned first, unsigned last) {
    const hwloc_bitmap_t set = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(set, first, static_cast<int>(last));
    EXPECT_EQ(hwloc_topology_allow(machine_, set, nullptr, HWLOC_ALLOW_FLAG_CUSTOM), 0);
    hwloc_bitmap_free(set);
  }

 private:
  hwloc_topology_t machine_{};
};

// Threads 0-31: sockets of 16, caches of 8, cores of 2; one NUMA node.
const char* const kTwoSockets = "pack:2 l3:2 core:4 pu:2";

TEST(Locate, AProcessOnOneThreadOrCoreIsInItsCoreCacheAndSocket) {
  const Synthetic machine(kTwoSockets);
  EXPECT_EQ(machine.bound_to({0}), (Place{0, 0, 0, 0, 0}));
  EXPECT_EQ(machine.bound_to({3}), (Place{0, 0, 0, 2, 0}));
  EXPECT_EQ(machine.bound_to({26, 27}), (Place{0, 16, 24, 26, 0}));
}

TEST(Locate, AProcessOnSeveralCoresIsInWhatHoldsThemAll) {
  const Synthetic machine(kTwoSockets);
  EXPECT_EQ(machine.bound_to({8, 10}), (Place{0, 0, 8, -1, 0}));
  EXPECT_EQ(machine.bound_to({16, 24}), (Place{0, 16, -1, -1, 0}));
  EXPECT_EQ(machine.bound_to({0, 31}), (Place{0, -1, -1, -1, 0}));
  EXPECT_EQ(machine.unbound(), (Place{0, -1, -1, -1, 0}));
}

TEST(Locate, AProcessThatIsNotBoundIsInTheOnlySocketAndCache) {
  EXPECT_EQ(Synthetic("pack:1 l3:1 core:8 pu:2").unbound(), (Place{0, 0, 0, -1, 0}));
  EXPECT_EQ(Synthetic("pack:1 l3:2 core:4 pu:1").unbound(), (Place{0, 0, -1, -1, 0}));
  EXPECT_EQ(Synthetic("pack:1 l3:1 core:1 pu:2").unbound(), (Place{0, 0, 0, 0, 0}));
}

TEST(Locate, TheLastLevelOfCacheIsTheOutermostOfTheMachine) {
  EXPECT_EQ(Synthetic("pack:2 l2:2 l1:2 core:1 pu:1").bound_to({3}), (Place{0, 0, 2, 3, 0}));
  EXPECT_EQ(Synthetic("pack:2 l3:1 l2:2 core:2 pu:1").bound_to({7}), (Place{0, 4, 4, 7, 0}));
  EXPECT_EQ(Synthetic("pack:2 core:2 pu:1").bound_to({3}), (Place{0, 2, -1, 3, 0}));
}

TEST(Locate, NumaNodesAreInsideSocketsOrAroundThem) {
  const Synthetic quarters("pack:2 numa:4 l3:3 core:2 pu:1");  // 6 threads a node
  EXPECT_EQ(quarters.bound_to({7}), (Place{0, 0, 6, 7, 6}));
  EXPECT_EQ(quarters.bound_to({6, 11}), (Place{0, 0, -1, -1, 6}));
  EXPECT_EQ(quarters.bound_to({5, 6}), (Place{0, 0, -1, -1, -1}));
  EXPECT_EQ(Synthetic("numa:2 pack:2 core:2 pu:1").bound_to({3}).numa, 0);
}

TEST(Locate, ThreadsThatTheMachineDoesNotHaveAreNowhere) {
  EXPECT_EQ(Synthetic(kTwoSockets).bound_to({40}), Place{});
  EXPECT_EQ(Synthetic(kTwoSockets).bound_to({3, 40}), (Place{0, 0, 0, 2, 0}));
}

TEST(Locate, PlacesOfTwoProcessesGiveTheirDistance) {
  const Synthetic machine(kTwoSockets);
  const Place here = machine.bound_to({0});
  EXPECT_EQ(distance(here, machine.bound_to({6, 7})), Distance::cache);
  EXPECT_EQ(distance(here, machine.bound_to({9})), Distance::socket);
  EXPECT_EQ(distance(here, machine.bound_to({16})), Distance::node);
  EXPECT_EQ(distance(here, machine.bound_to({8, 9, 10, 11})), Distance::socket);
}

TEST(Locate, AContainerThatSeesPartOfAHostNumbersItAsTheHostDoes) {
  Synthetic machine(kTwoSockets);
  machine.allow_only(20, 31);
  EXPECT_EQ(machine.bound_to({21}), (Place{0, 16, 16, 20, 0}));
  EXPECT_EQ(machine.unbound(), (Place{0, 16, -1, -1, 0}));
  EXPECT_EQ(machine.cores(), 12);
}

TEST(Locate, ThisProcessIsSomewhereOnThisHost) {
  Place here{.host = 77};
  int cores = 0;
  ASSERT_EQ(locate(&here, &cores), Status::ok) << message();
  EXPECT_EQ(here.host, 0);
  EXPECT_GE(cores, 1);
  Place again;
  int cores_again = 0;
  ASSERT_EQ(locate(&again, &cores_again), Status::ok) << message();
  EXPECT_EQ(cores, cores_again);
}

}  // namespace
}  // namespace stretto::topology
