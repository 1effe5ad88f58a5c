// A font of 5 x 7 dots for printable ASCII, enough to label a picture without any library.
#pragma once

#include <array>
#include <cstdint>

namespace stretto::stacking {

inline constexpr int glyph_width = 5;
inline constexpr int glyph_height = 7;

// Rows from the top; in a row the leftmost dot is bit 4.
using Glyph = std::array<std::uint8_t, glyph_height>;

// The glyph of a character; that of '?' for one outside ' '..'~'.
const Glyph& glyph(char c) noexcept;

// Dots by which a character's glyph stands lower than those on the line.
int descent(char c) noexcept;

}  // namespace stretto::stacking
