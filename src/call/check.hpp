// The one place where the arguments of a collective are checked, but for what may be forced (select/forced.hpp), which comes between the two.
#pragma once

#include "base/status.hpp"
#include "call/call.hpp"

namespace stretto::call {

// What every rank finds alike in arguments that all give alike: type, operation, root, bound, options.
Status check_values(const Call& call, int ranks) noexcept;

// What one rank alone can know to be wrong with its buffers and counts. Dereferences nothing but the arrays that were copied into `call`.
Status check_buffers(const Call& call, int rank, int ranks) noexcept;

}  // namespace stretto::call
