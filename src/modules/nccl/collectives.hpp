#pragma once

#include "call/call.hpp"
#include "modules/nccl/abi.hpp"

namespace stretto::modules::nccl {

// True if NCCL has the collective for this type and operation, raw.
bool has_collective(const call::Call& call) noexcept;

// Precondition: has_collective(). In place, a reduce_scatter replaces the rank's block.
Result enqueue_collective(const Functions& nccl, const call::Call& call, int rank, Comm comm, void* stream) noexcept;

}  // namespace stretto::modules::nccl
