// What ranks tell each other while a communicator is made. A rank that has no memory for it, or whose MPI reports a failure, takes part to the
// end all the same: one that left would leave the others in a collective, or messages that a later communicator finds (MPICH gives its
// context again).
#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace stretto::api {

// The highest status of all ranks: every rank fails when one does. Collective.
Status agree(MPI_Comm comm, Status own) noexcept;

// Rank 0's `given`, which is no part of *text, in *text on every rank. Collective. out_of_memory: this rank alone does without.
Status share_text(MPI_Comm comm, std::string_view given, std::string* text) noexcept;

}  // namespace stretto::api
