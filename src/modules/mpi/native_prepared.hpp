#pragma once

#include <mpi.h>

#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// Prepares a collective without counts, other than a mean. `comm` and `watchdog` (for calls with a limit) stay the
// caller's. Null: it has counts, or no memory.
std::unique_ptr<backend::PreparedCall> prepare_on(MPI_Comm comm, carrier::Watchdog& watchdog,
                                                  const call::Shape& shape) noexcept;

}  // namespace stretto::modules
