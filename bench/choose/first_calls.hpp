// Duration of the first calls of a communicator, relative to the fastest forced schedule.
#pragma once

#include <string>

#include "bench/choose/calls.hpp"
#include "bench/rows.hpp"

namespace stretto::bench {

struct FirstCallsOptions {
  std::string place;           // in the case
  std::uint64_t least = 2048;  // bytes of the shortest and longest vector; Calls must hold them
  std::uint64_t most = std::uint64_t{64} << 20U;
  int factor = 8;        // ratio of successive lengths
  double bound = 1e-4;   // absolute
  double seconds = 3.0;  // per sequence of calls: longer calls have shorter sequences
  int repeats = 3;       // of each sequence; medians are reported
  bool ucx = false;      // communicators over UCX, else over the MPI
};

// Measures allreduce, exact and within a bound. Each sequence of up to 1000 calls has its own communicator, and an MPI
// barrier before each call. Writes a row for each length and number of first calls (rank 0; `rows` is null elsewhere).
// Throws if a call fails. Collective.
void measure_first_calls(Calls& calls, const FirstCallsOptions& options, Writer* rows);

}  // namespace stretto::bench
