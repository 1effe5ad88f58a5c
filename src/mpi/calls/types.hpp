#pragma once

#include <mpi.h>

#include <cstdint>

#include "stretto/stretto.h"

namespace stretto::mpi {

enum class Nature { integer, address, fortran_integer, bytes, floating, complex };

struct Element {
  Nature nature = Nature::bytes;
  stretto_type type = STRETTO_U8;
  int parts = 1;  // elements of `type` per MPI element
};

// Null: derived types, pairs, characters, logicals, long double.
const Element* element_of(MPI_Datatype type) noexcept;

// Maps a reduction to stretto's, or returns why it has none. Uses only arguments that are equal on all ranks.
const char* reduction_of(MPI_Datatype type, MPI_Op op, const Element** element, stretto_op* operation) noexcept;

// False: a user's operation, or with places (MINLOC).
bool has_counterpart(MPI_Op op) noexcept;

// An element's bytes are contiguous in the order of the signature; may miss dense derived types.
bool is_dense(MPI_Datatype type) noexcept;

// 0 also if unknown.
std::int64_t bytes_of(MPI_Datatype type) noexcept;

}  // namespace stretto::mpi
