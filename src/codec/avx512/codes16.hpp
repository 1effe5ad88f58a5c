// Decodes two blocks of up to 16 planes at a time: a branch on widths would be mispredicted. A sum of four residuals
// takes two dot products.
#pragma once

#include "codec/avx512/codes.hpp"

namespace stretto::codec::avx512 {

// AbreastTables of words. A register holds residuals 0 and 1 of four, another 2 and 3.
struct WordTables {
  // Planes of width w to reversed quadwords: low bytes of eight residuals, then their high bytes, in each lane.
  alignas(64) std::uint8_t spread[17][64];
  alignas(64) std::uint8_t pairs[64];  // of bytes in a lane: residuals 0, 1, 4, 5, then 2, 3, 6, 7
  alignas(64) std::int16_t place[2][32];

  constexpr WordTables() noexcept : spread(), pairs(), place() {
    for (int lane = 0; lane < 4; ++lane) {
      for (int i = 0; i < 16; ++i) {
        for (int w = 0; w <= 16; ++w) spread[w][16 * lane + i] = kTables.spread[w][32 * (i / 8) + 8 * lane + i % 8];
        const int word = i / 2 % 4;
        const int residual = word % 2 + 4 * (word / 2) + 2 * (i / 8);
        pairs[16 * lane + i] = static_cast<std::uint8_t>(residual + 8 * (i % 2));
      }
      for (int word = 0; word < 8; ++word) {
        const int first = kAbreast.after8[4 * lane + word / 2] - 1 + word % 2;
        place[0][8 * lane + word] = static_cast<std::int16_t>(first);
        place[1][8 * lane + word] = static_cast<std::int16_t>(first + 2);
      }
    }
  }
};
inline constexpr WordTables kWords{};

STRETTO_AVX512_BEGIN

struct WordPair {
  __m512i low, high;
};
struct WordSums {
  WordPair e;
  __m512i sums;
};
struct WordSumsAndMoments {
  WordPair e;
  __m512i sums, moments;
};
struct FirstWordsOfTwo {
  WordPair e;
  __m512i code;
};
struct SecondWordsOfTwo {
  WordPair e;
  Predecessor before;
};

// n is the block's length, four times the width.
STRETTO_INLINE __m512i read_word_pairs(const std::uint8_t* p, std::size_t n) noexcept {
  const __m512i index = _mm512_load_si512(row_at(kWords.spread, 16 * n));
  const __mmask64 present = n > 0 ? ~__mmask64{0} : 0;
  const __m512i bytes = transpose(_mm512_maskz_permutexvar_epi8(present, index, _mm512_loadu_si512(p)));
  return _mm512_shuffle_epi8(bytes, _mm512_load_si512(kWords.pairs));
}
STRETTO_INLINE WordPair read_words_of_two(const std::uint8_t* p, std::size_t n0, std::size_t n1) noexcept {
  const __m512i a = read_word_pairs(p, n0), b = read_word_pairs(p + n0, n1);
  return {_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)};
}
STRETTO_INLINE __m512i dot16(__m512i low, __m512i high, const WordPair& e) noexcept {
  return _mm512_dpwssd_epi32(_mm512_madd_epi16(low, e.low), high, e.high);
}

