#pragma once

#include "base/status.hpp"
#include "call/agreement.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// The rank's arguments; its own failure, with this thread's message; the range and ratios if needed.
call::Signature signature_of(const Call& call, const Needs& needs, Status own, int rank, int ranks) noexcept;

}  // namespace stretto::select
