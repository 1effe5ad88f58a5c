#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "base/status.hpp"
#include "carrier/device_messages.hpp"

namespace stretto::modules {

// By STRETTO_DEVICE_MPI (0 or 1), else MPIX_Query_cuda_support (Open MPI, MPICH) or MPIX_GPU_query_support (MPICH).
// invalid_argument: another value.
Status takes_device_memory(bool* takes) noexcept;

// MPI_Isend and MPI_Irecv of device pointers, on an own communicator. Null if some rank's MPI takes no device memory.
// Collective; timeout if a rank is missing after `limit` seconds (not positive: never). Cuts messages above `chunk`
// bytes (1 .. 2^31 - 1, equal on all ranks). Destroy before MPI_Finalize.
Status make_mpi_device_messages(MPI_Comm comm, double limit, std::size_t chunk,
                                std::unique_ptr<carrier::DeviceMessages>* made) noexcept;

}  // namespace stretto::modules
