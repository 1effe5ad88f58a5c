// The portable vector path, in Google Highway, for instruction sets with a fused multiply-add (AVX2, AVX-512, NEON,
// SVE, ...). The processor's best is chosen at run time.
#pragma once

#include "codec/kernels.hpp"

namespace stretto::codec {

// Null if the processor has no such instruction set.
const Kernels* portable_kernels() noexcept;

// Highway's name of the chosen instruction set ("AVX2", "AVX3", "NEON", ...).
const char* portable_target() noexcept;

// For tests and benchmarks; not while another thread uses the codec. Null or "" selects the best. False (and no change)
// if this build or processor lacks the set.
bool choose_portable_target(const char* name) noexcept;

}  // namespace stretto::codec
