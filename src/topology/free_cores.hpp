// Cores that no rank of a host is bound to, and which of them serve whom.
#pragma once

#include <sched.h>

#include <span>
#include <vector>

#include "base/status.hpp"

namespace stretto::topology {

// CPUs by Linux's numbers; the same length everywhere, so that ranks can exchange it.
struct Cpus {
  cpu_set_t set[8192 / CPU_SETSIZE];
};

// The CPUs that the calling thread is bound to.
Cpus bound_to() noexcept;

// For the rank `rank` of a host, whose ranks are bound to `bound`: a CPU of a free core near it, in the list; empty: every core that the job may use has a
// rank, as where ranks are not bound. With fewer free cores than ranks these share them, as evenly as can be. A core with two hardware
// threads is free where neither has a rank. From equal `bound` all ranks compute the same assignment. internal where hwloc cannot describe
// the machine; throws std::bad_alloc. *serving: cores that serve all these ranks.
Status free_core(std::span<const Cpus> bound, std::size_t rank, std::vector<int>* cpus, int* serving);

}  // namespace stretto::topology
