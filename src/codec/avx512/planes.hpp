// Bit v of plane i is bit i of residual v. GF2P8AFFINEQB with the identity as data transposes 8 x 8 bits; byte
// permutations sort residuals and planes.
#pragma once

#include <cstdint>

#include "codec/avx512/target.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec::avx512 {

struct PlaneTables {
  // To quadwords, of 32 16-bit words, or of the low or high halves of 2 x 16 32-bit words.
  alignas(64) std::uint8_t gather16[64], gather_low[64], gather_high[64];
  alignas(64) std::uint8_t planes[64];
  // One plane later, of two blocks and of one.
  alignas(64) std::uint8_t planes_below[64], planes_below16[64];
  alignas(64) std::uint8_t interleave[64];
  alignas(64) std::uint8_t low16[64], high16[64];  // two such registers (bits 0-15, 16-31): to words of 32 bits
  // Plane words of width w to reversed quadwords. Absent planes repeat the last plane, the sign.
  alignas(64) std::uint8_t spread[17][64];
  // For w <= 8, in the low and the high half of a register.
  alignas(64) std::uint8_t spread_low[9][32], spread_high[9][32];
  // Masks of valid bytes: all unless w = 0 (signed), planes below w (unsigned).
  std::uint64_t present_signed[17], present_unsigned[17];

  constexpr PlaneTables() noexcept
      : gather16(),
        gather_low(),
        gather_high(),
        planes(),
        planes_below(),
        planes_below16(),
        interleave(),
        low16(),
        high16(),
        spread(),
        spread_low(),
        spread_high(),
        present_signed(),
        present_unsigned() {
    for (int g = 0; g < 8; ++g) {
      for (int k = 0; k < 8; ++k) {
        const int byte = g / 4, v = 8 * (g % 4) + 7 - k;
        gather16[8 * g + k] = static_cast<std::uint8_t>(2 * v + byte);
        gather_low[8 * g + k] = static_cast<std::uint8_t>(4 * v + byte);  // v < 16: first register, else second (bit 6)
        gather_high[8 * g + k] = static_cast<std::uint8_t>(4 * v + byte + 2);
      }
    }
    for (int h = 0; h < 2; ++h)
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 4; ++j) planes[32 * h + 4 * i + j] = static_cast<std::uint8_t>(32 * h + 8 * j + i);
    for (int i = 0; i < 64; ++i) {
      planes_below[i] = i % 32 < 4 ? 0 : planes[i - 4];
      planes_below16[i] = i < 4 ? 0 : planes[i - 4];
    }
    for (int v = 0; v < 32; ++v) {
      interleave[2 * v] = static_cast<std::uint8_t>(v);
      interleave[2 * v + 1] = static_cast<std::uint8_t>(32 + v);
    }
    for (int v = 0; v < 16; ++v) {
      for (int b = 0; b < 4; ++b) {
        low16[4 * v + b] = static_cast<std::uint8_t>((b / 2) * 64 + (b & 1) * 32 + v);
        high16[4 * v + b] = static_cast<std::uint8_t>((b / 2) * 64 + (b & 1) * 32 + 16 + v);
      }
    }
    for (int w = 0; w <= 16; ++w) {
      present_signed[w] = w > 0 ? ~std::uint64_t{0} : 0;
      for (int h = 0; h < 2; ++h)
        for (int i = 0; i < 8; ++i)
          for (int j = 0; j < 4; ++j) {
            const int plane = 8 * h + i, last = w > 0 ? w - 1 : 0;
            const int at = 32 * h + 8 * j + 7 - i;
            spread[w][at] = static_cast<std::uint8_t>(4 * (plane < last ? plane : last) + j);
            if (w <= 8 && h == 0) {
              spread_low[w][at] = spread[w][at];
              spread_high[w][at] = static_cast<std::uint8_t>(spread[w][at] + 32);
            }
            if (plane < w) present_unsigned[w] |= std::uint64_t{1} << at;
          }
    }
  }
};
inline constexpr PlaneTables kTables{};

STRETTO_AVX512_BEGIN

#define STRETTO_INLINE static inline __attribute__((always_inline))
#define STRETTO_MEMBER inline __attribute__((always_inline))

// The compiler would reload the constant.
STRETTO_INLINE __m512i pinned(__m512i v) noexcept {
  asm("" : "+v"(v));
  return v;
}

