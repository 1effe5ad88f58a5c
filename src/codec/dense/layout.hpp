// A dense chunk (docs/format.md, section 8).
#pragma once

#include <cstdint>

#include "codec/stream/format.hpp"

namespace stretto::codec::dense {

inline constexpr int kLanes = 32;
inline constexpr int kMaxSets = 2;
inline constexpr int kProbabilityBits = 12;  // frequencies of a table add up to kOne
inline constexpr std::uint32_t kOne = 1u << kProbabilityBits;
inline constexpr int kStateBits = 28;  // a state is in [kLeastState, 2^kStateBits)
inline constexpr std::uint32_t kLeastState = 1u << 12;
inline constexpr int kMaxWidth = 64;
inline constexpr std::size_t kMaxGroupBytes = 4 * 4096;  // in fixed form; longer groups make the chunk fixed
inline constexpr std::size_t kStateBytes = 4 * std::size_t{kStateBits};
inline constexpr int kBlocksForTwoSets = 768;  // nonzero blocks from which a chunk has two sets
inline constexpr std::uint32_t kTwoSetsBit = 1u << 24;
inline constexpr std::uint8_t kVerbatimWidth = 255;  // in place of a verbatim group's largest width
inline constexpr int kLongWidth = 15;                // larger widths have a byte of their own

constexpr std::uint64_t zigzag(std::int64_t v) noexcept {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t from_zigzag(std::uint64_t u) noexcept {
  return static_cast<std::int64_t>(u >> 1 ^ (0 - (u & 1)));
}

// 7 bits a byte, the low ones first; all bytes but the last have bit 7 set.
inline std::uint8_t* put_number(std::uint8_t* p, std::uint64_t v) noexcept {
  for (; v >= 0x80; v >>= 7) *p++ = static_cast<std::uint8_t>(v | 0x80);
  *p++ = static_cast<std::uint8_t>(v);
  return p;
}
// Null if no number ends before `end`, or it exceeds 64 bits.
inline const std::uint8_t* take_number(const std::uint8_t* p, const std::uint8_t* end, std::uint64_t* v) noexcept {
  *v = 0;
  for (int shift = 0; shift < 64 && p != end; shift += 7) {
    const std::uint64_t part = *p & 0x7f;
    if (shift == 63 && part > 1) return nullptr;
    *v |= part << shift;
    if (!(*p++ & 0x80)) return p;
  }
  return nullptr;
}

}  // namespace stretto::codec::dense
