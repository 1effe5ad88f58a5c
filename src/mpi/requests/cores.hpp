// Communication cores under the profiling library: named in the environment, and on only where every rank has some. A nonblocking call may not
// wait for other ranks to make a communicator of stretto's, so each is made where the program makes its own.
#pragma once

#include <mpi.h>

#include "mpi/process/communicators.hpp"
#include "mpi/process/runtime.hpp"

namespace stretto::mpi {

// After MPI_Init, where every rank names cores: switches them on, or says what is wrong and leaves them off. Collective over MPI_COMM_WORLD.
void open_cores(Runtime* r) noexcept;

// The program has made a communicator, by a function that waits for its ranks. Collective over it.
void ready_for_started(MPI_Comm comm, Communicator* c, const Runtime& r) noexcept;

}  // namespace stretto::mpi
