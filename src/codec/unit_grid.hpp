#pragma once

#include <bit>
#include <cmath>

#include "codec/kernels.hpp"

namespace stretto::codec {

// Integers of up to 21 bits (float64: 31) are their own codes.
template <class T>
const Grid<T>& unit_grid() noexcept {
  static const Grid<T> grid = make_grid<T>(sizeof(T) == 4 ? Type::f32 : Type::f64, 0.75, 1);
  return grid;
}

// Decodes a full group on the unit grid. False if a code may have been rounded, or exceeds 31 bits.
template <class Code>
bool codes_of(const float* v, Code* q) noexcept {
  constexpr std::int32_t limit = std::bit_cast<std::int32_t>(0x1p24f);
  std::int32_t most = 0;
  for (int i = 0; i < kGroup; ++i) {
    const std::int32_t size = std::bit_cast<std::int32_t>(v[i]) & 0x7fffffff;
    most = size > most ? size : most;
  }
  if (most >= limit) return false;
  for (int i = 0; i < kGroup; ++i) set_element(q, i, static_cast<Code>(static_cast<std::int32_t>(v[i])));
  return true;
}
template <class Code>
bool codes_of(const double* v, Code* q) noexcept {
  bool fit = true;
  for (int i = 0; i < kGroup; ++i) fit &= std::fabs(v[i]) <= double{kNarrowLimit};
  if (!fit) return false;
  for (int i = 0; i < kGroup; ++i) set_element(q, i, static_cast<Code>(static_cast<std::int32_t>(v[i])));
  return true;
}

// Decodes a full group of `words` > 0 words. False if it has exceptions or wide codes, or the kernel declines.
// kReadSlack bytes after the words are readable.
template <class T, class Code>
bool decode_codes(const ValueKernels<T>& kernels, const std::uint8_t* p, std::size_t words, Code* q) noexcept {
  const auto word = load<std::uint32_t>(p);
  if (!kernels.decompress || (word & (kWideBit | kExceptionsBit)) || static_cast<Form>(word >> 4 & 7) == Form::verbatim)
    return false;
  alignas(64) T v[kGroup];
  return kernels.decompress(p, words, unit_grid<T>(), kSingleLimit, 1, false, v) && codes_of(v, q);
}

}  // namespace stretto::codec
