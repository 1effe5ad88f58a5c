// Calls of the MPI as calls of the C interface.
#pragma once

#include "mpi/calls/buffers.hpp"
#include "mpi/calls/shape.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Precondition: shape_of() gave no reason against it, and c.comm is there.
// *passed: of calls without counts by rank.
stretto_status serve(const WrappedCall& call, const Communicator& c, const Shape& shape, const stretto_options& options,
                     Passed* passed);

}  // namespace stretto::mpi
