// The order of prediction from samples of codes (docs/format.md).
#pragma once

#include "codec/avx512/planes.hpp"
#include "codec/stream/group.hpp"

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
STRETTO_INLINE __m512i magnitude64(__m512i v) noexcept { return _mm512_xor_si512(v, _mm512_srai_epi64(v, 63)); }

STRETTO_INLINE int least_cost(int c0, int c1, int c2) noexcept {
  int order = c1 < c0 ? 1 : 0;
  if (c2 < (order ? c1 : c0)) order = 2;
  return order;
}

struct Costs {
  int order0, order1, order2;
};
STRETTO_INLINE Costs costs_of_runs16(const std::int16_t* q) noexcept {
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
  // Word i of each 128-bit lane of a: the OR of that lane of m[i]; of b: m[8] in word 0.
  const __m512i a =
      merge64(merge32(merge16(m[0], m[1]), merge16(m[2], m[3])), merge32(merge16(m[4], m[5]), merge16(m[6], m[7])));
  const __m512i b = merge64(merge32(merge16(m[8], zero), zero), zero);
  const __m512i r = merge128(a, b);
  const __m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(r));
  const __m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(r, 1));
  const __m512i top = _mm512_set1_epi32(32);
  const __m512i bits_low = _mm512_sub_epi32(top, _mm512_lzcnt_epi32(low)),
                bits_high = _mm512_sub_epi32(top, _mm512_lzcnt_epi32(high));
  // Word i of a lane belongs to m[i]: 0-2 order 0, 3-5 order 1, 6-8 order 2.
  const __m512i one = _mm512_set1_epi32(1);
  const bool negative = _mm512_movepi16_mask(any_negative) != 0;
  const __mmask16 plus = static_cast<__mmask16>(negative ? 0xffff : 0xf8f8);
  const __m512i cost_low = _mm512_mask_add_epi32(bits_low, _mm512_test_epi32_mask(low, low) & plus, bits_low, one);
  const __m512i cost_high = _mm512_mask_add_epi32(bits_high, _mm512_test_epi32_mask(high, high), bits_high, one);
  // Byte i: the costs by m[i], at most 34.
  const __m256i both = _mm256_add_epi32(_mm512_castsi512_si256(cost_low), _mm512_extracti64x4_epi64(cost_low, 1));
  const auto costs = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_cvtepi32_epi8(both)));
  const int last =
      _mm_cvtsi128_si32(_mm512_castsi512_si128(cost_high)) + _mm_cvtsi128_si32(_mm512_extracti32x4_epi32(cost_high, 2));
  const auto three_of = [&](int at) { return static_cast<int>((costs >> at & 0xffffff) * 0x010101 >> 16 & 0xff); };
  return {three_of(0), three_of(24), static_cast<int>((costs >> 48 & 0xff) + (costs >> 56)) + last};
}

inline constexpr SampledRuns kPairs = sampled_runs(Coding::dense);
template <class Code>
bool any_negative_in_pairs(const Code* q) noexcept {
  __m512i any = _mm512_setzero_si512();
  for (int start = kPairs.first; start < kGroup; start += kPairs.step)
    for (int i = 0; i < kPairs.length; i += 64 / static_cast<int>(sizeof *q))
      any = _mm512_or_si512(any, _mm512_load_si512(q + start + i));
  return (sizeof *q == 2 ? _mm512_movepi16_mask(any) : _mm512_movepi32_mask(any)) != 0;
}

// Per pair of words, 16 less the bits of their magnitudes, in the upper half of a dword. Without bits: the place of the
// upper bit of `end`, which follows them.
STRETTO_INLINE __m512i zeros_of_pairs(__m512i v, __m512i end) noexcept {
  const __m512i m = _mm512_abs_epi16(v), upper = _mm512_set1_epi32(static_cast<int>(0xffff0000));
  return _mm512_lzcnt_epi32(
      _mm512_ternarylogic_epi32(m, upper, _mm512_shldi_epi32(m, end, 16), 0xea));  // (m & upper) | _
}
// Out of line, so that fixed streams need none of its registers.
__attribute__((noinline)) static inline Costs costs_of_pairs16(const std::int16_t* q) noexcept {
  constexpr int kPairsIn = 128;
  const bool negative = any_negative_in_pairs(q);
  const __m512i end = _mm512_set1_epi32(1 << 30), end0 = _mm512_set1_epi32(negative ? 1 << 30 : 1 << 31);
  __m512i z0 = _mm512_setzero_si512(), z1 = z0, z2 = z0;
  for (int start = kPairs.first; start < kGroup; start += kPairs.step) {
    const __m512i q0 = _mm512_load_si512(q + start), q1 = _mm512_loadu_si512(q + start - 1);
    const __m512i d = _mm512_sub_epi16(q0, q1), d1 = _mm512_sub_epi16(q1, _mm512_loadu_si512(q + start - 2));
    z0 = _mm512_add_epi32(z0, zeros_of_pairs(q0, end0));
    z1 = _mm512_add_epi32(z1, zeros_of_pairs(d, end));
    z2 = _mm512_add_epi32(z2, zeros_of_pairs(_mm512_sub_epi16(d, d1), end));
  }
  return {(negative ? 17 : 16) * kPairsIn - _mm512_reduce_add_epi32(z0), 17 * kPairsIn - _mm512_reduce_add_epi32(z1),
          17 * kPairsIn - _mm512_reduce_add_epi32(z2)};
}

