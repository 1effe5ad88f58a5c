// Dispatches a call to stretto's collective or to the MPI's.
#pragma once

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

// Returns the MPI function's result. `native` serves calls that stretto declines, and its own calls of the MPI.
int perform(const WrappedCall& call, Native native) noexcept;

}  // namespace stretto::mpi
