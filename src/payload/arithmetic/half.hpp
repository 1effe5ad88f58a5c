// To nearest even; NaN becomes quiet. Branch-free, so that loops vectorise on any machine.
#pragma once

#include <bit>
#include <cstdint>

namespace stretto::payload {

struct F16 {
  std::uint16_t bits;
};
struct BF16 {
  std::uint16_t bits;
};

constexpr float widen(BF16 x) noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }

constexpr BF16 narrow_bf16(float x) noexcept {
  const std::uint32_t b = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (b + 0x7FFFu + ((b >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (b >> 16) | 0x40u;
  return {static_cast<std::uint16_t>((b & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded)};
}

// No float32 operand is subnormal: processors may flush those.
constexpr float widen(F16 x) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(x.bits & 0x7FFFu) << 13;
  const std::uint32_t normal = magnitude + (112u << 23);
  // Subnormal: under the exponent of 2^-14 the significand counts units of 2^-24, plus 2^-14.
  const float small = std::bit_cast<float>(magnitude + (113u << 23)) - 0x1p-14f;
  const std::uint32_t special = magnitude | 0x7F800000u;
  std::uint32_t w = magnitude < 0x00800000u ? std::bit_cast<std::uint32_t>(small) : normal;
  w = magnitude >= 0x0F800000u ? special : w;
  return std::bit_cast<float>(sign | w);
}

constexpr F16 narrow_f16(float x) noexcept {
  const std::uint32_t b = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (b >> 16) & 0x8000u;
  const std::uint32_t magnitude = b & 0x7FFFFFFFu;
  // Normal: round away 13 bits, then move the exponent. Numbers from 0x477FF000 on round to infinity.
  const std::uint32_t normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  // Subnormal: adding 0.5 rounds the significand to units of 2^-24.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  std::uint32_t h = magnitude < 0x38800000u ? small : normal;
  h = magnitude >= 0x477FF000u ? 0x7C00u : h;
  h = magnitude > 0x7F800000u ? (0x7E00u | ((magnitude >> 13) & 0x3FFu)) : h;
  return {static_cast<std::uint16_t>(sign | h)};
}

}  // namespace stretto::payload
