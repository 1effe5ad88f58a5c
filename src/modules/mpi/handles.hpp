// MPI's handles for types and operations of the C API.
#pragma once

#include <mpi.h>

#include "base/status.hpp"
#include "stretto/stretto.h"

namespace stretto::modules {

// 16-bit floats are bits to an MPI: it moves them and does not combine them.
MPI_Datatype mpi_type(stretto_type t) noexcept;

// A mean is a sum that is divided at the end. MPI_OP_NULL: no operation of an MPI.
MPI_Op mpi_op(stretto_op op) noexcept;

// The status for a code that the MPI returned; the message has the MPI's text.
Status status_of(int code) noexcept;

}  // namespace stretto::modules
