// MPI's predefined types and operations in stretto's terms.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "stretto/stretto.h"

namespace stretto::mpi {

enum class Nature { integer, address, fortran_integer, bytes, floating, complex };

struct Element {
  Nature nature = Nature::bytes;
  stretto_type type = STRETTO_U8;  // complex: of a part
  int parts = 1;                   // elements of `type` in one of MPI's
};

// Null for a type that is none of them (derived types, pairs, characters, logicals, long double).
const Element* element_of(MPI_Datatype type) noexcept;

// A reduction as stretto computes it, or the reason why it does not. By the arguments that must be equal on all ranks.
const char* reduction_of(MPI_Datatype type, MPI_Op op, const Element** element, stretto_op* operation) noexcept;

// Whether an element's bytes lie one after the other in the order of the type's signature, without gaps: then a message of it
// is its memory. Only what is plain to see counts.
bool is_dense(MPI_Datatype type) noexcept;

// Bytes of data in an element; 0 also where it cannot be told.
std::int64_t bytes_of(MPI_Datatype type) noexcept;

}  // namespace stretto::mpi
