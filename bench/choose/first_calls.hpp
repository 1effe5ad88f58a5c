// Duration of the first calls of a communicator, relative to the fastest forced path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/choose/calls.hpp"
#include "timing/rows.hpp"

namespace stretto::bench {

struct FirstCallsOptions {
  std::string place;                     // in the case
  std::string profile = "built-in";      // likewise
  std::vector<std::string> only{};       // collectives, by name; all
  std::vector<std::uint64_t> lengths{};  // bytes of the vectors; Calls must hold them
  double bound = 1e-4;                   // absolute
  double seconds = 1.0;  // that a cell takes, about: longer calls have shorter sequences and fewer turns
  bool ucx = false;      // communicators over UCX, else over the MPI
};

// Measures collectives, exact and within a bound. Each sequence of up to 1000 calls has its own communicator, and an
// MPI barrier before each call. The fastest forced path is found first, for each number of calls by its median over
// turns. New turns then compare three paths: the default, the fastest forced path, and a second entry of the latter as
// the control. Ratios are taken turn by turn. Writes a row for each cell and number of first calls (rank 0; `rows` is
// null elsewhere). Throws if a call fails. Collective.
void measure_first_calls(Calls& calls, const FirstCallsOptions& options, timing::Writer* rows);

}  // namespace stretto::bench
