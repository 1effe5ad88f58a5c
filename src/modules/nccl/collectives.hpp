// NCCL's own collectives, under stretto's types and operations.
#pragma once

#include "call/call.hpp"
#include "modules/nccl/abi.hpp"

namespace stretto::modules::nccl {

// True if NCCL has the call's collective for its type and operation, with raw values.
bool has_collective(const call::Call& call) noexcept;

// Precondition: has_collective(). The result of a reduce_scatter in place replaces the rank's block.
Result enqueue_collective(const Functions& nccl, const call::Call& call, int rank, Comm comm, void* stream) noexcept;

}  // namespace stretto::modules::nccl
