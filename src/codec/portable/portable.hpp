// Kernels in Google Highway, for instruction sets with a fused multiply-add (AVX2, AVX-512, NEON, SVE, ...).
#pragma once

#include "codec/kernels.hpp"

namespace stretto::codec {

// Null: the processor has none.
const Kernels* portable_kernels() noexcept;

// As "AVX2", "AVX3" or "NEON".
const char* portable_target() noexcept;

// For tests and benchmarks; not while another thread uses the codec. Null or "": the best. False: this build or
// processor lacks the set.
bool choose_portable_target(const char* name) noexcept;

}  // namespace stretto::codec
