#pragma once

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

// Dispatches a call to stretto or the MPI, and returns its result. `native` serves declined calls, and stretto's own
// calls of the MPI.
int perform(const WrappedCall& call, Native native) noexcept;

}  // namespace stretto::mpi
