#pragma once

#include <bit>
#include <cstdint>

namespace stretto::codec {

inline constexpr float kLargestToF16 = 0x1.ffdffep15f, kLargestToBf16 = 0x1.fefffep127f;

inline float widen_bf16(std::uint16_t b) noexcept { return std::bit_cast<float>(std::uint32_t{b} << 16); }

inline std::uint16_t round_bf16(float x) noexcept {
  const auto u = std::bit_cast<std::uint32_t>(x);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(u >> 16 | (u & 0x7f0000 ? 0 : 0x40));
  return static_cast<std::uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

inline float widen_f16(std::uint16_t h) noexcept {
  const std::uint32_t sign = std::uint32_t{h & 0x8000u} << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    const float v = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -v : v;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline std::uint16_t round_f16(float x) noexcept {
  const auto u = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(u >> 16 & 0x8000);
  const std::uint32_t a = u & 0x7fffffff;
  if (a > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7c00 | (a >> 13 & 0x3ff ? a >> 13 & 0x3ff : 0x200));
  if (a >= 0x477ff000) return sign | 0x7c00;
  if (a < 0x38800000) {
    const float scaled = std::bit_cast<float>(a) * 0x1p24f + 0x1p23f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(scaled) & 0x7ff));
  }
  return static_cast<std::uint16_t>(sign | ((a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13));
}

}  // namespace stretto::codec
