// Dense chunks, read (AVX-512).
#include "codec/avx512/dense.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

using dense::kLanes;

struct Set {
  __m512i low, high;
};
STRETTO_INLINE Set load_set(const dense::States& s, int set) noexcept {
  return {_mm512_load_si512(s.low[set]), _mm512_load_si512(s.high[set])};
}
STRETTO_INLINE void store_set(const Set& x, dense::States* s, int set) noexcept {
  _mm512_store_si512(s->low[set], x.low);
  _mm512_store_si512(s->high[set], x.high);
}

// The next state of a set whose symbols are known, and the words that it takes.
STRETTO_INLINE const std::uint8_t* advance(__m512i slot, __m512i frequency, __m512i start, Set& x,
                                           const std::uint8_t* words) noexcept {
  const __m512i above = _mm512_shldi_epi16(x.high, x.low, 4);  // the state without its slot
  const __m512i offset = _mm512_sub_epi16(slot, start);
  const __m512i low = _mm512_add_epi16(_mm512_mullo_epi16(frequency, above), offset);
  __m512i high = _mm512_mulhi_epu16(frequency, above);
  high = _mm512_mask_add_epi16(high, _mm512_cmplt_epu16_mask(low, offset), high, _mm512_set1_epi16(1));
  const __mmask32 under = _mm512_mask_cmplt_epu16_mask(_mm512_testn_epi16_mask(high, high), low,
                                                       _mm512_set1_epi16(static_cast<short>(dense::kLeastState)));
  words -= 2 * _mm_popcnt_u32(under);
  x.high = _mm512_mask_mov_epi16(high, under, low);
  x.low = _mm512_mask_expand_epi16(low, under, _mm512_loadu_si512(words));
  return words;
}

STRETTO_INLINE __m512i slots(const Set& x) noexcept {
  return _mm512_and_si512(x.low, _mm512_set1_epi16(static_cast<short>(dense::kOne - 1)));
}
STRETTO_INLINE __mmask32 reaches(__m512i slot, const dense::Table& t, int k) noexcept {
  return _mm512_cmpge_epu16_mask(slot, _mm512_set1_epi32(static_cast<int>(t.threshold[k])));
}

// A step whose symbols are wanted as bytes.
STRETTO_INLINE const std::uint8_t* take_symbols(const dense::Table& t, int last, Set& x, const std::uint8_t* words,
                                                std::uint8_t* symbols) noexcept {
  const __m512i slot = slots(x), one = _mm512_set1_epi16(1);
  __m512i s = _mm512_setzero_si512();
  for (int k = 1; k <= last; ++k) s = _mm512_mask_add_epi16(s, reaches(slot, t, k), s, one);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(symbols), _mm512_cvtepi16_epi8(s));
  return advance(slot, _mm512_permutexvar_epi16(s, _mm512_load_si512(t.frequency)),
                 _mm512_permutexvar_epi16(s, _mm512_load_si512(t.start)), x, words);
}

struct LowBits {
  const std::uint8_t* p;
  std::uint64_t at;
};

// A block of kWidth planes: lanes of each class by the thresholds, which are also where its low bits belong.
template <int kWidth, bool kUnsigned>
STRETTO_INLINE const std::uint8_t* take_block(const dense::Table& t, Set& x, const std::uint8_t* words, LowBits& low,
                                              std::uint8_t* planes) noexcept {
  const __m512i slot = slots(x), one = _mm512_set1_epi16(1);
  std::uint32_t at[kWidth + 2];
  __m512i s = _mm512_setzero_si512();
#pragma GCC unroll 16
  for (int k = 1; k <= kWidth; ++k) {
    const __mmask32 m = reaches(slot, t, k);
    at[k] = m;
    s = _mm512_mask_add_epi16(s, m, s, one);
  }
  at[kWidth + 1] = 0;
  words = advance(slot, _mm512_permutexvar_epi16(s, _mm512_load_si512(t.frequency)),
                  _mm512_permutexvar_epi16(s, _mm512_load_si512(t.start)), x, words);
  std::uint32_t sign = 0;
#pragma GCC unroll 16
  for (int i = 0; i < kWidth; ++i) {  // plane i of the zigzag residuals
    std::uint32_t z = at[i + 1] ^ at[i + 2];
    if (i + 1 < kWidth) {
      const std::uint64_t v = load<std::uint64_t>(low.p + low.at / 8) >> (low.at % 8);
      z |= _pdep_u32(static_cast<std::uint32_t>(v), at[i + 2]);
      low.at += static_cast<std::uint64_t>(_mm_popcnt_u32(at[i + 2]));
    }
    if constexpr (kUnsigned) {
      store(planes + 4 * i, z);
    } else if (i == 0) {
      sign = z;
    } else {
      store(planes + 4 * (i - 1), z ^ sign);
    }
  }
  if constexpr (!kUnsigned) store(planes + 4 * (kWidth - 1), sign);
  return words;
}

