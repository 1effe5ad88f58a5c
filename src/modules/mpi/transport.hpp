#pragma once

#include <mpi.h>

#include <memory>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "modules/mpi/duplicates.hpp"

namespace stretto::modules {

// Owns a duplicate of `parent` with errors returned, and frees it (before MPI_Finalize). Failures are equal on all
// ranks, except about `parent` itself: invalid_argument: MPI not initialised, finalised, or MPI_COMM_NULL; unsupported:
// an intercommunicator. With STRETTO_TIMEOUT=SECONDS MPI_Abort ends a program whose ranks are missing so long. `ready`:
// duplicates to take first, on all ranks or none. Collective over `parent`.
Status make_mpi_transport(MPI_Comm parent, std::unique_ptr<backend::Transport>* transport,
                          Duplicates ready = {}) noexcept;

}  // namespace stretto::modules