STRETTO_INLINE __m512i identity() noexcept { return _mm512_set1_epi64(static_cast<long long>(0x8040201008040201ull)); }
STRETTO_INLINE __m512i transpose(__m512i x) noexcept { return _mm512_gf2p8affine_epi64_epi8(identity(), x, 0); }
STRETTO_INLINE __m512i transpose_reversed(__m512i x) noexcept {
  return _mm512_gf2p8affine_epi64_epi8(_mm512_set1_epi64(0x0102040810204080), x, 0);
}
STRETTO_INLINE __m256i transpose(__m256i x) noexcept {
  return _mm256_gf2p8affine_epi64_epi8(_mm512_castsi512_si256(identity()), x, 0);
}

// Words of v moved up by one, after the last word of `before`.
STRETTO_INLINE __m512i lag16(__m512i v, __m512i before) noexcept {
  return _mm512_shldi_epi32(v, _mm512_alignr_epi32(v, before, 15), 16);
}
STRETTO_INLINE __m512i lag32(__m512i v, __m512i before) noexcept { return _mm512_alignr_epi32(v, before, 15); }

// The bits of 32 words by quadwords, which a permutation makes planes.
STRETTO_INLINE __m512i bits_of_words(__m512i e) noexcept {
  return transpose(_mm512_permutexvar_epi8(_mm512_load_si512(kTables.gather16), e));
}
STRETTO_INLINE __m512i low_planes(__m512i e0, __m512i e1) noexcept {
  const __m512i t = transpose(_mm512_permutex2var_epi8(e0, _mm512_load_si512(kTables.gather_low), e1));
  return _mm512_permutexvar_epi8(_mm512_load_si512(kTables.planes), t);
}
STRETTO_INLINE __m512i high_planes(__m512i e0, __m512i e1) noexcept {
  const __m512i t = transpose(_mm512_permutex2var_epi8(e0, _mm512_load_si512(kTables.gather_high), e1));
  return _mm512_permutexvar_epi8(_mm512_load_si512(kTables.planes), t);
}

// One more than the highest plane that differs from the next lower (signed) or zero (unsigned).
STRETTO_INLINE unsigned signed_width(__m512i planes) noexcept {
  const __m512i below = _mm512_alignr_epi32(planes, _mm512_setzero_si512(), 15);
  return 32 - _lzcnt_u32(_mm512_cmpneq_epi32_mask(planes, below));
}
STRETTO_INLINE unsigned unsigned_width(__m512i planes) noexcept {
  return 32 - _lzcnt_u32(_mm512_test_epi32_mask(planes, planes));
}
STRETTO_INLINE unsigned signed_width(__m256i planes) noexcept {
  const __m256i below = _mm256_alignr_epi32(planes, _mm256_setzero_si256(), 7);
  return 32 - _lzcnt_u32(_mm256_cmpneq_epi32_mask(planes, below));
}
STRETTO_INLINE unsigned unsigned_width(__m256i planes) noexcept {
  return 32 - _lzcnt_u32(_mm256_test_epi32_mask(planes, planes));
}

// bits_of_words() of eight blocks, all sorted before the first is written: a block's planes take long to find.
struct Bits8 {
  __m512i of[8];
};
// Returns the blocks' lengths, a byte each. May touch 64 bytes behind the last one's start.
template <bool kUnsigned>
STRETTO_INLINE std::uint64_t write_bits(const Bits8& bits, std::uint8_t*& p) noexcept {
  std::uint64_t written = 0;
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    const __m512i planes = _mm512_permutexvar_epi8(_mm512_load_si512(kTables.planes), bits.of[j]);
    _mm512_storeu_si512(p, planes);
    std::uint32_t differ = 0;
    if constexpr (kUnsigned)
      differ = _mm512_test_epi32_mask(planes, planes);
    else
      differ = _mm512_cmpneq_epi32_mask(
          planes,
          _mm512_maskz_permutexvar_epi8(~std::uint64_t{15}, _mm512_load_si512(kTables.planes_below16), bits.of[j]));
    const std::size_t n = 4 * std::size_t{32 - _lzcnt_u32(differ)};
    written |= std::uint64_t{n} << (8 * j);
    p += n;
  }
  return written;
}

