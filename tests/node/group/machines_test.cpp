// Hierarchies of other machines: each file of machines/ has its reason, and a description for hwloc. Ranks are bound to
// cores like launchers bind them, and the collectives run over the resulting hierarchy, on threads of this machine.
#include <hwloc.h>

#include <fstream>
#include <string>

#include "../cases.hpp"
#include "../ranks.hpp"
#include "topology/locate.hpp"

namespace stretto::node {
namespace {

std::string description_of(const std::string& name) {
  std::ifstream file(std::string(MACHINES "/") + name + ".txt");
  std::string why, description;
  EXPECT_TRUE(std::getline(file, why) && std::getline(file, description)) << name;
  return description;
}

// Ranks on the first `run` of every `stride` cores.
std::vector<topology::Place> places_in(const std::string& machine, int stride = 1, int run = 1) {
  std::vector<topology::Place> places;
  hwloc_topology_t t = nullptr;
  const bool loaded = hwloc_topology_init(&t) == 0 &&
                      hwloc_topology_set_synthetic(t, description_of(machine).c_str()) == 0 &&
                      hwloc_topology_load(t) == 0;
  EXPECT_TRUE(loaded) << machine;
  const int cores = loaded ? hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE) : 0;
  for (int c = 0; c < cores; ++c) {
    if (c % stride >= run) continue;
    places.push_back(topology::place_of(t, hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, static_cast<unsigned>(c))->cpuset));
  }
  hwloc_topology_destroy(t);
  return places;
}

Hierarchy hierarchy_of(const std::vector<topology::Place>& places) {
  Hierarchy h;
  EXPECT_EQ(Hierarchy::from_places(places, "l3,numa,socket", &h), Status::ok) << message();
  return h;
}

void run(const Hierarchy& h) {
  Options options;
  options.hierarchy = h;
  options.group.slot = 16384;
  options.direct = 4096;
  on_exchanges(h.ranks(), [&](Exchange& exchange) {
    std::unique_ptr<Collectives> c;
    ASSERT_EQ(Collectives::create(exchange, options, &c), Status::ok) << message();
    cases::Cases cases(*c, {});
    cases.expect_rank_order(h.levels() == 1);
    for (const std::size_t n : {1, 700, 5003}) cases.all(n);
    EXPECT_EQ(cases.failures(), 0);
    ASSERT_EQ(agree(exchange, Status::ok), Status::ok);
  });
}

}  // namespace

TEST(Machines, RomesCachesAndSocketsAreSeparateLevels) {
  const Hierarchy all = hierarchy_of(places_in("two_rome"));
  ASSERT_EQ(all.ranks(), 128);
  ASSERT_EQ(all.levels(), 3);
  EXPECT_EQ(all.group(1, 127).size(), 4u);
  EXPECT_EQ(all.group(2, 127).size(), 64u);
  EXPECT_EQ(all.children(2, 0).size(), 16u);
  EXPECT_EQ(all.children(3, 0).size(), 2u);
}

TEST(Machines, CacheOfAWholeSocketAddsNoLevel) {
  const Hierarchy all = hierarchy_of(places_in("quad_xeon"));
  ASSERT_EQ(all.levels(), 2);
  EXPECT_EQ(all.group(1, 0).size(), 28u);
  EXPECT_EQ(all.children(2, 0).size(), 4u);
}

TEST(Machines, CachesOfSingleCoresAreNoLevel) {
  const Hierarchy all = hierarchy_of(places_in("altra"));
  ASSERT_EQ(all.levels(), 2);
  EXPECT_EQ(all.group(1, 0).size(), 80u);
}

TEST(Machines, ThreeCachesPerQuarterSocketNest) {
  const Hierarchy all = hierarchy_of(places_in("epyc_quarters"));
  ASSERT_EQ(all.levels(), 4);
  EXPECT_EQ(all.group(1, 0).size(), 8u);
  EXPECT_EQ(all.group(2, 0).size(), 24u);
  EXPECT_EQ(all.group(3, 0).size(), 96u);
  EXPECT_EQ(all.children(3, 191).size(), 4u);
}

// Numbers of ranks that are no powers of two, in groups of unequal sizes.
TEST(Machines, CollectivesKeepTheirPromiseOnEach) {
  struct {
    const char* machine;
    int stride, run, levels;
  } const cases[] = {{"two_rome", 24, 3, 3},      {"quad_xeon", 11, 1, 2},     {"altra", 15, 1, 2},
                     {"epyc_quarters", 36, 3, 3}, {"epyc_quarters", 13, 1, 3}, {"epyc_quarters", 24, 2, 3}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.machine);
    const Hierarchy h = hierarchy_of(places_in(c.machine, c.stride, c.run));
    EXPECT_EQ(h.levels(), c.levels);
    EXPECT_LE(h.ranks(), 20);
    run(h);
  }
}

// A case without a machine: six levels, given explicitly.
TEST(Machines, SixLevelsOfUnevenGroupsWork) {
  std::vector<std::vector<int>> labels;
  std::vector<int> level{0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8};
  for (int l = 0; l < 5; ++l) {
    labels.push_back(level);
    for (int& g : level) g = l == 0 ? (g * 5 + 4) / 6 : l == 1 ? g * 2 / 3 : l == 2 ? (g + 1) / 2 : g / 2;
  }
  Hierarchy h;
  ASSERT_EQ(Hierarchy::from_labels(labels, 13, &h), Status::ok) << message();
  EXPECT_GE(h.levels(), 5);
  run(h);
}

}  // namespace stretto::node
