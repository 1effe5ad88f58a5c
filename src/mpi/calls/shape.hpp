// Uses only arguments that are equal on all ranks, so that all decide alike.
#pragma once

#include <cstdint>
#include <optional>

#include "call/call.hpp"
#include "mpi/calls/types.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

struct Shape {
  const Element* element = nullptr;
  const Element* moved = nullptr;  // floating-point elements of moved data; types may differ between ranks
  stretto_op op = STRETTO_SUM;
  std::int64_t bytes = 0;  // of a rank's vector or block; of all, if they differ
  bool floating_sum = false, floating_extreme = false;
  bool moves = false;
};

std::optional<schedule::Collective> collective_of(Function f) noexcept;

// shape_of() refuses the call in every communicator; a fast check.
bool never_served(const WrappedCall& call) noexcept;

// The reason why the MPI gets the call, or null.
const char* shape_of(const WrappedCall& call, const Communicator& c, Shape* shape) noexcept;

}  // namespace stretto::mpi
