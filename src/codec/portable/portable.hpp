// The vector path for any machine, written with Google Highway: the same source is compiled for each instruction set
// that has a fused multiply-add (AVX2, AVX-512, NEON, SVE, ...), and the best that the processor has is chosen at run time.
#pragma once

#include "codec/kernels.hpp"

namespace stretto::codec {

// Kernels of the chosen instruction set; null where the processor has none of them.
const Kernels* portable_kernels() noexcept;

// The chosen instruction set by Highway's name for it ("AVX2", "AVX3", "NEON", ...).
const char* portable_target() noexcept;

// Chooses an instruction set by that name, from now on and for the whole process; null or "" for the best again. False (and no
// change) if this build or processor lacks it. For tests and benchmarks; not while another thread is in the codec.
bool choose_portable_target(const char* name) noexcept;

}  // namespace stretto::codec
