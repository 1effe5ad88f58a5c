// Prepared calls of an MPI's own collectives: each keeps the arguments of its MPI function.
#pragma once

#include <mpi.h>

#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// Prepares a collective without counts, other than a mean, on `comm`, which stays the caller's; as does `watchdog`, of
// its calls with a limit. Null: it has counts, or there is no memory.
std::unique_ptr<backend::PreparedCall> prepare_on(MPI_Comm comm, carrier::Watchdog& watchdog,
                                                  const call::Shape& shape) noexcept;

}  // namespace stretto::modules
