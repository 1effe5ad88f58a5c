#include "topology/free_cores.hpp"

#include <cerrno>
#include <cstring>

#include "topology/locate.hpp"

namespace stretto::topology {

Cpus bound_to() noexcept {
  Cpus all{};
  sched_getaffinity(0, sizeof all.set, all.set);
  return all;
}

namespace {

Set bitmap_of(const Cpus& cpus) {
  Set set(hwloc_bitmap_alloc());
  if (set == nullptr) throw std::bad_alloc();
  for (unsigned cpu = 0; cpu < 8 * sizeof cpus.set; ++cpu)
    if (CPU_ISSET_S(cpu, sizeof cpus.set, cpus.set)) hwloc_bitmap_set(set.get(), cpu);
  return set;
}

struct Core {
  hwloc_obj_t object;
  int cpu;
  int ranks = 0;
};

// Levels up to the smallest object that holds both; fewer is nearer.
int height_over_both(hwloc_obj_t core, hwloc_const_bitmap_t rank) {
  int steps = 0;
  for (hwloc_obj_t o = core; o != nullptr; o = o->parent, ++steps)
    if (hwloc_bitmap_isincluded(rank, o->cpuset) != 0) return steps;
  return steps;
}

}  // namespace

std::vector<int> free_core_of(hwloc_topology_t machine, std::span<const Cpus> bound, std::size_t rank, int* serving) {
  std::vector<Set> ranks;
  const Set taken(hwloc_bitmap_alloc());
  if (taken == nullptr) throw std::bad_alloc();
  for (const Cpus& b : bound) {
    ranks.push_back(bitmap_of(b));
    hwloc_bitmap_or(taken.get(), taken.get(), ranks.back().get());
  }
  const hwloc_const_cpuset_t allowed = hwloc_topology_get_allowed_cpuset(machine);
  std::vector<Core> cores;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_CORE, o)) != nullptr;) {
    if (hwloc_bitmap_intersects(o->cpuset, taken.get()) != 0) continue;
    if (hwloc_bitmap_isincluded(o->cpuset, allowed) == 0) continue;
    cores.push_back({o, hwloc_bitmap_first(o->cpuset)});
  }
  *serving = static_cast<int>(std::min(cores.size(), ranks.size()));
  if (cores.empty()) return {};
  const auto most = static_cast<int>((ranks.size() + cores.size() - 1) / cores.size());
  Core* mine = nullptr;
  for (std::size_t r = 0; r <= rank; ++r) {
    mine = nullptr;
    int nearest = 0;
    for (Core& core : cores) {
      const int height = height_over_both(core.object, ranks[r].get());
      if (core.ranks == most || (mine != nullptr && nearest <= height)) continue;
      mine = &core;
      nearest = height;
    }
    ++mine->ranks;
  }
  return {mine->cpu};
}

Status free_core(std::span<const Cpus> bound, std::size_t rank, std::vector<int>* cpus, int* serving) {
  Machine machine;
  if (const Status s = describe(&machine); s != Status::ok) return s;
  *cpus = free_core_of(machine.get(), bound, rank, serving);
  return Status::ok;
}

}  // namespace stretto::topology
