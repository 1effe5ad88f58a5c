// An MPI's own collectives as a communicator's native ones.
#pragma once

#include <mpi.h>

#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::backend {

// Takes ownership of `comm`, a duplicate whose errors are returned, and frees it in the end (before MPI_Finalize). If
// it throws std::bad_alloc, the caller still owns `comm`. Blocking calls with a positive timeout are calls of `watchdog`.
std::unique_ptr<Backend> make_mpi_backend(MPI_Comm comm, std::shared_ptr<carrier::Watchdog> watchdog);

}  // namespace stretto::backend
