#pragma once

namespace stretto::mpi {

// Before MPI_Init. False: the running MPI has another binary interface, as printed on standard error.
bool is_own_mpi() noexcept;

}  // namespace stretto::mpi
