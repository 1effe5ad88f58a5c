#pragma once

#include <cstdint>

namespace stretto::select {

inline std::uint64_t mix(std::uint64_t h, std::uint64_t x) noexcept {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

}  // namespace stretto::select
