// What follows from functions of MPI that are no collectives.
#pragma once

#include <mpi.h>

namespace stretto::mpi {

// MPI_Init or MPI_Init_thread returned `code`, which is passed on. Collective over MPI_COMM_WORLD.
int initialised(int code) noexcept;

// `comm` was given this info by a function that returned `code`, which is passed on.
int informed(int code, MPI_Comm comm, MPI_Info info) noexcept;

}  // namespace stretto::mpi
