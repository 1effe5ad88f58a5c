// An MPI's own collectives as a communicator's native ones.
#pragma once

#include <mpi.h>

#include <memory>

#include "api/native.hpp"

namespace stretto::api {

// Takes over `comm`, a duplicate whose errors are returned, and frees it in the end (before MPI_Finalize). Throws
// std::bad_alloc, and has not taken it over then.
std::unique_ptr<Native> make_mpi_native(MPI_Comm comm);

}  // namespace stretto::api
