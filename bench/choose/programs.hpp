// What programs do with collectives, by the MPI's functions and by stretto's, in turns: rows and columns of a grid,
// communicators that live for a few calls, and calls of different shapes in alternation.
#pragma once

#include <string>

#include "bench/choose/calls.hpp"
#include "bench/rows.hpp"
#include "stretto/stretto_mpi.h"

namespace stretto::bench {

struct ProgramOptions {
  std::string place;             // in the case
  double seconds = 1.0;          // for all contestants of a case
  std::uint64_t most = 1 << 16;  // bytes of the longest vector; Calls must hold them
};

// Measures each program at a few lengths, and writes a row each (rank 0; `rows` is null elsewhere). `world` is a
// communicator of all ranks. Calls have check = 0. Throws where a call fails. Collective.
void measure_programs(Calls& calls, stretto_comm world, const ProgramOptions& options, Writer* rows);

}  // namespace stretto::bench
