// Exchanges while a communicator is made. A rank without memory, or whose MPI reports a failure, still takes part to
// the end. If it left, the others would wait in a collective, or a later communicator would find its messages (MPICH
// reuses contexts).
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace stretto::api {

// The highest status of all ranks: every rank fails when one does. Collective.
Status agree(MPI_Comm comm, Status own) noexcept;

// Copies rank 0's `given`, which must not point into *text, to *text on every rank. Collective. out_of_memory: on this
// rank alone.
Status share_text(MPI_Comm comm, std::string_view given, std::string* text) noexcept;

}  // namespace stretto::api
