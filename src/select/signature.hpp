#pragma once

#include "base/status.hpp"
#include "call/agreement.hpp"
#include "select/decision.hpp"

namespace stretto::select {

// The rank's arguments; its own failure, if any, with this thread's message; and the needed values: the range of its
// input, and how well a sample compresses.
call::Signature signature_of(const Call& call, const Needs& needs, Status own, int rank, int ranks) noexcept;

}  // namespace stretto::select
