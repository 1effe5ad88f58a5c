// What becomes of a call: stretto's collective, or the MPI's own.
#pragma once

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

// Returns what the MPI function returns. Calls that stretto does not serve, and those that it makes itself, are `native`.
int perform(const WrappedCall& call, Native native) noexcept;

}  // namespace stretto::mpi
