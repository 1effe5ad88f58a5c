// Where a process is in a machine that hwloc describes: the part of locate() that needs no machine of its own.
#pragma once

#include <hwloc.h>

#include "topology/topology.hpp"

namespace stretto::topology {

// The place of a process that is bound to `bound` (null: not bound) in this machine; host is 0.
Place place_of(hwloc_topology_t machine, hwloc_const_cpuset_t bound) noexcept;

// Hardware threads that may be used.
int cores_of(hwloc_topology_t machine) noexcept;

}  // namespace stretto::topology
