// The one place where the arguments of a collective are checked.
#pragma once

#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::call {

// All that one rank alone can know to be wrong, but for what may be forced (select/forced.hpp). Dereferences nothing but the arrays that were
// copied into `call`.
Status check_arguments(const Call& call, int rank, int ranks) noexcept;

}  // namespace stretto::call
