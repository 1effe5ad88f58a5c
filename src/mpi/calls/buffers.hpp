#pragma once

#include <cstdint>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Null: no such side. STRETTO_IN_PLACE: the other side has the data. In bcast the root has `send`, others `recv`.
struct Buffers {
  const void* send = nullptr;
  void* recv = nullptr;
  friend bool operator==(const Buffers&, const Buffers&) = default;
};

struct PassedBuffers {
  Buffers buffers;
  std::int64_t extent = 0;
};

// The rank's own block, at byte `offset`, or MPI_IN_PLACE.
bool is_own(const void* block, const void* all, std::int64_t offset) noexcept;

// For calls without counts by rank. `extent`: bytes between elements on the side with all ranks' blocks.
Buffers buffers_of(const WrappedCall& call, const Communicator& c, std::int64_t extent) noexcept;

}  // namespace stretto::mpi
