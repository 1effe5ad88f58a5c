// Where a rank's data lies, as the C interface takes it.
#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Null where a rank has no such side; STRETTO_IN_PLACE where the other side has it. Of bcast the root has the one, the others the other.
struct Buffers {
  const void* send = nullptr;
  void* recv = nullptr;
  friend bool operator==(const Buffers&, const Buffers&) = default;
};

// What the C interface was told of a call.
struct Passed {
  Buffers buffers;
  std::int64_t extent = 0;  // as of buffers_of()
};

// Whether this block is, or is given as, the rank's own among those of all ranks, `offset` bytes into the side that holds them all.
bool is_own(const void* block, const void* all, std::int64_t offset) noexcept;

// Of a call without counts by rank. `extent`: bytes from one element to the next where the blocks of all ranks are.
Buffers buffers_of(const WrappedCall& call, const Communicator& c, std::int64_t extent) noexcept;

}  // namespace stretto::mpi
