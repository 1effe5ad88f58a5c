// The head of a group in a dense chunk: all of a group but its widths and planes.
#pragma once

#include "codec/dense/coder.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec::dense {

// Most bytes of a head: those of the group's exceptions or verbatim values, and these.
inline constexpr std::size_t kMostHeadBytes = kMaxGroupBytes + 40;

// A group taken apart: what precedes its planes, and the planes.
struct Parts {
  Predictor predictor{};
  bool wide = false, verbatim = false;
  std::int64_t base = 0, slope = 0;
  const std::uint8_t* exceptions = nullptr;  // the section, if there is one; of a verbatim group its values
  std::size_t exceptions_bytes = 0;
  const std::uint8_t* planes = nullptr;
  Widths widths{};
};
// False if the words are no group of m values.
bool take_apart(const std::uint8_t* p, std::size_t words, int m, Type type, Parts* parts) noexcept;

// Writes a head; `base` is that of the group before, and becomes this one's.
std::uint8_t* write_head(const Parts& parts, std::int64_t* base, std::uint8_t* out) noexcept;

// Reads a head from [p, end): all of `parts` but planes and widths.of. Null if there is none.
const std::uint8_t* read_head(const std::uint8_t* p, const std::uint8_t* end, int m, Type type, std::int64_t* base,
                              Parts* parts) noexcept;

// Writes a group in its fixed form up to its planes: where these belong. The room is kMaxGroupBytes + 40.
std::uint8_t* begin_group(const Parts& parts, std::uint8_t* out) noexcept;

// Appends the widths behind the planes, which end at p, and completes word 0. Words of the group.
std::size_t end_group(const Parts& parts, const std::uint8_t* widths, std::uint8_t* out, std::uint8_t* p) noexcept;

}  // namespace stretto::codec::dense
