// A process is in the socket, cache or core that holds all its allowed CPUs; without binding, in an only socket. CPUs
// that a container may not use are included: all containers of a host number alike.
#include "topology/locate.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stretto::topology {
namespace {

std::int32_t number(hwloc_obj_t object) noexcept { return hwloc_bitmap_first(object->complete_cpuset); }

}  // namespace

Place place_of(hwloc_topology_t machine, hwloc_const_cpuset_t bound) noexcept {
  Place place;
  const Set set(hwloc_bitmap_dup(bound != nullptr ? bound : hwloc_topology_get_allowed_cpuset(machine)));
  if (set == nullptr) return place;
  hwloc_bitmap_and(set.get(), set.get(), hwloc_topology_get_topology_cpuset(machine));
  if (hwloc_bitmap_iszero(set.get())) return place;
  // Outwards from the smallest object with the whole set; the last data cache is the last level.
  for (hwloc_obj_t o = hwloc_get_obj_covering_cpuset(machine, set.get()); o != nullptr; o = o->parent) {
    if (o->type == HWLOC_OBJ_CORE) place.core = number(o);
    if (hwloc_obj_type_is_dcache(o->type)) place.cache = number(o);
    if (o->type == HWLOC_OBJ_PACKAGE) place.socket = number(o);
  }
  // NUMA nodes hang beside the tree. Equal cores (fast and large memory) are one place.
  for (hwloc_obj_t n = nullptr; (n = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, n)) != nullptr;)
    if (hwloc_bitmap_isincluded(set.get(), n->cpuset) != 0) {
      place.numa = number(n);
      break;
    }
  return place;
}

int cores_of(hwloc_topology_t machine) noexcept {
  return hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(machine));
}

Status describe(Machine* machine) noexcept {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Status::out_of_memory, "no memory to describe this machine");
  machine->reset(raw);
  // hwloc's x86 discovery would move this thread over all processors, and all ranks of the host to the last.
  if (access("/sys/devices/system/cpu/cpu0/cache", F_OK) == 0)
    static_cast<void>(hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86"));
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 || hwloc_topology_load(raw) != 0)
    return fail(Status::internal, "hwloc cannot describe this machine: {}", std::strerror(errno));
  return Status::ok;
}

Status locate(Place* here, int* cores) noexcept {
  Machine machine;
  if (const Status s = describe(&machine); s != Status::ok) return s;
  const Set bound(hwloc_bitmap_alloc());
  if (bound == nullptr) return fail(Status::out_of_memory, "no memory to describe this machine");
  const bool known = hwloc_get_cpubind(machine.get(), bound.get(), HWLOC_CPUBIND_PROCESS) == 0;
  *here = place_of(machine.get(), known ? bound.get() : nullptr);
  *cores = cores_of(machine.get());
  return Status::ok;
}

}  // namespace stretto::topology