struct FirstWords {
  __m512i code;
  __m512i one, ones, low, high;
};
STRETTO_INLINE FirstWords in_words(const FirstBlocks& s) noexcept {
  return {s.code, weights(0x00000001), weights(0x00010001), pinned(_mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0)),
          pinned(_mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4))};
}
template <bool kZeros>
STRETTO_INLINE WordSums sums_of_two(const FirstWords& s, const std::uint8_t* p, std::size_t n0,
                                    std::size_t n1) noexcept {
  const WordPair e = read_words_of_two(p, n0, n1);
  return {e, dot16(s.ones, s.ones, e)};
}
STRETTO_INLINE FirstWordsOfTwo words_of_two(FirstWords& s, const WordSums& v) noexcept {
  constexpr __mmask16 kUpperHalf = 0xcccc, kFromLane1 = 0xfff0, kFromLane2 = 0xff00;
  const __m512i first_sum = _mm512_slli_epi64(v.sums, 32);
  const __m512i own = _mm512_shuffle_epi32(_mm512_add_epi32(v.sums, first_sum), _MM_PERM_DDBB);
  __m512i upto = _mm512_add_epi32(own, _mm512_maskz_shuffle_i32x4(kFromLane1, own, own, _MM_SHUFFLE(2, 1, 0, 0)));
  upto = _mm512_add_epi32(upto, _mm512_maskz_shuffle_i32x4(kFromLane2, upto, upto, _MM_SHUFFLE(1, 0, 0, 0)));
  const __m512i halves = _mm512_shuffle_i32x4(upto, upto, 0xff);
  const __m512i first_half = _mm512_maskz_shuffle_epi32(kUpperHalf, halves, _MM_PERM_BABA);
  const __m512i earlier = _mm512_add_epi32(_mm512_sub_epi32(upto, own), first_half);
  const __m512i before = _mm512_add_epi32(_mm512_add_epi32(earlier, first_sum), s.code);
  s.code = _mm512_add_epi32(s.code, _mm512_add_epi32(halves, _mm512_shuffle_epi32(halves, _MM_PERM_BADC)));
  return {v.e, before};
}
STRETTO_INLINE FourVectors codes_of_two(const FirstWords& s, const FirstWordsOfTwo& v) noexcept {
  const __m512i q1 = _mm512_dpwssd_epi32(v.code, s.ones, v.e.low);
  const __m512i q[4] = {_mm512_dpwssd_epi32(v.code, s.one, v.e.low), q1, _mm512_dpwssd_epi32(q1, s.one, v.e.high),
                        _mm512_dpwssd_epi32(q1, s.ones, v.e.high)};
  return in_order(q, s.low, s.high);
}

struct SecondWords {
  __m512i before;  // as in SecondBlocks
  __m512i ones, place[2], after, weight[4], low, high;
};
STRETTO_INLINE SecondWords in_words(const SecondBlocks& s) noexcept {
  return {s.before,
          weights(0x00010001),
          {pinned(_mm512_load_si512(kWords.place[0])), pinned(_mm512_load_si512(kWords.place[1]))},
          s.after,
          {weights(0x00000001), weights(0x00010002), weights(0x00020003), weights(0x00030004)},
          s.low,
          s.high};
}
template <bool kZeros>
STRETTO_INLINE WordSumsAndMoments sums_of_two(const SecondWords& s, const std::uint8_t* p, std::size_t n0,
                                              std::size_t n1) noexcept {
  const WordPair e = read_words_of_two(p, n0, n1);
  return {e, dot16(s.ones, s.ones, e), dot16(s.place[0], s.place[1], e)};
}
STRETTO_INLINE SecondWordsOfTwo words_of_two(SecondWords& s, const WordSumsAndMoments& v) noexcept {
  return {v.e, before_words<6>(s.before, v.sums, v.moments, s.after)};
}
STRETTO_INLINE FourVectors codes_of_two(const SecondWords& s, const SecondWordsOfTwo& v) noexcept {
  const Predecessor& b = v.before;
  const __m512i at1 = _mm512_add_epi32(b.code, b.difference), at2 = _mm512_add_epi32(at1, b.difference);
  const __m512i at3 = _mm512_add_epi32(at2, b.difference);
  const __m512i q2 = _mm512_dpwssd_epi32(at2, s.weight[2], v.e.low),
                q3 = _mm512_dpwssd_epi32(at3, s.weight[3], v.e.low);
  const __m512i q[4] = {_mm512_dpwssd_epi32(b.code, s.weight[0], v.e.low),
                        _mm512_dpwssd_epi32(at1, s.weight[1], v.e.low), _mm512_dpwssd_epi32(q2, s.weight[0], v.e.high),
                        _mm512_dpwssd_epi32(q3, s.weight[1], v.e.high)};
  return in_order(q, s.low, s.high);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
