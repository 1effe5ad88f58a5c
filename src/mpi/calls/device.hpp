// Memory of GPUs, which stretto's collectives cannot read: calls with it are the MPI's.
#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

// Whether CUDA's driver is loaded in this process. A program may hand device memory only to an MPI that knows devices, and such an MPI has
// loaded the driver by the end of MPI_Init; so the answer can be kept.
bool has_driver() noexcept;

// Shorter calls where a rank has the driver are left to the MPI: to agree on whose memory it is would take as long as the call.
inline constexpr std::int64_t least_asked = 65536;

// Whether a buffer of this rank is device memory (or managed memory, which the driver may have moved there).
bool in_device_memory(const WrappedCall& call) noexcept;

}  // namespace stretto::mpi
