// Masks and bit planes in vectors of 64-bit Arm. Intrinsics: Highway lacks table lookups of more than 16 bytes and
// products of polynomials.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace stretto::codec::dense::neon {

struct Lanes {
  uint8x16_t of[2];
};

inline uint8x16_t bit_of_lane() noexcept { return vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201)); }

// 255 in each lane whose bit is set.
inline Lanes lanes_of(std::uint32_t bits) noexcept {
  const uint8x16_t all = vreinterpretq_u8_u32(vdupq_n_u32(bits));
  const uint8x16_t first = vcombine_u8(vdup_n_u8(0), vdup_n_u8(1)), second = vcombine_u8(vdup_n_u8(2), vdup_n_u8(3));
  return {{vtstq_u8(vqtbl1q_u8(all, first), bit_of_lane()), vtstq_u8(vqtbl1q_u8(all, second), bit_of_lane())}};
}

// The inverse for two masks, in 32 bits each.
inline uint32x2_t bits_of(const Lanes& a, const Lanes& b) noexcept {
  const uint8x16_t bit = bit_of_lane();
  const uint8x16_t twos_a = vpaddq_u8(vandq_u8(a.of[0], bit), vandq_u8(a.of[1], bit));
  const uint8x16_t twos_b = vpaddq_u8(vandq_u8(b.of[0], bit), vandq_u8(b.of[1], bit));
  const uint8x16_t fours = vpaddq_u8(twos_a, twos_b);
  return vreinterpret_u32_u8(vget_low_u8(vpaddq_u8(fours, fours)));
}

// The bits of each byte of `v` at the places of `mask`, moved to the byte's lower end; and the inverse. Both by moves
// over 1, 2 and 4 places (Warren, Hacker's Delight, sections 7-4 and 7-5).
struct Moves {
  uint8x16_t by[3];
};
inline Moves moves_of(uint8x16_t mask) noexcept {
  const poly8x16_t ones = vdupq_n_p8(0xff);  // bits of a product with it: parities of the bits up to each
  Moves r;
  uint8x16_t gaps = vshlq_n_u8(vmvnq_u8(mask), 1);
  uint8x16_t odd = vreinterpretq_u8_p8(vmulq_p8(vreinterpretq_p8_u8(gaps), ones));
  r.by[0] = vandq_u8(odd, mask);
  mask = vsraq_n_u8(vbicq_u8(mask, r.by[0]), r.by[0], 1);
  gaps = vbicq_u8(gaps, odd);
  odd = vreinterpretq_u8_p8(vmulq_p8(vreinterpretq_p8_u8(gaps), ones));
  r.by[1] = vandq_u8(odd, mask);
  mask = vsraq_n_u8(vbicq_u8(mask, r.by[1]), r.by[1], 2);
  gaps = vbicq_u8(gaps, odd);
  odd = vreinterpretq_u8_p8(vmulq_p8(vreinterpretq_p8_u8(gaps), ones));
  r.by[2] = vandq_u8(odd, mask);
  return r;
}
inline uint8x16_t gather_bytes(uint8x16_t v, uint8x16_t mask) noexcept {
  const Moves moves = moves_of(mask);
  v = vandq_u8(v, mask);
  v = vsraq_n_u8(vbicq_u8(v, moves.by[0]), vandq_u8(v, moves.by[0]), 1);
  v = vsraq_n_u8(vbicq_u8(v, moves.by[1]), vandq_u8(v, moves.by[1]), 2);
  return vsraq_n_u8(vbicq_u8(v, moves.by[2]), vandq_u8(v, moves.by[2]), 4);
}
inline uint8x16_t spread_bytes(uint8x16_t v, uint8x16_t mask) noexcept {
  const Moves moves = moves_of(mask);
  v = vbslq_u8(moves.by[2], vshlq_n_u8(v, 4), v);
  v = vbslq_u8(moves.by[1], vshlq_n_u8(v, 2), v);
  v = vbslq_u8(moves.by[0], vshlq_n_u8(v, 1), v);
  return vandq_u8(v, mask);
}

// Four planes' bits at the places of their masks, together, and how many these are; and the inverse.
struct Fours {
  uint32x4_t bits, counts;
};
inline Fours gather(uint32x4_t v, uint32x4_t mask) noexcept {
  const uint8x16_t places = vreinterpretq_u8_u32(mask), count = vcntq_u8(places);
  const uint16x8_t counts = vpaddlq_u8(count);
  // Shifts use the lowest byte of a lane, the count of its lower half.
  uint16x8_t two = vreinterpretq_u16_u8(gather_bytes(vreinterpretq_u8_u32(v), places));
  two = vorrq_u16(vandq_u16(two, vdupq_n_u16(0xff)), vshlq_u16(vshrq_n_u16(two, 8), vreinterpretq_s16_u8(count)));
  uint32x4_t four = vreinterpretq_u32_u16(two);
  four =
      vorrq_u32(vandq_u32(four, vdupq_n_u32(0xffff)), vshlq_u32(vshrq_n_u32(four, 16), vreinterpretq_s32_u16(counts)));
  return {four, vpaddlq_u16(counts)};
}
inline uint32x4_t spread(uint32x4_t v, uint32x4_t mask) noexcept {
  const int8x16_t less = vnegq_s8(vreinterpretq_s8_u8(vcntq_u8(vreinterpretq_u8_u32(mask))));
  v = vsliq_n_u32(v, vshlq_u32(v, vreinterpretq_s32_s16(vpaddlq_s8(less))), 16);
  uint16x8_t two = vreinterpretq_u16_u32(v);
  two = vsliq_n_u16(two, vshlq_u16(two, vreinterpretq_s16_s8(less)), 8);
  return vreinterpretq_u32_u8(spread_bytes(vreinterpretq_u8_u16(two), vreinterpretq_u8_u32(mask)));
}

}  // namespace stretto::codec::dense::neon
