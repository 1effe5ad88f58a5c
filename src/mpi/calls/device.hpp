// Memory of GPUs. Calls with it are the MPI's, but for those that something asks of stretto.
#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// The last that this rank may hand over. A program may hand device memory only to an MPI that knows devices, and such an MPI has loaded
// CUDA's driver by the end of MPI_Init; so the answer can be kept. Precondition of all: c.comm is there.
Memory memory_in_reach(const Communicator& c) noexcept;

// Shorter calls where a rank has the driver are left to the MPI: to agree on whose memory it is would take as long as the call.
inline constexpr std::int64_t least_asked = 65536;

// Where the buffers of this rank lie.
Memory memory_of(const WrappedCall& call, const Communicator& c) noexcept;

// Whether a call's buffers lie where one call of the communicator cannot take both: on the host and on a device, or on two. For the MPI they
// may. Null: this rank has none.
bool lie_apart(const Communicator& c, const void* send, const void* recv) noexcept;

}  // namespace stretto::mpi
