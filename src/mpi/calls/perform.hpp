// What becomes of a call: stretto's collective, or the MPI's own.
#pragma once

#include "mpi/calls/shape.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/runtime.hpp"

namespace stretto::mpi {

// Returns what the MPI function returns. Calls that stretto does not serve, and those that it makes itself, are `native`.
int perform(const WrappedCall& call, Native native) noexcept;

// The reason why stretto does not start such a call, nonblocking or persistent, or null. Fills *shape.
const char* unless_started(const WrappedCall& call, Communicator& c, const Runtime& runtime, Shape* shape);

}  // namespace stretto::mpi
