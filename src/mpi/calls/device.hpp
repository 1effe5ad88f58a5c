// The MPI gets calls with GPU memory, unless a setting asks for stretto.
#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Largest kind that this rank may pass, cached: an MPI with device memory loads the CUDA driver in MPI_Init. Functions
// here require c.comm.
Memory memory_in_reach(const Communicator& c) noexcept;

// Shorter calls are left to the MPI: agreeing on the memory would take as long.
inline constexpr std::int64_t kLeastAsked = 65536;

Memory memory_of(const WrappedCall& call, const Communicator& c) noexcept;

// Host and device, or two devices: MPI allows both in a call, stretto does not. Null: no such buffer.
bool lie_apart(const Communicator& c, const void* send, const void* recv) noexcept;

}  // namespace stretto::mpi
