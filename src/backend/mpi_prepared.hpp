// Calls of an MPI's own collectives that repeat, each put down with what it passes to its function.
#pragma once

#include <mpi.h>

#include <memory>

#include "backend/backend.hpp"

namespace stretto::backend {

// Of a collective without counts, which is no mean, on `comm`, which stays the caller's. Null: it has counts, or there is no memory.
std::unique_ptr<PreparedCall> prepare_on(MPI_Comm comm, const Shape& shape) noexcept;

}  // namespace stretto::backend
