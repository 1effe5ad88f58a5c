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

struct CallBuffers {
  PassedBuffers passed;
  Buffer given, taken;
  std::vector<std::size_t> counts;
};

// After a failure of this rank alone: ends the communicator, so that no rank takes the next call for this one. Keeps
// this thread's message.
void give_up(const Communicator& c, Status s) noexcept;

// `keeps`: equal calls are decided alike, so again() may serve them (mpi/calls/prepared.hpp). Functions here require
// that shape_of() returned null, and c.comm.
stretto_status serve(const WrappedCall& call, const Communicator& c, const Shape& shape, const stretto_options& options,
                     bool keeps);

// Any call except an allgatherv. The caller keeps `call_buffers` until the request is complete, then calls
// taken.put_back().
stretto_status serve_started(const WrappedCall& call, const Communicator& c, const Shape& shape,
                             const stretto_options& options, CallBuffers* call_buffers, stretto_request* request);

}  // namespace stretto::mpi
