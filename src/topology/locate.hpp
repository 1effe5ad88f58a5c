#pragma once

#include <hwloc.h>

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "topology/free_cores.hpp"
#include "topology/topology.hpp"

namespace stretto::topology {

struct Destroy {
  void operator()(hwloc_topology_t t) const noexcept { hwloc_topology_destroy(t); }
};
struct Free {
  void operator()(hwloc_bitmap_t b) const noexcept { hwloc_bitmap_free(b); }
};
using Machine = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;
using Set = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, Free>;

// Includes CPUs that a container may not use. internal: hwloc failed.
Status describe(Machine* machine) noexcept;

// `bound`: null if not bound. host is 0.
Place place_of(hwloc_topology_t machine, hwloc_const_cpuset_t bound) noexcept;

int cores_of(hwloc_topology_t machine) noexcept;

std::vector<int> free_core_of(hwloc_topology_t machine, std::span<const Cpus> bound, std::size_t rank, int* serving);

}  // namespace stretto::topology
