#pragma once

#include <cstdint>

#include "codec/kernels.hpp"

namespace stretto::codec::shaped {

// Codes of the count > 0 values at x in 32 bits, those of exceptions filled, and for floats the exceptions, as Lanes of
// each group. False, with unspecified codes: a code needs more than 32 bits. `info`: type, eps and width; receives code
// bound and exceptions.
bool quantise(const void* x, std::uint64_t count, Info* info, std::int32_t* q, std::uint32_t* lanes,
              const Kernels& kernels, const Options& options) noexcept;

}  // namespace stretto::codec::shaped
