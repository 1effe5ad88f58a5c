// GPU memory. The MPI gets calls with it, unless a setting asks for stretto.
#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Kinds of memory that this rank may pass; returns the last in the order of Memory. A program may pass device memory
// only to an MPI that supports devices, and such an MPI has loaded the CUDA driver by the end of MPI_Init. So the
// answer can be cached. Precondition of all functions here: c.comm exists.
Memory memory_in_reach(const Communicator& c) noexcept;

// If a rank has the driver, shorter calls are left to the MPI: agreeing on the memory would take as long as the call.
inline constexpr std::int64_t least_asked = 65536;

// Kind of memory of this rank's buffers.
Memory memory_of(const WrappedCall& call, const Communicator& c) noexcept;

// True if one call of the communicator cannot take both buffers: host and device, or two devices. MPI allows this.
// Null: this rank has no such buffer.
bool lie_apart(const Communicator& c, const void* send, const void* recv) noexcept;

}  // namespace stretto::mpi
