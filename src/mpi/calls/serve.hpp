// Calls of the MPI as calls of the C interface.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.hpp"
#include "mpi/calls/buffers.hpp"
#include "mpi/calls/packing.hpp"
#include "mpi/calls/shape.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"
#include "stretto/stretto_nonblocking.h"

namespace stretto::mpi {

// Both sides of a call without counts by rank, as the C interface takes them: where the program has them, or copies.
struct Sides {
  Passed passed;
  Buffer given, taken;
  std::vector<std::size_t> counts;  // of a reduce-scatter with counts
};

// After a failure of this rank alone: ends the communicator, so that no rank takes the next call for this one. Leaves
// this thread's message.
void give_up(const Communicator& c, Status s) noexcept;

// Precondition of all: shape_of() gave no reason against the call, and c.comm is there.
// Blocks. *passed: of calls without counts by rank.
stretto_status serve(const WrappedCall& call, const Communicator& c, const Shape& shape, const stretto_options& options,
                     Passed* passed);

// Starts. All but an allgatherv, whose blocks may differ. `sides` stays until the request is complete; then its `taken` is put back.
stretto_status serve_started(const WrappedCall& call, const Communicator& c, const Shape& shape,
                             const stretto_options& options, Sides* sides, stretto_request* request);

}  // namespace stretto::mpi
