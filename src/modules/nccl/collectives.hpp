// NCCL's own collectives, under stretto's types and operations.
#pragma once

#include "call/call.hpp"
#include "modules/nccl/abi.hpp"

namespace stretto::modules::nccl {

// Whether NCCL has the call's collective for its type and operation, with raw values.
bool has_collective(const call::Call& call) noexcept;

// Precondition: it has. Of a reduce_scatter in place the result is then where the rank's block was.
Result enqueue_collective(const Functions& nccl, const call::Call& call, int rank, Comm comm, void* stream) noexcept;

}  // namespace stretto::modules::nccl
