// Reads blocks of a summand without masks: widths only select table rows. An absent plane repeats the last, the sign,
// or a zero byte (unsigned residuals, empty blocks).
#pragma once

#include "codec/avx512/group.hpp"

namespace stretto::codec::avx512 {

// Planes to reversed quadwords by width, signed and unsigned. Byte 31 (of each half) or 63 of the input is zero, so
// widths end at 7 and 15.
struct SummandTables {
  alignas(64) std::uint8_t low[2][8][32], high[2][8][32];
  alignas(64) std::uint8_t words[2][16][64];
  alignas(64) std::uint8_t keep_bytes[64], keep_words[64];

  constexpr SummandTables() noexcept : low(), high(), words(), keep_bytes(), keep_words() {
    for (int i = 0; i < 64; ++i) {
      keep_bytes[i] = i % 32 == 31 ? 0 : 0xff;
      keep_words[i] = i == 63 ? 0 : 0xff;
    }
    for (int is_unsigned = 0; is_unsigned < 2; ++is_unsigned)
      for (int w = 0; w < 16; ++w)
        for (int plane = 0; plane < 16; ++plane)
          for (int j = 0; j < 4; ++j) {
            const bool present = plane < w, zero = !present && (is_unsigned || w == 0);
            const int from = 4 * (present ? plane : w - 1) + j, at = 32 * (plane / 8) + 8 * j + 7 - plane % 8;
            words[is_unsigned][w][at] = static_cast<std::uint8_t>(zero ? 63 : from);
            if (w < 8 && plane < 8) {
              low[is_unsigned][w][at] = static_cast<std::uint8_t>(zero ? 31 : from);
              high[is_unsigned][w][at] = static_cast<std::uint8_t>(32 + (zero ? 31 : from));
            }
          }
  }
};
inline constexpr SummandTables kSummandTables{};

// For eight blocks at once: branches per block would be mispredicted.
enum class Mode { bytes, words, any };

STRETTO_AVX512_BEGIN

// Lengths below are blocks' bytes: four times the widths.
struct Summand {
  const std::uint8_t *planes, *low, *high, *words;
  bool is_unsigned;
};
STRETTO_INLINE Summand summand(const NarrowGroup& g) noexcept {
  const bool u = g.predictor == Predictor::none_unsigned;
  return {g.planes, kSummandTables.low[u][0], kSummandTables.high[u][0], kSummandTables.words[u][0], u};
}

STRETTO_INLINE __m256i load32(const std::uint8_t* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
STRETTO_INLINE __m512i halves(__m256i low, __m256i high) noexcept {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Two blocks of widths up to 7; transposing the result gives bytes.
STRETTO_INLINE __m512i spread_bytes(Summand& s, std::size_t n0, std::size_t n1) noexcept {
  const __m512i planes =
      _mm512_and_si512(halves(load32(s.planes), load32(s.planes + n0)), _mm512_load_si512(kSummandTables.keep_bytes));
  s.planes += n0 + n1;
  return _mm512_permutexvar_epi8(halves(load32(s.low + 8 * n0), load32(s.high + 8 * n1)), planes);
}
// The words of a block: their lower bytes, then the upper ones.
STRETTO_INLINE __m512i next_split_words(Summand& s, std::size_t n) noexcept {
  const __m512i planes = _mm512_and_si512(_mm512_loadu_si512(s.planes), _mm512_load_si512(kSummandTables.keep_words));
  s.planes += n;
  return transpose(_mm512_permutexvar_epi8(_mm512_load_si512(s.words + 16 * n), planes));
}
STRETTO_INLINE __m512i joined(__m512i split) noexcept {
  return _mm512_permutexvar_epi8(_mm512_load_si512(kTables.interleave), split);
}
STRETTO_INLINE __m512i next_words(Summand& s, std::size_t n) noexcept { return joined(next_split_words(s, n)); }
STRETTO_INLINE Pair next_pair(Summand& s, std::size_t n) noexcept {
  const auto w = static_cast<unsigned>(n / 4);
  const Pair e = s.is_unsigned ? read_pair<true>(s.planes, w) : read_pair<false>(s.planes, w);
  s.planes += n;
  return e;
}

struct Needs {
  std::uint32_t beyond_bytes, beyond_words;
};
STRETTO_INLINE Needs needs(__m256i widths) noexcept {
  return {_mm256_cmpgt_epu8_mask(widths, _mm256_set1_epi8(7)), _mm256_cmpgt_epu8_mask(widths, _mm256_set1_epi8(15))};
}
// Sums of codes without signs reach 32 bits only if a header states too small a bound. The format has 31 for them: the
// reference writes such groups.
STRETTO_INLINE bool has_width_32(__m256i widths) noexcept { return !_mm256_testz_si256(widths, _mm256_set1_epi8(32)); }

STRETTO_INLINE unsigned widest(__m256i widths) noexcept {
  __m128i m = _mm_max_epu8(_mm256_castsi256_si128(widths), _mm256_extracti128_si256(widths, 1));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 8));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 4));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 2));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 1));
  return static_cast<unsigned>(_mm_cvtsi128_si32(m)) & 0xff;
}
STRETTO_INLINE Mode mode_of_eight(const Needs& n, int first) noexcept {
  if ((n.beyond_bytes >> first & 0xff) == 0) return Mode::bytes;
  return (n.beyond_words >> first & 0xff) == 0 ? Mode::words : Mode::any;
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
