#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "codec/numbers/arithmetic.hpp"

namespace stretto::codec {

inline constexpr Lanes kNoLanes = {};

inline std::uint64_t magnitude(std::int64_t q) noexcept {
  return q < 0 ? 0 - static_cast<std::uint64_t>(q) : static_cast<std::uint64_t>(q);
}

// The compiler vectorises this.
inline int places(const Lanes lanes) noexcept {
  std::uint32_t sum = 0;
  for (int b = 0; b < kBlocks; ++b) {
    std::uint32_t v = lanes[b];
    v -= v >> 1 & 0x55555555;
    v = (v & 0x33333333) + (v >> 2 & 0x33333333);
    v = (v + (v >> 4)) & 0x0f0f0f0f;
    sum += (v & 0x00ff00ff) + (v >> 8 & 0x00ff00ff);
  }
  return static_cast<int>((sum & 0xffff) + (sum >> 16));
}

inline void count(const Codes q, int m, const Lanes lanes, Tally* tally) noexcept {
  Tally t;
  for (int i = 0; i < m; ++i)
    if (!(lanes[i / kBlock] >> (i % kBlock) & 1)) t.bound = std::max(t.bound, magnitude(q[i]));
  t.exceptions = static_cast<std::uint64_t>(places(lanes));
  tally->merge(t);
}

inline std::size_t put_bytes(const void* value, std::size_t n, std::uint8_t* out, std::size_t room) noexcept {
  if (n > room) return 0;
  std::memcpy(out, value, n);
  return n;
}

// Rounding a code of more than 53 bits first would cost 2 eps a unit.
inline double code_value_float64(std::int64_t q, double width) noexcept {
  constexpr std::uint64_t kFloat64Exact = std::uint64_t{1} << 53;
  if (magnitude(q) <= kFloat64Exact) return static_cast<double>(q) * width;
  const std::int64_t low = q % (std::int64_t{1} << 32);
  return std::fma(static_cast<double>(q - low), width, static_cast<double>(low) * width);
}

template <class T>
T code_value(std::int64_t q, double width) noexcept {
  return static_cast<T>(code_value_float64(q, width));
}

}  // namespace stretto::codec
