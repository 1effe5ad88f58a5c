// The arguments of an MPI's own collective: counts as arrays of int, and staged blocks where no int holds a
// displacement.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <vector>

#include "call/call.hpp"

namespace stretto::modules {

using call::Collective;
using call::Shape;

struct Arguments {
  Collective collective{};
  const void* send = nullptr;
  void* recv = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  const int *counts = nullptr, *displs = nullptr;
  const int *send_counts = nullptr, *send_displs = nullptr;  // of alltoallv
};

// Arrays of int for MPI. If a displacement does not fit an int, this rank's blocks lie end to end in `staging` during
// the collective; other ranks are not concerned.
struct Vectors {
  std::vector<int> counts, displs;
  std::vector<std::byte> staging;
  std::vector<std::size_t> places;  // displacements of the blocks that are staged; empty: none are
};

// A call as MPI takes it. Owns what must live while the call runs.
struct Staged {
  Shape shape;
  void* recv = nullptr;  // the caller's
  Arguments arguments;
  Vectors vectors;       // of alltoallv: received blocks
  Vectors send_vectors;  // of alltoallv
  // At the end blocks that were staged go to their places.
  std::size_t element = 1;
  void* unstaged = nullptr;
};

// Fills `v`. Returns true if blocks must be staged (or `always`), and then `staging` has room for them.
bool make_vectors(const std::vector<std::size_t>& counts, const std::vector<std::size_t>& displs, std::size_t element,
                  Vectors* v, bool always = false);

// Copies blocks between their places and `staging`; `gather`: into `staging`. `apart`: the buffer of the displacements.
void move_blocks(Vectors& v, std::byte* apart, std::size_t element, bool gather) noexcept;

inline bool fits_int(std::size_t n) noexcept { return n <= static_cast<std::size_t>(INT_MAX); }
inline int to_int(std::size_t n) noexcept { return static_cast<int>(n); }

}  // namespace stretto::modules
