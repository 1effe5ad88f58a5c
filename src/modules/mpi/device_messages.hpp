// Messages between the memories of devices, by an MPI that takes device pointers: MPI_Isend and MPI_Irecv of them, on a communicator
// of our own. Nothing is staged here; the MPI decides how it moves such memory.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "base/status.hpp"
#include "carrier/device_messages.hpp"

namespace stretto::modules {

// Finds out if the MPI of this process takes memory of CUDA devices: by STRETTO_DEVICE_MPI, 0 or 1, else by MPIX_Query_cuda_support
// (Open MPI, MPICH) or MPIX_GPU_query_support (MPICH). An MPI that has neither does not.
// invalid_argument: the variable is neither.
Status takes_device_memory(bool* takes) noexcept;

// Null where the MPI of a rank does not take such memory. Collective; ends in timeout where a rank has not come within `limit` seconds
// (not positive: never). Longer messages than `chunk` bytes (1 .. 2^31 - 1, the same on every rank) travel as several. To be destroyed
// before MPI_Finalize.
Status make_mpi_device_messages(MPI_Comm comm, double limit, std::size_t chunk,
                                std::unique_ptr<carrier::DeviceMessages>* made) noexcept;

}  // namespace stretto::modules
