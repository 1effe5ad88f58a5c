#pragma once

#include <mpi.h>

#include "base/status.hpp"
#include "stretto/stretto.h"

namespace stretto::modules {

// MPI only moves 16-bit floats, as bits.
MPI_Datatype mpi_type(stretto_type t) noexcept;

// A mean is a sum, divided at the end. MPI_OP_NULL: none.
MPI_Op mpi_op(stretto_op op) noexcept;

Status status_of(int code) noexcept;

}  // namespace stretto::modules
