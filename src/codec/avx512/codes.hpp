// Byte dot products (VPDPBUSD) sum four residuals of up to 8 bits, word dot products (VPDPWSSD) two of up to 16.
#pragma once

#include "codec/avx512/group.hpp"

namespace stretto::codec::avx512 {

// Two halves abreast, in the lower and upper quadwords of each lane: two blocks in bytes, or half blocks in words.
struct AbreastTables {
  // Planes of width w <= 8 to reversed quadwords; 0 in the other block's quadwords.
  alignas(64) std::uint8_t spread[2][9][64];
  alignas(64) std::uint8_t interleave[64];
  // Weights of a quadword's bytes, and of the bytes with its dwords exchanged, for their sum in the lower dword and
  // their moment (residual times place) in the upper one; and for the upper dword alone, of the lower one's bytes.
  alignas(64) std::uint8_t own8[2][64], lower_sum8[64], lower_moment8[64];
  alignas(64) std::int16_t place16[32];
  // Places before each dword, and one more.
  alignas(64) std::int32_t after8[16], after16[16];

  constexpr AbreastTables() noexcept
      : spread(), interleave(), own8(), lower_sum8(), lower_moment8(), place16(), after8(), after16() {
    for (int lane = 0; lane < 4; ++lane) {
      for (int half = 0; half < 2; ++half) {
        for (int i = 0; i < 8; ++i) {
          const int to = 16 * lane + 8 * half + i, byte = 32 * half + 8 * lane + i, word = byte / 2;
          for (int w = 0; w <= 8; ++w)
            spread[half][w][to] = static_cast<std::uint8_t>(kTables.spread[w][8 * lane + i] + 32 * half);
          interleave[to] = static_cast<std::uint8_t>(word + 32 * (i % 2));
          const bool upper = i >= 4;
          own8[0][to] = static_cast<std::uint8_t>(upper ? byte : 1);
          own8[1][to] = static_cast<std::uint8_t>(upper ? byte - 4 : 1);
          lower_sum8[to] = upper;
          lower_moment8[to] = static_cast<std::uint8_t>(upper ? byte - 4 : 0);
          place16[to / 2] = static_cast<std::int16_t>(word);
          if (i % 4 == 0) {
            after8[to / 4] = byte + 1;
            after16[to / 4] = word + 1;
          }
        }
      }
    }
  }
};
inline constexpr AbreastTables kAbreast{};

STRETTO_AVX512_BEGIN

// w0 and w1 as for read_bytes2().
template <bool kZeros>
STRETTO_INLINE __m512i read_bytes_abreast(const std::uint8_t* p, std::size_t w0, std::size_t w1) noexcept {
  const __m512i t = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + w0)), 1);
  const __m512i index = _mm512_or_si512(_mm512_load_si512(row_at(kAbreast.spread[0], 16 * w0)),
                                        _mm512_load_si512(row_at(kAbreast.spread[1], 16 * w1)));
  if constexpr (!kZeros) return transpose(_mm512_permutexvar_epi8(index, t));
  const __mmask64 present = (w0 > 0 ? 0x00ff00ff00ff00ff : 0) | (w1 > 0 ? 0xff00ff00ff00ff00 : 0);
  return transpose(_mm512_maskz_permutexvar_epi8(present, index, t));
}
STRETTO_INLINE __m512i read_words_abreast(const std::uint8_t* p, unsigned w) noexcept {
  return _mm512_permutexvar_epi8(_mm512_load_si512(kAbreast.interleave), read_words_split<false>(p, w));
}

STRETTO_INLINE __m256i prefix8(__m256i v) noexcept {
  const __m256i zero = _mm256_setzero_si256();
  v = _mm256_add_epi32(v, _mm256_alignr_epi32(v, zero, 7));
  v = _mm256_add_epi32(v, _mm256_alignr_epi32(v, zero, 6));
  return _mm256_add_epi32(v, _mm256_alignr_epi32(v, zero, 4));
}
STRETTO_INLINE __m512i prefix16(__m512i v) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 15));
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 14));
  v = _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 12));
  return _mm512_add_epi32(v, _mm512_alignr_epi32(v, zero, 8));
}
STRETTO_INLINE __m512i last16(__m512i v) noexcept {
  v = _mm512_shuffle_i32x4(v, v, 0xff);
  return _mm512_shuffle_epi32(v, _MM_PERM_DDDD);
}
STRETTO_INLINE __m512i last8(__m256i v) noexcept {
  return _mm512_permutexvar_epi32(_mm512_set1_epi32(7), _mm512_castsi256_si512(v));
}
// Each of the words 0-3 (second: 4-7) four times; twins(): 0-7 (8-15) twice.
STRETTO_INLINE __m512i quads(__m256i v, bool second) noexcept {
  const __m512i low = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  const __m512i index = second ? _mm512_add_epi32(low, _mm512_set1_epi32(4)) : low;
  return _mm512_permutexvar_epi32(index, _mm512_castsi256_si512(v));
}
STRETTO_INLINE __m512i twins(__m512i v, bool second) noexcept {
  const __m512i low = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  const __m512i index = second ? _mm512_add_epi32(low, _mm512_set1_epi32(8)) : low;
  return _mm512_permutexvar_epi32(index, v);
}