// Returns the width. May touch 128 bytes.
template <bool kUnsigned>
STRETTO_INLINE unsigned write_block32(__m512i e0, __m512i e1, std::uint8_t* p) noexcept {
  const __m512i low = low_planes(e0, e1);
  _mm512_storeu_si512(p, low);
  // Most blocks fit 16 bits.
  const __m512i half = _mm512_set1_epi32(kUnsigned ? 0 : 0x8000);
  const __m512i beyond = _mm512_or_si512(_mm512_add_epi32(e0, half), _mm512_add_epi32(e1, half));
  if (__builtin_expect(_mm512_test_epi32_mask(beyond, _mm512_set1_epi32(static_cast<int>(0xffff0000))) == 0, 1))
    return kUnsigned ? unsigned_width(low) : signed_width(low);
  const __m512i high = high_planes(e0, e1);
  _mm512_storeu_si512(p + 64, high);
  std::uint32_t differ = 0;
  if constexpr (kUnsigned) {
    differ = static_cast<std::uint32_t>(_mm512_test_epi32_mask(low, low)) |
             static_cast<std::uint32_t>(_mm512_test_epi32_mask(high, high)) << 16;
  } else {
    const __m512i below_low = _mm512_alignr_epi32(low, _mm512_setzero_si512(), 15);
    const __m512i below_high = _mm512_alignr_epi32(high, low, 15);
    differ = static_cast<std::uint32_t>(_mm512_cmpneq_epi32_mask(low, below_low)) |
             static_cast<std::uint32_t>(_mm512_cmpneq_epi32_mask(high, below_high)) << 16;
  }
  return 32 - _lzcnt_u32(differ);
}

// Residuals as bytes for w <= 8 (reads 32 bytes), words for w <= 16 (64 bytes), else two registers (128 bytes).
template <bool kUnsigned>
STRETTO_INLINE __m256i read_bytes(const std::uint8_t* p, unsigned w) noexcept {
  const __m256i t = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i index = _mm256_load_si256(reinterpret_cast<const __m256i*>(kTables.spread[kUnsigned ? 16 : w]));
  const auto present = static_cast<__mmask32>((kUnsigned ? kTables.present_unsigned : kTables.present_signed)[w]);
  return transpose(_mm256_maskz_permutexvar_epi8(present, index, t));
}
template <bool kUnsigned>
STRETTO_INLINE __m512i read_words_split(const std::uint8_t* p, unsigned w) noexcept {
  const __m512i t = _mm512_loadu_si512(p), index = _mm512_load_si512(kTables.spread[kUnsigned ? 16 : w]);
  const __mmask64 present = (kUnsigned ? kTables.present_unsigned : kTables.present_signed)[w];
  return transpose(_mm512_maskz_permutexvar_epi8(present, index, t));
}
template <bool kUnsigned>
STRETTO_INLINE __m512i read_words(const std::uint8_t* p, unsigned w) noexcept {
  return _mm512_permutexvar_epi8(_mm512_load_si512(kTables.interleave), read_words_split<kUnsigned>(p, w));
}
template <std::size_t M, std::size_t N>
STRETTO_INLINE const std::uint8_t* row_at(const std::uint8_t (&table)[M][N], std::size_t bytes) noexcept {
  return reinterpret_cast<const std::uint8_t*>(&table) + bytes;
}

// Two blocks in bytes, one per half. w0 and w1 are the blocks' lengths, four times the widths.
template <bool kUnsigned, bool kZeros>
STRETTO_INLINE __m512i read_bytes2(const std::uint8_t* p, std::size_t w0, std::size_t w1) noexcept {
  const __m512i t = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))),
                                       _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + w0)), 1);
  if constexpr (kUnsigned || kZeros) {
    const auto& present = kUnsigned ? kTables.present_unsigned : kTables.present_signed;
    const auto* low = kUnsigned ? kTables.spread_low[8] : row_at(kTables.spread_low, 8 * w0);
    const auto* high = kUnsigned ? kTables.spread_high[8] : row_at(kTables.spread_high, 8 * w1);
    const __m512i index =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(low))),
                           _mm256_load_si256(reinterpret_cast<const __m256i*>(high)), 1);
    const __mmask64 mask = (present[w0 / 4] & 0xffffffff) | present[w1 / 4] << 32;
    return transpose(_mm512_maskz_permutexvar_epi8(mask, index, t));
  } else {
    const __m512i index = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_load_si256(reinterpret_cast<const __m256i*>(row_at(kTables.spread_low, 8 * w0)))),
        _mm256_load_si256(reinterpret_cast<const __m256i*>(row_at(kTables.spread_high, 8 * w1))), 1);
    return transpose(_mm512_permutexvar_epi8(index, t));
  }
}

