// Communication cores under the profiling library: named in the environment, and used only if every rank has some. A
// nonblocking call may not wait for other ranks, so stretto's communicators are made together with the program's.
#pragma once

#include <mpi.h>

#include "mpi/process/communicators.hpp"
#include "mpi/process/runtime.hpp"

namespace stretto::mpi {

// Call after MPI_Init if every rank names cores: starts them, or reports the problem and goes on without. Collective
// over MPI_COMM_WORLD.
void open_cores(Runtime* r) noexcept;

// Call after a function that made a communicator and waited for its ranks. Collective over it.
void ready_for_started(MPI_Comm comm, Communicator* c, const Runtime& r) noexcept;

}  // namespace stretto::mpi
