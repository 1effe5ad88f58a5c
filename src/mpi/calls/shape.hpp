// What a call is to stretto: whether it has such a collective, and how much it moves. It rests on what all ranks of a correct program
// agree on, and on nothing else, so that all ranks take the same way.
#pragma once

#include <cstdint>
#include <optional>

#include "call/call.hpp"
#include "mpi/calls/types.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

struct Shape {
  const Element* element =
      nullptr;  // of reductions; what only moves travels as bytes, whatever type each rank gives it
  stretto_op op = STRETTO_SUM;
  std::int64_t bytes = 0;  // of one rank's vector; of one block where there are blocks; of all where they differ
  bool floating_sum = false;
};

// Nothing: stretto has no such collective.
std::optional<schedule::Collective> collective_of(Function f) noexcept;

// The reason why stretto leaves the call to the MPI, or null.
const char* shape_of(const WrappedCall& call, const Communicator& c, Shape* shape) noexcept;

}  // namespace stretto::mpi