struct FourVectors {
  __m512i v[4];
};

// Two blocks are decoded in three steps: residuals with their sums, the state before each dword, codes.
struct Sums {
  __m512i e, sums;
};
struct SumsAndMoments {
  __m512i e, exchanged, own;
};
struct Words {
  __m512i e, code;
};
// `code` is the code before the dword plus the difference before it.
struct Predecessor {
  __m512i difference, code;
};
struct SecondOrderWords {
  __m512i e;
  Predecessor before;
};
STRETTO_INLINE __m512i weights(int w) noexcept { return pinned(_mm512_set1_epi32(w)); }

// one() decodes a block of any width; sums_of_two(), words_of_two() and codes_of_two() two narrow blocks.

template <bool kUnsigned>
struct PlainBlocks {};
template <bool kUnsigned>
STRETTO_INLINE Pair one(PlainBlocks<kUnsigned>&, const std::uint8_t* p, unsigned w) noexcept {
  if (__builtin_expect(w <= 8, 1)) {
    const __m256i e = read_bytes<kUnsigned>(p, w);
    const __m128i a = _mm256_castsi256_si128(e), b = _mm256_extracti128_si256(e, 1);
    if constexpr (kUnsigned) return {_mm512_cvtepu8_epi32(a), _mm512_cvtepu8_epi32(b)};
    return {_mm512_cvtepi8_epi32(a), _mm512_cvtepi8_epi32(b)};
  }
  return read_pair<kUnsigned>(p, w);
}

// All words of `code` hold the code before the block.
struct FirstBlocks {
  __m512i code;
  __m512i ones, shares, quad[4];
};
STRETTO_INLINE FirstBlocks first_state(std::int32_t base) noexcept {
  const __m512i low = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  const auto quad = [&](int k) { return pinned(_mm512_add_epi32(low, _mm512_set1_epi32(4 * k))); };
  return {_mm512_set1_epi32(base),
          weights(0x01010101),
          pinned(_mm512_set4_epi32(0x01010101, 0x00010101, 0x00000101, 0x00000001)),
          {quad(0), quad(1), quad(2), quad(3)}};
}
STRETTO_INLINE Pair one(FirstBlocks& s, const std::uint8_t* p, unsigned w) noexcept {
  if (__builtin_expect(w <= 8, 1)) {
    const __m512i shares = _mm512_set4_epi32(0x01010101, 0x00010101, 0x00000101, 0x00000001);
    const __m256i e = read_bytes<false>(p, w);
    const __m256i total = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), e);
    const __m256i upto = prefix8(total);
    const __m256i before = _mm256_add_epi32(_mm256_sub_epi32(upto, total), _mm512_castsi512_si256(s.code));
    s.code = _mm512_add_epi32(s.code, last8(upto));
    return {_mm512_dpbusd_epi32(quads(before, false), shares, quads(e, false)),
            _mm512_dpbusd_epi32(quads(before, true), shares, quads(e, true))};
  }
  if (w <= 16) {
    const __m512i shares = _mm512_set4_epi32(0x00010001, 0x00000001, 0x00010001, 0x00000001);
    const __m512i e = read_words<false>(p, w);
    const __m512i total = _mm512_dpwssd_epi32(_mm512_setzero_si512(), _mm512_set1_epi16(1), e);
    const __m512i upto = prefix16(total);
    const __m512i before = _mm512_add_epi32(_mm512_sub_epi32(upto, total), s.code);
    s.code = _mm512_add_epi32(s.code, last16(upto));
    return {_mm512_dpwssd_epi32(twins(before, false), shares, twins(e, false)),
            _mm512_dpwssd_epi32(twins(before, true), shares, twins(e, true))};
  }
  const Pair e = read_pair<false>(p, w);
  const __m512i q0 = _mm512_add_epi32(prefix16(e.v0), s.code);
  const __m512i q1 = _mm512_add_epi32(prefix16(e.v1), last16(q0));
  s.code = last16(q1);
  return {q0, q1};
}
template <bool kZeros>
STRETTO_INLINE Sums sums_of_two(const FirstBlocks& s, const std::uint8_t* p, std::size_t n0, std::size_t n1) noexcept {
  const __m512i e = read_bytes2<false, kZeros>(p, n0, n1);
  return {e, _mm512_dpbusd_epi32(_mm512_setzero_si512(), s.ones, e)};
}
STRETTO_INLINE Words words_of_two(FirstBlocks& s, const Sums& v) noexcept {
  const __m512i upto = prefix16(v.sums);
  const __m512i before = _mm512_add_epi32(_mm512_sub_epi32(upto, v.sums), s.code);
  s.code = _mm512_add_epi32(s.code, last16(upto));
  return {v.e, before};
}
STRETTO_INLINE FourVectors codes_of_two(const FirstBlocks& s, const Words& v) noexcept {
  FourVectors q;
  for (int k = 0; k < 4; ++k)
    q.v[k] = _mm512_dpbusd_epi32(_mm512_permutexvar_epi32(s.quad[k], v.code), s.shares,
                                 _mm512_permutexvar_epi32(s.quad[k], v.e));
  return q;
}

