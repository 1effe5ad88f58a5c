#include "placement.hpp"

#include <algorithm>
#include <stdexcept>

#include "topology/locate.hpp"

namespace stretto::measure {
namespace {

constexpr std::size_t kUnknownCache = std::size_t{32} << 20;

topology::Place place(hwloc_topology_t machine, int cpu) {
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  hwloc_bitmap_only(set, static_cast<unsigned>(cpu));
  const topology::Place place = topology::place_of(machine, set);
  hwloc_bitmap_free(set);
  return place;
}

bool same_core(const topology::Place& a, const topology::Place& b) { return a.core >= 0 && a.core == b.core; }

}  // namespace

Machine::Machine() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw std::runtime_error("hwloc has no memory to describe this machine");
  hwloc_.reset(raw);
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 || hwloc_topology_load(raw) != 0) {
    throw std::runtime_error("hwloc cannot describe this machine");
  }
}

int Machine::cores() const { return std::max(1, topology::cores_of(hwloc_.get())); }

std::size_t Machine::cache() const {
  std::size_t largest = 0;
  for (hwloc_obj_type_t level : {HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const hwloc_obj_t found = hwloc_get_obj_by_type(hwloc_.get(), level, 0);
    if (found != nullptr) largest = std::max<std::size_t>(largest, found->attr->cache.size);
  }
  return largest > 0 ? largest : kUnknownCache;
}

std::vector<int> Machine::cpus() const {
  std::vector<int> first, more;
  std::vector<std::int32_t> cores;
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(hwloc_.get());
  for (int cpu = hwloc_bitmap_first(allowed); cpu >= 0; cpu = hwloc_bitmap_next(allowed, cpu)) {
    const std::int32_t core = place(hwloc_.get(), cpu).core;
    const bool seen = core >= 0 && std::find(cores.begin(), cores.end(), core) != cores.end();
    (seen ? more : first).push_back(cpu);
    cores.push_back(core);
  }
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

std::vector<Placement> Machine::placements() const {
  std::vector<Placement> found;
  const std::vector<int> all = cpus();
  if (all.size() < 2) return found;
  const topology::Place here = place(hwloc_.get(), all[0]);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const topology::Place there = place(hwloc_.get(), all[i]);
    const topology::Distance distance = topology::distance(here, there);
    const std::string name = same_core(here, there) ? "core" : topology::name(distance);
    const bool known = std::any_of(found.begin(), found.end(), [&](const Placement& p) { return p.name == name; });
    if (!known) found.push_back({name, distance, {all[0], all[i]}});
  }
  const auto closeness = [](const Placement& p) { return p.name == "core" ? -1 : static_cast<int>(p.distance); };
  std::sort(found.begin(), found.end(),
            [&](const Placement& a, const Placement& b) { return closeness(a) < closeness(b); });
  return found;
}

Bound::Bound(const Machine& machine, int cpu) : hwloc_(machine.hwloc_.get()), before_(hwloc_bitmap_alloc()) {
  if (cpu < 0 || hwloc_get_cpubind(hwloc_, before_.get(), HWLOC_CPUBIND_THREAD) != 0) {
    before_.reset();
    return;
  }
  hwloc_bitmap_t one = hwloc_bitmap_alloc();
  hwloc_bitmap_only(one, static_cast<unsigned>(cpu));
  if (hwloc_set_cpubind(hwloc_, one, HWLOC_CPUBIND_THREAD) != 0) before_.reset();
  hwloc_bitmap_free(one);
}

Bound::~Bound() {
  if (before_) hwloc_set_cpubind(hwloc_, before_.get(), HWLOC_CPUBIND_THREAD);
}

}  // namespace stretto::measure
