// Calls of the MPI as calls of the C interface.
#pragma once

#include "mpi/buffers.hpp"
#include "mpi/call.hpp"
#include "mpi/communicators.hpp"
#include "mpi/shape.hpp"

namespace stretto::mpi {

// Precondition: shape_of() gave no reason against it, and c.comm is there.
// *passed: of calls without counts by rank.
stretto_status serve(const Call& call, const Communicator& c, const Shape& shape, const stretto_options& options,
                     Passed* passed);

}  // namespace stretto::mpi
