#pragma once

#include <mpi.h>

#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// For collectives without counts, other than a mean. Borrows `comm` and `watchdog` (for calls with a limit). Null: it
// has counts, or no memory.
std::unique_ptr<backend::PreparedCall> prepare_on(MPI_Comm comm, carrier::Watchdog& watchdog,
                                                  const call::Shape& shape) noexcept;

}  // namespace stretto::modules
