// Places of a group's exceptions (docs/format.md, section 3).
#pragma once

#include <cstdint>

#include "codec/stream/group.hpp"

namespace stretto::codec {

// Lanes of block b that exist in a group of m values.
constexpr std::uint32_t lanes_below(int b, int m) noexcept {
  const int n = m - kBlock * b;
  return n >= kBlock ? ~0u : n <= 0 ? 0u : (1u << n) - 1;
}

constexpr bool is_exception_kind(std::uint8_t kind) noexcept {
  return kind <= 15 && (!(kind & kQuietNanBit) || (kind & (kUniformBit | kSumsBit)) == kUniformBit);
}

// Bytes read; 0 if malformed.
std::size_t parse_exception_map(const std::uint8_t* p, std::size_t left, int m, std::uint8_t* kind,
                                Lanes lanes) noexcept;

// Writes `kind` with its runs bit only. Bytes written; 0 if they do not fit.
std::size_t write_exception_map(const Lanes lanes, int m, std::uint8_t* out, std::size_t room) noexcept;

// 0 unless write_exception_map() would write these bytes and they fit.
std::size_t copy_exception_runs(const GroupView& from, std::uint8_t* out, std::size_t room) noexcept;

// `size` is 4 or 8.
const std::uint8_t* quiet_nan_bytes(std::size_t size) noexcept;

}  // namespace stretto::codec