// Let C and D be code and difference before n residuals e_j, S the sum of e_j, V the sum of j e_j. After them the code
// is C + n (D + S) - V, and the difference D + S. One prefix sum carries S and V; two would depend on each other.
struct SecondBlocks {
  __m512i before;  // D and -C in each quadword
  __m512i own[2], lower_sum, lower_moment, after, weight[4], low, high;
};
STRETTO_INLINE SecondBlocks second_state(std::int32_t slope, std::int32_t base) noexcept {
  const auto minus_base = static_cast<std::int64_t>(0u - static_cast<std::uint32_t>(base)) << 32;
  return {_mm512_set1_epi64(minus_base | static_cast<std::uint32_t>(slope)),
          {pinned(_mm512_load_si512(kAbreast.own8[0])), pinned(_mm512_load_si512(kAbreast.own8[1]))},
          pinned(_mm512_load_si512(kAbreast.lower_sum8)),
          pinned(_mm512_load_si512(kAbreast.lower_moment8)),
          pinned(_mm512_load_si512(kAbreast.after8)),
          {weights(0x00000001), weights(0x00000102), weights(0x00010203), weights(0x01020304)},
          pinned(_mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0)),
          pinned(_mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4))};
}

// From the quadwords' sums (lower dwords) and moments (upper): the state before each, and after all 2^kLog residuals.
template <int kLog>
STRETTO_INLINE __m512i before_quadwords(__m512i& before, __m512i own) noexcept {
  constexpr __mmask16 kUpperHalf = 0xcccc, kFromLane1 = 0xfff0, kFromLane2 = 0xff00;
  __m512i upto = _mm512_add_epi32(own, _mm512_maskz_shuffle_i32x4(kFromLane1, own, own, _MM_SHUFFLE(2, 1, 0, 0)));
  upto = _mm512_add_epi32(upto, _mm512_maskz_shuffle_i32x4(kFromLane2, upto, upto, _MM_SHUFFLE(1, 0, 0, 0)));
  const __m512i halves = _mm512_shuffle_i32x4(upto, upto, 0xff);
  const __m512i first_half = _mm512_maskz_shuffle_epi32(kUpperHalf, halves, _MM_PERM_BABA);
  const __m512i earlier = _mm512_add_epi32(_mm512_sub_epi32(upto, own), first_half);
  const __m512i found = _mm512_add_epi32(earlier, before);
  const __m512i all = _mm512_add_epi32(halves, _mm512_shuffle_epi32(halves, _MM_PERM_BADC));
  const __m512i after = _mm512_add_epi32(before, all);
  before = _mm512_sub_epi32(after, _mm512_slli_epi64(after, 32 + kLog));
  return found;
}
template <int kLog>
STRETTO_INLINE Predecessor before_words(__m512i& state, __m512i sums, __m512i moments, __m512i after) noexcept {
  constexpr __mmask16 kUpper = 0xaaaa;
  const __m512i first_sum = _mm512_slli_epi64(sums, 32), first_moment = _mm512_slli_epi64(moments, 32);
  const __m512i own =
      _mm512_mask_add_epi32(_mm512_add_epi32(sums, _mm512_srli_epi64(sums, 32)), kUpper, moments, first_moment);
  const __m512i before = before_quadwords<kLog>(state, own);
  const __m512i difference = _mm512_add_epi32(_mm512_shuffle_epi32(before, _MM_PERM_CCAA), first_sum);
  const __m512i moment = _mm512_add_epi32(_mm512_shuffle_epi32(before, _MM_PERM_DDBB), first_moment);
  return {difference, _mm512_sub_epi32(_mm512_mullo_epi32(difference, after), moment)};
}

