// Memory of GPUs. Calls with it are the MPI's, but for reductions that something asks of stretto.
#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Whether CUDA's driver is loaded in this process. A program may hand device memory only to an MPI that knows devices, and such an MPI has
// loaded the driver by the end of MPI_Init; so the answer can be kept.
bool has_driver() noexcept;

// Shorter calls where a rank has the driver are left to the MPI: to agree on whose memory it is would take as long as the call.
inline constexpr std::int64_t least_asked = 65536;

// Where the buffers of a rank lie. The ranks go by the last of these that one of them has.
enum class Memory : int {
  host,
  device,  // that the communicator's collectives take
  other    // a device's, or managed memory, which the driver may have moved there
};
Memory memory_of(const WrappedCall& call, const Communicator& c) noexcept;

}  // namespace stretto::mpi
