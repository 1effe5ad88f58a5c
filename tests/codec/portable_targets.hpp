// Highway's names of the instruction sets that the portable kernels may be compiled for.
#pragma once

namespace stretto::codec {

inline constexpr const char* kPortableTargets[] = {"AVX2", "AVX3",    "AVX3_DL",  "NEON", "SVE",
                                                   "SVE2", "SVE_256", "SVE2_128", "PPC8", "RVV"};

}  // namespace stretto::codec
