// The entropy stage (dense/coder.hpp) for 64-bit Arm. The scalar code serves more than 30 planes or symbols.
#pragma once

#include "codec/dense/coder.hpp"

namespace stretto::codec::dense::neon {

void scan(const std::uint8_t* planes, const Widths& widths, bool is_unsigned, std::uint8_t* classes, Counts* counts,
          BitWriter* low) noexcept;
std::uint8_t* encode(const Widths* groups, int n, const std::uint8_t* classes, const Tables& tables, int sets,
                     States* states, std::uint8_t* out) noexcept;
std::size_t decode(Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes, std::uint8_t* widths) noexcept;

}  // namespace stretto::codec::dense::neon
