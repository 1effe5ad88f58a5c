#pragma once

#include <sched.h>

#include <span>
#include <vector>

#include "base/status.hpp"

namespace stretto::topology {

// Linux's numbers; of fixed length, for exchange.
struct Cpus {
  cpu_set_t set[8192 / CPU_SETSIZE];
};

Cpus bound_to() noexcept;

// A CPU of a free core near `rank` of a host with ranks bound to `bound`; empty: none is free. No hardware thread of a
// free core has a rank; too few cores are shared evenly. Equal `bound` gives equal assignments. *serving: cores for all
// these ranks. internal: hwloc cannot describe the machine.
Status free_core(std::span<const Cpus> bound, std::size_t rank, std::vector<int>* cpus, int* serving);

}  // namespace stretto::topology
