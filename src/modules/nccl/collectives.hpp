#pragma once

#include "call/call.hpp"
#include "modules/nccl/abi.hpp"

namespace stretto::modules::nccl {

bool has_collective(const call::Call& call) noexcept;

// Requires has_collective(). In place, a reduce_scatter replaces the rank's block.
Result enqueue_collective(const Functions& nccl, const call::Call& call, int rank, Comm comm, void* stream) noexcept;

}  // namespace stretto::modules::nccl
