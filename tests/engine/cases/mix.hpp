// Numbers that look drawn, of numbers in a row.
#pragma once

#include <cstdint>

namespace stretto::tests {

inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

}  // namespace stretto::tests
