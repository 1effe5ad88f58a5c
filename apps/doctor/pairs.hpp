// What each pair of ranks of a host can do to see each other's memory, found out by doing it, and why it cannot.
#pragma once

#include <mpi.h>

#include "facts.hpp"

namespace stretto::doctor {

// Collective over the ranks of a host. Two ways, tried by every rank on every other:
//   kernel       read 8 random bytes of the other with process_vm_readv
//   descriptor   open its shared memory by /proc/PID/fd (where that fails, SCM_RIGHTS serves)
// On rank 0: [{"way", "from", "to", "why"}], the pairs that cannot, by ranks of `comm`; at most 64, and their whole number. Elsewhere
// null.
Json failing_pairs(MPI_Comm comm);

}  // namespace stretto::doctor
