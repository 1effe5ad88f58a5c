// What follows from functions of MPI that are no collectives.
#pragma once

#include <mpi.h>

namespace stretto::mpi {

// `comm` was given this info by a function that returned `code`, which is passed on.
int informed(int code, MPI_Comm comm, MPI_Info info) noexcept;

}  // namespace stretto::mpi
