// Handles and constants of another MPI than this library's would differ.
#pragma once

namespace stretto::mpi {

// Call before MPI_Init. False: the running MPI has another binary interface, as printed on standard error.
bool is_own_mpi() noexcept;

}  // namespace stretto::mpi
