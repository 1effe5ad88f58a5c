// An MPI's communicator as a transport.
#pragma once

#include <mpi.h>

#include <memory>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "modules/mpi/duplicates.hpp"

namespace stretto::modules {

// Collective over `parent`, which is duplicated; the transport owns the duplicate, whose errors are returned, and frees
// it (before MPI_Finalize). Failures are the same on all ranks, except where they concern `parent` itself:
// invalid_argument: MPI is not initialised, or finalised, or MPI_COMM_NULL; unsupported: an intercommunicator.
// Where the environment has STRETTO_TIMEOUT=SECONDS, MPI_Abort ends a program whose ranks do not come for so long.
// `ready`: duplicates of `parent` to take first, on all ranks or on none.
Status make_mpi_transport(MPI_Comm parent, std::unique_ptr<backend::Transport>* transport,
                          Duplicates ready = {}) noexcept;

}  // namespace stretto::modules
