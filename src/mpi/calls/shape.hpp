// Collective and size of a call. It depends only on arguments that all ranks of a correct program agree on, so all
// ranks decide alike.
#pragma once

#include <cstdint>
#include <optional>

#include "call/call.hpp"
#include "mpi/calls/types.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

struct Shape {
  const Element* element = nullptr;  // for reductions; other data travel as bytes, whatever the type
  stretto_op op = STRETTO_SUM;
  std::int64_t bytes = 0;  // of one rank's vector, of one block, or of all blocks if they differ
  bool floating_sum = false;
};

// Empty: stretto has no such collective.
std::optional<schedule::Collective> collective_of(Function f) noexcept;

// The reason why stretto leaves the call to the MPI, or null.
const char* shape_of(const WrappedCall& call, const Communicator& c, Shape* shape) noexcept;

}  // namespace stretto::mpi
