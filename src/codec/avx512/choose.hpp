// The order of prediction for a group: six samples of 16 codes, as docs/format.md prescribes.
#pragma once

#include "codec/avx512/planes.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

STRETTO_INLINE __m512i merge16(__m512i a, __m512i b) noexcept {
  return _mm512_or_si512(_mm512_unpacklo_epi16(a, b), _mm512_unpackhi_epi16(a, b));
}
STRETTO_INLINE __m512i merge32(__m512i a, __m512i b) noexcept {
  return _mm512_or_si512(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
STRETTO_INLINE __m512i merge64(__m512i a, __m512i b) noexcept {
  return _mm512_or_si512(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}
STRETTO_INLINE __m512i merge128(__m512i a, __m512i b) noexcept {
  return _mm512_or_si512(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
}
STRETTO_INLINE __m512i magnitude16(__m512i v) noexcept { return _mm512_xor_si512(v, _mm512_srai_epi16(v, 15)); }
STRETTO_INLINE __m512i magnitude32(__m512i v) noexcept { return _mm512_xor_si512(v, _mm512_srai_epi32(v, 31)); }

STRETTO_INLINE int least_cost(int c0, int c1, int c2) noexcept {
  int order = c1 < c0 ? 1 : 0;
  if (c2 < (order ? c1 : c0)) order = 2;
  return order;
}

// Codes of 16 bits; any difference of second order fits.
static inline int choose_order16(const std::int16_t* q) noexcept {
  __m512i m[9];
  __m512i any_negative = _mm512_setzero_si512();
  for (int k = 0; k < 3; ++k) {
    const auto two = [&](int lag) {
      const auto* a = reinterpret_cast<const __m256i*>(q + 112 + 320 * k - lag);
      const auto* b = reinterpret_cast<const __m256i*>(q + 272 + 320 * k - lag);
      return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(a)), _mm256_loadu_si256(b), 1);
    };
    const __m512i q0 = two(0), q1 = two(1), q2 = two(2);
    const __m512i d = _mm512_sub_epi16(q0, q1);
    any_negative = _mm512_or_si512(any_negative, q0);
    m[k] = magnitude16(q0);
    m[3 + k] = magnitude16(d);
    m[6 + k] = magnitude16(_mm512_sub_epi16(d, _mm512_sub_epi16(q1, q2)));
  }
  const __m512i zero = _mm512_setzero_si512();
  // Word i of each 128-bit lane of a: the OR of the same lane of m[i]; of b: that of m[8] in word 0.
  const __m512i a = merge64(merge32(merge16(m[0], m[1]), merge16(m[2], m[3])), merge32(merge16(m[4], m[5]), merge16(m[6], m[7])));
  const __m512i b = merge64(merge32(merge16(m[8], zero), zero), zero);
  const __m512i r = merge128(a, b);  // lanes: both samples of a, both of b
  const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(r));
  const __m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(r, 1));
  const __m512i top = _mm512_set1_epi32(32);
  const __m512i bits_low = _mm512_sub_epi32(top, _mm512_lzcnt_epi32(low)), bits_high = _mm512_sub_epi32(top, _mm512_lzcnt_epi32(high));
  // Word i of a lane belongs to m[i]: 0-2 order 0, 3-5 order 1, 6-8 order 2.
  const __m512i one = _mm512_set1_epi32(1);
  const bool negative = _mm512_movepi16_mask(any_negative) != 0;
  const __mmask16 plus = static_cast<__mmask16>(negative ? 0xffff : 0xf8f8);
  const __m512i cost_low = _mm512_mask_add_epi32(bits_low, _mm512_test_epi32_mask(low, low) & plus, bits_low, one);
  const __m512i cost_high = _mm512_mask_add_epi32(bits_high, _mm512_test_epi32_mask(high, high), bits_high, one);
  const int c0 = _mm512_mask_reduce_add_epi32(0x0707, cost_low), c1 = _mm512_mask_reduce_add_epi32(0x3838, cost_low);
  const int c2 = _mm512_mask_reduce_add_epi32(0xc0c0, cost_low) + _mm512_reduce_add_epi32(cost_high);
  return least_cost(c0, c1, c2);
}

// Codes of 32 bits.
static inline int choose_order32(const std::int32_t* q) noexcept {
  int c0 = 0, unsigned_c0 = 0, c1 = 0, c2 = 0;
  __m512i any_negative = _mm512_setzero_si512();
  const auto bits = [](__m512i v) { return 32 - static_cast<int>(_lzcnt_u32(static_cast<unsigned>(_mm512_reduce_or_epi32(magnitude32(v))))); };
  for (int start = 112; start <= 912; start += 160) {
    const __m512i q0 = _mm512_loadu_si512(q + start), q1 = _mm512_loadu_si512(q + start - 1), q2 = _mm512_loadu_si512(q + start - 2);
    const __m512i d = _mm512_sub_epi32(q0, q1);
    any_negative = _mm512_or_si512(any_negative, q0);
    const int b0 = bits(q0), b1 = bits(d), b2 = bits(_mm512_sub_epi32(d, _mm512_sub_epi32(q1, q2)));
    unsigned_c0 += b0;
    c0 += b0 + (b0 > 0);
    c1 += b1 + (b1 > 0);
    c2 += b2 + (b2 > 0);
  }
  return least_cost(_mm512_movepi32_mask(any_negative) ? c0 : unsigned_c0, c1, c2);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