struct Pair {
  __m512i v0, v1;
};
template <bool kUnsigned>
STRETTO_INLINE Pair read_pair(const std::uint8_t* p, unsigned w) noexcept {
  if (w <= 16) {
    const __m512i t = read_words<kUnsigned>(p, w);
    const __m256i a = _mm512_castsi512_si256(t), b = _mm512_extracti64x4_epi64(t, 1);
    if constexpr (kUnsigned) return {_mm512_cvtepu16_epi32(a), _mm512_cvtepu16_epi32(b)};
    return {_mm512_cvtepi16_epi32(a), _mm512_cvtepi16_epi32(b)};
  }
  const __m512i low = read_words_split<true>(p, 16), high = read_words_split<kUnsigned>(p + 64, w - 16);
  return {_mm512_permutex2var_epi8(low, _mm512_load_si512(kTables.low16), high),
          _mm512_permutex2var_epi8(low, _mm512_load_si512(kTables.high16), high)};
}

STRETTO_INLINE std::size_t write_widths(__m256i w, std::uint8_t* p, Form* form) noexcept {
  const std::uint32_t mask = _mm256_test_epi8_mask(w, w);
  if (mask == 0) {
    *form = Form::zero;
    return 0;
  }
  const auto n = static_cast<std::size_t>(_mm_popcnt_u32(mask));
  const bool nibbles = _mm256_cmpgt_epi8_mask(w, _mm256_set1_epi8(15)) == 0;
  const std::size_t plain = nibbles ? 16 : 32;
  const std::size_t packed = ((nibbles ? (n + 1) / 2 : n) + 3) / 4 * 4;
  const bool masked = packed + 4 < plain;
  __m256i v = masked ? _mm256_maskz_compress_epi8(mask, w) : w;
  if (nibbles)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtepi16_epi8(_mm256_or_si256(v, _mm256_srli_epi16(v, 4))));
  else
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  if (!masked) {
    *form = nibbles ? Form::nibbles : Form::bytes;
    return plain;
  }
  store(p + packed, mask);
  *form = nibbles ? Form::masked_nibbles : Form::masked_bytes;
  return packed + 4;
}

// Widths are in a register: loads would wait for all stores in between, whose addresses depend on earlier widths.
struct WidthReader {
  __m256i widths;
};
STRETTO_INLINE std::uint64_t next8(WidthReader& r) noexcept {
  const auto w = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(r.widths)));
  r.widths = _mm256_permute4x64_epi64(r.widths, 0x39);
  return w;
}
// Complete after four pushes.
struct WidthWriter {
  __m256i widths;
};
STRETTO_INLINE void push8(WidthWriter& w, std::uint64_t eight) noexcept {
  const __m256i v = _mm256_set1_epi64x(static_cast<long long>(eight));
  w.widths = _mm256_permute4x64_epi64(_mm256_blend_epi32(w.widths, v, 3), 0x39);
}

// *begin: the start of the widths. False if malformed; does not check their sum.
STRETTO_INLINE bool read_widths(Form form, const std::uint8_t* group, const std::uint8_t* end, __m256i* widths,
                                const std::uint8_t** begin) noexcept {
  std::uint32_t mask = ~0u;
  if (form == Form::zero) {
    *widths = _mm256_setzero_si256();
    *begin = end;
    return true;
  }
  const bool nibbles = form == Form::nibbles || form == Form::masked_nibbles;
  const bool masked = form == Form::masked_nibbles || form == Form::masked_bytes;
  if (masked) {
    if (end - group < 8) return false;
    end -= 4;
    mask = load<std::uint32_t>(end);
    if (mask == 0) return false;
  }
  const auto n = static_cast<std::size_t>(_mm_popcnt_u32(mask));
  const std::size_t bytes = ((nibbles ? (n + 1) / 2 : n) + 3) / 4 * 4;
  if (static_cast<std::size_t>(end - group) < bytes + 4) return false;
  end -= bytes;
  const __m256i raw = _mm256_maskz_loadu_epi8(_bzhi_u32(~0u, static_cast<unsigned>(bytes)), end);
  __m256i w = raw;
  if (nibbles) {
    const __m256i words = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(raw));
    w = _mm256_and_si256(_mm256_or_si256(words, _mm256_slli_epi16(words, 4)), _mm256_set1_epi8(15));
  }
  if (masked) w = _mm256_maskz_expand_epi8(mask, w);
  *widths = w;
  *begin = end;
  return true;
}

STRETTO_INLINE bool has_zeros(__m256i w) noexcept { return _mm256_testn_epi8_mask(w, w) != 0; }

STRETTO_INLINE int planes_in(__m256i w, int most) noexcept {
  if (_mm256_cmpgt_epu8_mask(w, _mm256_set1_epi8(static_cast<char>(most)))) return -1;
  const __m256i s = _mm256_sad_epu8(w, _mm256_setzero_si256());
  const __m128i t = _mm_add_epi64(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
  return _mm_cvtsi128_si32(t) + _mm_extract_epi32(t, 2);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