STRETTO_INLINE Pair one(SecondBlocks& s, const std::uint8_t* p, unsigned w) noexcept {
  if (__builtin_expect(w <= 16, 1)) {
    const __m512i e = read_words_abreast(p, w), zero = _mm512_setzero_si512();
    const __m512i sums = _mm512_dpwssd_epi32(zero, _mm512_set1_epi16(1), e);
    const __m512i moments = _mm512_dpwssd_epi32(zero, _mm512_load_si512(kAbreast.place16), e);
    const Predecessor b = before_words<5>(s.before, sums, moments, _mm512_load_si512(kAbreast.after16));
    const __m512i q0 = _mm512_dpwssd_epi32(b.code, _mm512_set1_epi32(0x00000001), e);
    const __m512i q1 = _mm512_dpwssd_epi32(_mm512_add_epi32(b.code, b.difference), _mm512_set1_epi32(0x00010002), e);
    return {_mm512_unpacklo_epi32(q0, q1), _mm512_unpackhi_epi32(q0, q1)};
  }
  const __m512i zero = _mm512_setzero_si512();
  const Pair e = read_pair<false>(p, w);
  const __m512i d0 = _mm512_add_epi32(prefix16(e.v0), _mm512_shuffle_epi32(s.before, _MM_PERM_CCAA));
  const __m512i d1 = _mm512_add_epi32(prefix16(e.v1), last16(d0));
  const __m512i q0 = _mm512_sub_epi32(prefix16(d0), _mm512_shuffle_epi32(s.before, _MM_PERM_DDBB));
  const __m512i q1 = _mm512_add_epi32(prefix16(d1), last16(q0));
  s.before = _mm512_mask_sub_epi32(last16(d1), 0xaaaa, zero, last16(q1));
  return {q0, q1};
}
template <bool kZeros>
STRETTO_INLINE SumsAndMoments sums_of_two(const SecondBlocks& s, const std::uint8_t* p, std::size_t n0,
                                          std::size_t n1) noexcept {
  const __m512i e = read_bytes_abreast<kZeros>(p, n0, n1), exchanged = _mm512_shuffle_epi32(e, _MM_PERM_CDAB);
  const __m512i own = _mm512_dpbusd_epi32(_mm512_setzero_si512(), s.own[0], e);
  return {e, exchanged, _mm512_dpbusd_epi32(own, s.own[1], exchanged)};
}
STRETTO_INLINE SecondOrderWords words_of_two(SecondBlocks& s, const SumsAndMoments& v) noexcept {
  const __m512i before = before_quadwords<6>(s.before, v.own);
  const __m512i difference = _mm512_dpbusd_epi32(_mm512_shuffle_epi32(before, _MM_PERM_CCAA), s.lower_sum, v.exchanged);
  const __m512i moment = _mm512_dpbusd_epi32(_mm512_shuffle_epi32(before, _MM_PERM_DDBB), s.lower_moment, v.exchanged);
  return {v.e, {difference, _mm512_sub_epi32(_mm512_mullo_epi32(difference, s.after), moment)}};
}
// From the first codes of all dwords, their second codes, and so on.
STRETTO_INLINE FourVectors in_order(const __m512i (&q)[4], __m512i low, __m512i high) noexcept {
  const __m512i first01 = _mm512_unpacklo_epi32(q[0], q[1]), first23 = _mm512_unpacklo_epi32(q[2], q[3]);
  const __m512i second01 = _mm512_unpackhi_epi32(q[0], q[1]), second23 = _mm512_unpackhi_epi32(q[2], q[3]);
  return {{_mm512_permutex2var_epi64(first01, low, first23), _mm512_permutex2var_epi64(first01, high, first23),
           _mm512_permutex2var_epi64(second01, low, second23), _mm512_permutex2var_epi64(second01, high, second23)}};
}
STRETTO_INLINE FourVectors codes_of_two(const SecondBlocks& s, const SecondOrderWords& v) noexcept {
  __m512i q[4], at = v.before.code;
  for (int k = 0; k < 4; ++k) {
    q[k] = _mm512_dpbusd_epi32(at, s.weight[k], v.e);
    at = _mm512_add_epi32(at, v.before.difference);
  }
  return in_order(q, s.low, s.high);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
