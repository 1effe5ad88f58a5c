// How long the first calls of a communicator take, over the fastest schedule that is forced.
#pragma once

#include <string>

#include "bench/choose/calls.hpp"
#include "bench/rows.hpp"

namespace stretto::bench {

struct FirstCallsOptions {
  std::string place;           // in the case
  std::uint64_t least = 2048;  // bytes of the shortest vector, and of the longest; Calls must hold them
  std::uint64_t most = std::uint64_t{64} << 20U;
  int factor = 8;        // between lengths
  double bound = 1e-4;   // absolute
  double seconds = 3.0;  // of a sequence of calls: longer calls have shorter sequences
  int repeats = 3;       // of each sequence; medians count
  bool ucx = false;      // communicators over UCX, else over the MPI
};

// Measures allreduce, exact and within a bound. Each sequence of up to 1000 calls has a communicator of its own, and a
// barrier of the MPI before each call. Writes a row for each length and each number of first calls (rank 0; `rows` is
// null elsewhere). Throws where a call fails. Collective.
void measure_first_calls(Calls& calls, const FirstCallsOptions& options, Writer* rows);

}  // namespace stretto::bench
