// The codec's kernels on emulated warps, run at once.
#pragma once

#include "codec/cuda/operation.hpp"

namespace stretto::codec::cuda {

u64 emulated_workspace_bytes(u64 count);

// Writes a.result, but not a.host_result.
int run_emulated(const Arguments& a);

}  // namespace stretto::codec::cuda
