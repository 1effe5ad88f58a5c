#pragma once

namespace stretto::mpi {

// Before MPI_Init. False, after a diagnosis on standard error: the MPI has another binary interface.
bool is_own_mpi() noexcept;

}  // namespace stretto::mpi
