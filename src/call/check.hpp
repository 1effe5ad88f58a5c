#pragma once

#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::call {

Status check_values(const Call& call, int ranks) noexcept;

// The type, the root, and sizes of buffers within the address space.
Status check_sizes(const Call& call, int ranks);

// Arguments may be wrong on one rank. Dereferences only arrays copied into `call`.
Status check_buffers(const Call& call, int rank, int ranks) noexcept;

}  // namespace stretto::call
