// All checks of a collective's arguments. Forced schedules (select/forced.hpp) are checked
// between check_values() and check_buffers().
#pragma once

#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::call {

// Checks the arguments that all ranks must give alike: type, operation, root, bound, options. Ranks that give them
// alike get the same status.
Status check_values(const Call& call, int ranks) noexcept;

// Checks the buffers and counts, which one rank alone can have wrong. Dereferences only the arrays that were copied
// into `call`.
Status check_buffers(const Call& call, int rank, int ranks) noexcept;

}  // namespace stretto::call
