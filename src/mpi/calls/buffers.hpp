// A rank's buffers, in the terms of the C interface.
#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Null: this rank has no such side. STRETTO_IN_PLACE: the other side holds the data. For bcast the root has `send`, the
// other ranks have `recv`.
struct Buffers {
  const void* send = nullptr;
  void* recv = nullptr;
  friend bool operator==(const Buffers&, const Buffers&) = default;
};

// Buffers as passed to the C interface.
struct Passed {
  Buffers buffers;
  std::int64_t extent = 0;  // see buffers_of()
};

// True if `block` is this rank's own block in the buffer `all`, at byte `offset`, by its address or as MPI_IN_PLACE.
bool is_own(const void* block, const void* all, std::int64_t offset) noexcept;

// Buffers of a call without counts by rank. `extent`: bytes from one element to the next on the side that holds the
// blocks of all ranks.
Buffers buffers_of(const WrappedCall& call, const Communicator& c, std::int64_t extent) noexcept;

}  // namespace stretto::mpi
