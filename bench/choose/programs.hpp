// Patterns of collectives in programs, by the MPI's functions and by stretto's, alternating: rows and columns of a
// grid, short-lived communicators, and calls of different shapes.
#pragma once

#include <string>

#include "bench/choose/calls.hpp"
#include "stretto/stretto_mpi.h"
#include "timing/rows.hpp"

namespace stretto::bench {

struct ProgramOptions {
  std::string place;             // in the case
  double seconds = 1.0;          // total over the contestants of a case
  std::uint64_t most = 1 << 16;  // bytes of the longest vector; Calls must hold them
};

// Measures each program at a few lengths, and writes a row each (rank 0; `rows` is null elsewhere). `world` is a
// communicator of all ranks. Calls have check = 0. Throws if a call fails. Collective.
void measure_programs(Calls& calls, stretto_comm world, const ProgramOptions& options, timing::Writer* rows);

}  // namespace stretto::bench
