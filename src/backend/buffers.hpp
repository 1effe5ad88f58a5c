#pragma once

#include "call/call.hpp"
#include "engine/binding.hpp"

namespace stretto::backend {

// Precondition: checked arguments, and complete counts.
engine::Arguments engine_arguments(const call::Call& call, int rank) noexcept;

}  // namespace stretto::backend
