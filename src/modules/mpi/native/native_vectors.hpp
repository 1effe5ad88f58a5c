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
  const int *send_counts = nullptr, *send_displs = nullptr;
};

// int arrays for MPI. If a displacement exceeds int, this rank's blocks are consecutive in `staging` during the
// collective.
struct Vectors {
  std::vector<int> counts, displs;
  std::vector<std::byte> staging;
  std::vector<std::size_t> places;
};

struct Staged {
  Shape shape;
  void* recv = nullptr;
  Arguments arguments;
  Vectors vectors;
  Vectors send_vectors;
  std::size_t element = 1;
  void* unstaged = nullptr;
};

// True: blocks must be staged (or `always`), and `staging` has room.
bool make_vectors(const std::vector<std::size_t>& counts, const std::vector<std::size_t>& displs, std::size_t element,
                  Vectors* v, bool always = false);

// From their places in `apart` into `staging` (`gather`), or back.
void move_blocks(Vectors& v, std::byte* apart, std::size_t element, bool gather) noexcept;

inline bool fits_int(std::size_t n) noexcept { return n <= static_cast<std::size_t>(INT_MAX); }
inline int to_int(std::size_t n) noexcept { return static_cast<int>(n); }

}  // namespace stretto::modules
