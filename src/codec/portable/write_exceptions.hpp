// Exceptions of a group as a kernel writes them: their codes, and the section that holds their places and values. No vector code; runs of
// exceptions are the rule (missing data), so these go by whole blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/exception_map.hpp"
#include "codec/exceptions.hpp"

namespace stretto::codec {

// Every exception takes the code before it; those before the first code take that.
inline void fill_exceptions(const Lanes lanes, std::int32_t* q) noexcept {
  int first = 0;
  while (first < kBlocks && lanes[first] == ~0u) ++first;
  std::int32_t last = first < kBlocks ? q[kBlock * first + std::countr_one(lanes[first])] : 0;
  for (int b = 0; b < kBlocks; ++b) {
    std::int32_t* block = q + kBlock * b;
    if (lanes[b] == ~0u) {
      std::fill_n(block, kBlock, last);
      continue;
    }
    for (std::uint32_t left = lanes[b]; left; left &= left - 1) {
      const int at = std::countr_zero(left);
      block[at] = at > 0 ? block[at - 1] : last;
    }
    last = block[kBlock - 1];
  }
}

// The section of these exceptions of x, of which there are some; where it ends. Takes up to sizeof(T) bytes an exception and 256 more.
template <class T>
std::uint8_t* write_exceptions(const T* x, const Lanes lanes, std::uint8_t* p) noexcept {
  std::uint8_t* kind = p;
  p += write_exception_map(lanes, kGroup, p, 256);
  std::uint8_t* const values = p;
  bool alike = true;
  for_each_exception(lanes, [&](int i) {
    std::memcpy(p, x + i, sizeof(T));
    alike = alike && std::memcmp(p, values, sizeof(T)) == 0;
    p += sizeof(T);
  });
  if (!alike) return p;
  *kind |= kUniformBit;
  if (std::memcmp(values, quiet_nan_bytes(sizeof(T)), sizeof(T)) != 0) return values + sizeof(T);
  *kind |= kQuietNanBit;
  return values;
}

}  // namespace stretto::codec
