// The portable vector path, in Google Highway, for each instruction set with a fused multiply-add (AVX2, AVX-512, NEON,
// SVE, ...). The processor's best is chosen at run time.
#pragma once

#include "codec/kernels.hpp"

namespace stretto::codec {

// Null if the processor has no such instruction set.
const Kernels* portable_kernels() noexcept;

// Highway's name of the chosen instruction set ("AVX2", "AVX3", "NEON", ...).
const char* portable_target() noexcept;

// Chooses an instruction set by name for the process; null or "" selects the best again. False (and no change) if this
// build or processor lacks it. For tests and benchmarks; not while another thread uses the codec.
bool choose_portable_target(const char* name) noexcept;

}  // namespace stretto::codec
