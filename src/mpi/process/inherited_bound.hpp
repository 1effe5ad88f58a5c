// Bound of a communicator under construction (MPI_Comm_idup_with_info), which cannot have attributes yet. The parent
// carries the bound as an attribute during the call, and the MPI copies it with the parent's other attributes.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

// Duplicates of `parent` started until end_inheritance() get the bound. False: impossible.
bool hand_on(MPI_Comm parent, const Bound& bound);
void end_inheritance(MPI_Comm parent) noexcept;

// The bound that a finished communicator inherited. Its own duplicates do not inherit it.
std::optional<Bound> inherited_bound(MPI_Comm comm) noexcept;

}  // namespace stretto::mpi
