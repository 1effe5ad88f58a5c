// A call of an MPI's own collective as MPI takes it: counts as arrays of int, and blocks where no int holds their displacements.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <vector>

#include "call/call.hpp"

namespace stretto::backend {

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

// What MPI wants as arrays of int. Displacements that no int holds are this rank's own matter: its blocks then lie end to end
// in `staging` while the collective lasts.
struct Vectors {
  std::vector<int> counts, displs;
  std::vector<std::byte> staging;
  std::vector<std::size_t> places;  // displacements of the blocks that are staged; empty: none are
};

// A call as MPI takes it. Owns what must live while it runs.
struct Staged {
  Shape shape;
  void* recv = nullptr;  // the caller's
  Arguments arguments;
  Vectors vectors;       // of alltoallv, of what is received
  Vectors send_vectors;  // of alltoallv
  // At the end blocks that were staged go to their places.
  std::size_t element = 1;
  void* unstaged = nullptr;
};

// Fills `v`; true: blocks have to be staged (or shall be: `always`), and there is room for them.
bool make_vectors(const std::vector<std::size_t>& counts, const std::vector<std::size_t>& displs, std::size_t element,
                  Vectors* v, bool always = false);

// Staged blocks to (`gather`) or from where they lie end to end; `apart`: where the displacements count from.
void move_blocks(Vectors& v, std::byte* apart, std::size_t element, bool gather) noexcept;

inline bool fits_int(std::size_t n) noexcept { return n <= static_cast<std::size_t>(INT_MAX); }
inline int to_int(std::size_t n) noexcept { return static_cast<int>(n); }

}  // namespace stretto::backend
