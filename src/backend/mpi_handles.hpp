// What the C API calls things, as an MPI does.
#pragma once

#include <mpi.h>

#include "base/status.hpp"
#include "stretto/stretto.h"

namespace stretto::backend {

// 16-bit floats are bits to an MPI: it moves them and does not combine them.
MPI_Datatype mpi_type(stretto_type t) noexcept;

// A mean is a sum that is divided at the end. MPI_OP_NULL: no operation of an MPI.
MPI_Op mpi_op(stretto_op op) noexcept;

// Of a code that the MPI returned, with its text.
Status status_of(int code) noexcept;

}  // namespace stretto::backend
