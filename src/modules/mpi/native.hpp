// An MPI's own collectives as a communicator's native ones.
#pragma once

#include <mpi.h>

#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// `comm`, whose errors are returned, outlives the result. Blocking calls with a positive timeout are calls of
// `watchdog`. Throws std::bad_alloc.
std::unique_ptr<backend::Backend> make_mpi_native(MPI_Comm comm, std::shared_ptr<carrier::Watchdog> watchdog);

}  // namespace stretto::modules
