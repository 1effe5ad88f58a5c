#pragma once

#include <mpi.h>

#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// `comm` returns errors and outlives the result. `watchdog` limits blocking calls with a positive timeout.
std::unique_ptr<backend::Backend> make_mpi_native(MPI_Comm comm, std::shared_ptr<carrier::Watchdog> watchdog);

}  // namespace stretto::modules
