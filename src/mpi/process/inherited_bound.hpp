// The bound of a communicator that is still being made (MPI_Comm_idup_with_info): nothing can be kept with it yet. Its parent has the bound as
// an attribute while the call runs, and the MPI copies it as it copies all of the parent's.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

// Duplicates of `parent` that are begun until end_inheritance() get the bound. False: they cannot.
bool hand_on(MPI_Comm parent, const Bound& bound);
void end_inheritance(MPI_Comm parent) noexcept;

// What a communicator, made by now, was given so. Its own duplicates get nothing of it.
std::optional<Bound> inherited_bound(MPI_Comm comm) noexcept;

}  // namespace stretto::mpi
