// Bound of an unfinished communicator (MPI_Comm_idup_with_info), as an attribute of its parent.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/settings/rules.hpp"

namespace stretto::mpi {

// Until end_inheritance(), duplicates of `parent` get the bound. False: impossible.
bool hand_on(MPI_Comm parent, const Bound& bound);
void end_inheritance(MPI_Comm parent) noexcept;

// For a finished communicator; its duplicates do not inherit it.
std::optional<Bound> inherited_bound(MPI_Comm comm) noexcept;

}  // namespace stretto::mpi