template <bool kUnsigned>
STRETTO_INLINE const std::uint8_t* take_block(int width, const dense::Table& t, Set& x, const std::uint8_t* words,
                                              LowBits& low, std::uint8_t* planes) noexcept {
  switch (width) {
    case 1: return take_block<1, kUnsigned>(t, x, words, low, planes);
    case 2: return take_block<2, kUnsigned>(t, x, words, low, planes);
    case 3: return take_block<3, kUnsigned>(t, x, words, low, planes);
    case 4: return take_block<4, kUnsigned>(t, x, words, low, planes);
    case 5: return take_block<5, kUnsigned>(t, x, words, low, planes);
    case 6: return take_block<6, kUnsigned>(t, x, words, low, planes);
    case 7: return take_block<7, kUnsigned>(t, x, words, low, planes);
    case 8: return take_block<8, kUnsigned>(t, x, words, low, planes);
    case 9: return take_block<9, kUnsigned>(t, x, words, low, planes);
    case 10: return take_block<10, kUnsigned>(t, x, words, low, planes);
    case 11: return take_block<11, kUnsigned>(t, x, words, low, planes);
    case 12: return take_block<12, kUnsigned>(t, x, words, low, planes);
    case 13: return take_block<13, kUnsigned>(t, x, words, low, planes);
    case 14: return take_block<14, kUnsigned>(t, x, words, low, planes);
    case 15: return take_block<15, kUnsigned>(t, x, words, low, planes);
    default: return take_block<16, kUnsigned>(t, x, words, low, planes);
  }
}

// Bytes behind the first low bit of a block that take_block() may read.
constexpr std::ptrdiff_t kLowReach = 4 * (kMostWidth - 1) + 16;

struct Position {
  const std::uint8_t* words;
  LowBits low;
  std::uint8_t* planes;
};

// The next block, on x, which is set `set`. False if the chunk is malformed.
template <bool kUnsigned>
STRETTO_INLINE bool next_block(dense::Decoder* d, int width, int set, Set& x, Position& at) noexcept {
  const dense::Tables& tables = *d->tables;
  if (at.words < d->floor || at.low.at > d->bits || !(tables.have_classes >> (width - 1) & 1)) return false;
  if (__builtin_expect(width <= kMostWidth && d->end - (at.low.p + at.low.at / 8) >= kLowReach, 1)) {
    at.words = take_block<kUnsigned>(width, tables.classes[width], x, at.words, at.low, at.planes);
  } else {
    store_set(x, &d->states, set);
    d->words = at.words;
    d->bit = at.low.at;
    std::uint8_t classes[kLanes];
    if (!dense::decode_step(d, tables.classes[width], width, set, classes) ||
        !dense::read_block(d, classes, width, kUnsigned, at.planes))
      return false;
    x = load_set(d->states, set);
    at.words = d->words;
    at.low.at = d->bit;
  }
  at.planes += 4 * width;
  return true;
}

template <int kSets, bool kUnsigned>
std::size_t decode_group(dense::Decoder* d, int widest, std::uint8_t* planes, std::uint8_t* widths) noexcept {
  const dense::Tables& tables = *d->tables;
  if (widest > tables.widest || !(tables.have_widths >> (widest - 1) & 1)) return dense::kMalformed;
  if (widest > kMostSymbol && !dense::decode_step(d, tables.widths[widest], widest, 0, widths))
    return dense::kMalformed;
  // The states of the next block, and of the block after it.
  Set x = load_set(d->states, 0), other = load_set(d->states, 1);
  Position at{d->words, {d->low, d->bit}, planes};
  if (widest <= kMostSymbol) at.words = take_symbols(tables.widths[widest], widest, x, at.words, widths);
  for (int b = 0; b < kBlocks; ++b) {
    const int width = widths[b];
    if (width && !next_block<kUnsigned>(d, width, b & (kSets - 1), x, at)) return dense::kMalformed;
    if constexpr (kSets == 2) {
      const Set before = x;
      x = other;
      other = before;
    }
  }
  if (at.words < d->floor || at.low.at > d->bits) return dense::kMalformed;
  store_set(x, &d->states, 0);
  store_set(other, &d->states, 1);
  d->words = at.words;
  d->bit = at.low.at;
  return static_cast<std::size_t>(at.planes - planes);
}

template <bool kUnsigned>
std::size_t decode_group(dense::Decoder* d, int widest, std::uint8_t* planes, std::uint8_t* widths) noexcept {
  return d->sets == 2 ? decode_group<2, kUnsigned>(d, widest, planes, widths)
                      : decode_group<1, kUnsigned>(d, widest, planes, widths);
}

}  // namespace

std::size_t decode_dense(dense::Decoder* d, int widest, bool is_unsigned, std::uint8_t* planes,
                         std::uint8_t* widths) noexcept {
  return is_unsigned ? decode_group<true>(d, widest, planes, widths) : decode_group<false>(d, widest, planes, widths);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