static inline int choose_order16(const std::int16_t* q, Coding orders) noexcept {
  const Costs c = orders == Coding::dense ? costs_of_pairs16(q) : costs_of_runs16(q);
  return least_cost(c.order0, c.order1, c.order2);
}
// Order 0 costs most: codes are distances from a large number.
static inline int choose_far_order16(const std::int16_t* q, Coding orders) noexcept {
  const Costs c = orders == Coding::dense ? costs_of_pairs16(q) : costs_of_runs16(q);
  return c.order2 < c.order1 ? 2 : 1;
}

STRETTO_INLINE __m128i or_each(__m512i a, __m512i b, __m512i c, __m512i d) noexcept {
  const __m512i v = merge64(merge32(a, b), merge32(c, d));
  const __m256i w = _mm256_or_si256(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
  return _mm_or_si128(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
}

// Twice the cost of a vector of pairs, without signs; *some counts dwords with bits.
STRETTO_INLINE __m512i zeros_of_pairs32(__m512i v, int* some) noexcept {
  const __m512i m = _mm512_abs_epi32(v), both = _mm512_or_si512(m, _mm512_shuffle_epi32(m, _MM_PERM_CDAB));
  *some += _mm_popcnt_u32(_mm512_test_epi32_mask(both, both));
  return _mm512_lzcnt_epi32(both);
}
__attribute__((noinline)) static inline int order_by_pairs32(const std::int32_t* q) noexcept {
  __m512i z0 = _mm512_setzero_si512(), z1 = z0, z2 = z0;
  int some[3] = {};
  for (int start = kPairs.first; start < kGroup; start += kPairs.step) {
    for (const std::int32_t* p : {q + start, q + start + 16}) {
      const __m512i q0 = _mm512_load_si512(p), q1 = _mm512_loadu_si512(p - 1);
      const __m512i d = _mm512_sub_epi32(q0, q1), d1 = _mm512_sub_epi32(q1, _mm512_loadu_si512(p - 2));
      z0 = _mm512_add_epi32(z0, zeros_of_pairs32(q0, &some[0]));
      z1 = _mm512_add_epi32(z1, zeros_of_pairs32(d, &some[1]));
      z2 = _mm512_add_epi32(z2, zeros_of_pairs32(_mm512_sub_epi32(d, d1), &some[2]));
    }
  }
  if (!any_negative_in_pairs(q)) some[0] = 0;
  return least_cost(some[0] - _mm512_reduce_add_epi32(z0), some[1] - _mm512_reduce_add_epi32(z1),
                    some[2] - _mm512_reduce_add_epi32(z2));
}

static inline int choose_order32(const std::int32_t* q, Coding orders) noexcept {
  if (orders == Coding::dense) return order_by_pairs32(q);
  __m512i m[20];
  __m512i any_negative = _mm512_setzero_si512();
  m[18] = m[19] = any_negative;
  for (int k = 0; k < 6; ++k) {
    const std::int32_t* p = q + 112 + 160 * k;
    const __m512i q0 = _mm512_loadu_si512(p), q1 = _mm512_loadu_si512(p - 1), q2 = _mm512_loadu_si512(p - 2);
    const __m512i d = _mm512_sub_epi32(q0, q1);
    any_negative = _mm512_or_si512(any_negative, q0);
    m[k] = magnitude32(q0);
    m[6 + k] = magnitude32(d);
    m[12 + k] = magnitude32(_mm512_sub_epi32(d, _mm512_sub_epi32(q1, q2)));
  }
  // Word i of `bits`, then of `rest`, belongs to m[i].
  __m512i bits = _mm512_castsi128_si512(or_each(m[0], m[1], m[2], m[3]));
  bits = _mm512_inserti32x4(bits, or_each(m[4], m[5], m[6], m[7]), 1);
  bits = _mm512_inserti32x4(bits, or_each(m[8], m[9], m[10], m[11]), 2);
  bits = _mm512_inserti32x4(bits, or_each(m[12], m[13], m[14], m[15]), 3);
  __m512i rest = _mm512_zextsi128_si512(or_each(m[16], m[17], m[18], m[19]));
  const __m512i top = _mm512_set1_epi32(32), one = _mm512_set1_epi32(1);
  const auto plus = static_cast<__mmask16>(_mm512_movepi32_mask(any_negative) ? 0xffff : 0xffc0);
  const __mmask16 some = _mm512_test_epi32_mask(bits, bits), some_rest = _mm512_test_epi32_mask(rest, rest);
  bits = _mm512_sub_epi32(top, _mm512_lzcnt_epi32(bits));
  rest = _mm512_sub_epi32(top, _mm512_lzcnt_epi32(rest));
  bits = _mm512_mask_add_epi32(bits, some & plus, bits, one);
  rest = _mm512_mask_add_epi32(rest, some_rest, rest, one);
  return least_cost(_mm512_mask_reduce_add_epi32(0x003f, bits), _mm512_mask_reduce_add_epi32(0x0fc0, bits),
                    _mm512_mask_reduce_add_epi32(0xf000, bits) + _mm512_reduce_add_epi32(rest));
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
