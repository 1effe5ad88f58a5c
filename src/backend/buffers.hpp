#pragma once

#include "call/call.hpp"
#include "engine/binding.hpp"

namespace stretto::backend {

// The arguments are checked, and counts complete on every rank.
engine::Arguments engine_arguments(const call::Call& call, int rank) noexcept;

}  // namespace stretto::backend
