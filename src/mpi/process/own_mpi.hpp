// Detects a program of another MPI than this library was built for. Handles and constants differ there, so no call
// could be passed on.
#pragma once

namespace stretto::mpi {

// Call before MPI_Init. False: the running MPI has another binary interface, which a line on standard error reports.
bool is_own_mpi() noexcept;

}  // namespace stretto::mpi
