#pragma once

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

// `native` serves declined calls, and stretto's own calls of the MPI.
int perform(const WrappedCall& call, Native native) noexcept;

}  // namespace stretto::mpi
