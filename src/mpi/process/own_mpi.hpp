// The library preloaded into a program of another MPI than it was built for: handles and constants differ there, so that no call could be
// passed on as it came.
#pragma once

namespace stretto::mpi {

// Before MPI_Init. False: the MPI that answers names itself as one of another binary interface, which is told on standard error.
bool is_own_mpi() noexcept;

}  // namespace stretto::mpi
