// Nonblocking calls may not wait for other ranks: stretto's communicators are made with the program's.
#pragma once

#include <mpi.h>

#include "mpi/process/communicators.hpp"
#include "mpi/process/runtime.hpp"

namespace stretto::mpi {

// After MPI_Init, if every rank names cores. Reports failures. Collective over MPI_COMM_WORLD.
void open_cores(Runtime* r) noexcept;

// In a communicator's collective creation.
void ready_for_started(MPI_Comm comm, Communicator* c, const Runtime& r) noexcept;

}  // namespace stretto::mpi
