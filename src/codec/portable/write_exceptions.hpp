// By whole blocks, since missing data come in runs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/stream/exception_map.hpp"
#include "codec/stream/exceptions.hpp"

namespace stretto::codec {

struct Missing {
  Lanes lanes = {};
  int count = 0;
  bool alike = true;
};

template <class Q>
void fill_exceptions(const Lanes lanes, Q* q) noexcept {
  int first = 0;
  while (first < kBlocks && lanes[first] == ~0u) ++first;
  Q last = first < kBlocks ? q[kBlock * first + std::countr_one(lanes[first])] : Q{0};
  for (int b = 0; b < kBlocks; ++b) {
    Q* block = q + kBlock * b;
    if (lanes[b] == ~0u) {
      std::fill_n(block, kBlock, last);
      continue;
    }
    for (std::uint32_t left = lanes[b]; left;) {
      const int at = std::countr_zero(left), length = std::countr_one(left >> at);  // below 32
      std::fill_n(block + at, length, at > 0 ? block[at - 1] : last);
      left &= ~(((1u << length) - 1) << at);
    }
    last = block[kBlock - 1];
  }
}

// At least one exception. Takes up to sizeof(T) bytes per exception and 256 more.
template <class T>
std::uint8_t* write_exceptions(const T* x, const Missing& missing, std::uint8_t* p) noexcept {
  std::uint8_t* kind = p;
  p += write_exception_map(missing.lanes, kGroup, p, 256);
  if (!missing.alike) {
    for_each_exception(missing.lanes, [&](int i) {
      std::memcpy(p, x + i, sizeof(T));
      p += sizeof(T);
    });
    return p;
  }
  *kind |= kUniformBit;
  const T* const value = x + first_exception(missing.lanes);
  if (std::memcmp(value, quiet_nan_bytes(sizeof(T)), sizeof(T)) == 0) {
    *kind |= kQuietNanBit;
    return p;
  }
  std::memcpy(p, value, sizeof(T));
  return p + sizeof(T);
}

}  // namespace stretto::codec
