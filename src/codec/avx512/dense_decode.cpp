#include "codec/avx512/dense.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

using dense::kLanes;

// Place 31 comes first: a step's words then go to ascending lanes, from the end of the words on, and are read before
// their number is known.
struct Set {
  __m512i low, high;
};

struct DecodeTables {
  alignas(64) std::uint8_t reverse[64];
  alignas(64) std::uint8_t gather[64];
  alignas(64) std::uint16_t below[32];
  // Constants in all words: loads cost less than broadcasts.
  alignas(64) std::uint16_t all_slots[32], not_least[32], one[32], symbol[5][32];

  constexpr DecodeTables() noexcept : reverse(), gather(), below(), all_slots(), not_least(), one(), symbol() {
    for (int i = 0; i < 32; ++i) {
      all_slots[i] = dense::kOne - 1;
      not_least[i] = static_cast<std::uint16_t>(~(dense::kLeastState - 1));
      one[i] = 1;
      for (int k = 0; k < 5; ++k) symbol[k][i] = static_cast<std::uint16_t>(0x0202 << k);
    }
    for (int i = 0; i < 64; ++i) reverse[i] = static_cast<std::uint8_t>(62 - i / 2 * 2 + i % 2);
    for (int i = 0; i < 64; ++i) gather[i] = reverse[kTables.gather16[i]];
    for (int c = 0; c < 32; ++c) below[c] = static_cast<std::uint16_t>((1u << (c < 16 ? c : 16)) - 1);
  }
};
constexpr DecodeTables kDecode{};
STRETTO_INLINE __m512i all(const std::uint16_t (&words)[32]) noexcept { return _mm512_load_si512(words); }

STRETTO_INLINE __m512i reversed(__m512i words) noexcept {
  return _mm512_permutexvar_epi8(_mm512_load_si512(kDecode.reverse), words);
}
STRETTO_INLINE Set load_set(const dense::States& s, int set) noexcept {
  return {reversed(_mm512_load_si512(s.low[set])), reversed(_mm512_load_si512(s.high[set]))};
}
STRETTO_INLINE void store_set(const Set& x, dense::States* s, int set) noexcept {
  _mm512_store_si512(s->low[set], reversed(x.low));
  _mm512_store_si512(s->high[set], reversed(x.high));
}

STRETTO_INLINE const std::uint8_t* advance(__m512i slot, __m512i frequency, __m512i start, Set& x,
                                           const std::uint8_t* words) noexcept {
  const __m512i next = reversed(_mm512_loadu_si512(words - 64));
  const __m512i above = _mm512_shldi_epi16(x.high, x.low, 4);
  const __m512i offset = _mm512_sub_epi16(slot, start);
  const __m512i product = _mm512_mullo_epi16(frequency, above), upper = _mm512_mulhi_epu16(frequency, above);
  const __m512i low = _mm512_add_epi16(product, offset), limited = _mm512_adds_epu16(product, offset);
  const __m512i beyond = _mm512_ternarylogic_epi32(upper, limited, all(kDecode.not_least), 0xf8);  // a | (b & c)
  const __mmask32 under = _mm512_testn_epi16_mask(beyond, beyond);
  const __m512i high = _mm512_mask_add_epi16(upper, _mm512_cmplt_epu16_mask(low, offset), upper, all(kDecode.one));
  x.high = _mm512_mask_mov_epi16(high, under, low);
  x.low = _mm512_mask_expand_epi16(low, under, next);
  return words - 2 * _mm_popcnt_u32(under);
}

// Symbol s is bytes 2 s and 2 s + 1 of a word: indices for byte permutations.
STRETTO_INLINE __m512i look(__m512i symbols, const std::uint16_t* table) noexcept {
  return _mm512_permutexvar_epi8(symbols, _mm512_load_si512(table));
}
STRETTO_INLINE __m512i look_from(__m512i symbols, const std::uint16_t* table) noexcept {
  return _mm512_permutexvar_epi8(symbols, _mm512_loadu_si512(table));
}
STRETTO_INLINE __m512i slots(const Set& x) noexcept { return _mm512_and_si512(x.low, all(kDecode.all_slots)); }
STRETTO_INLINE __m512i first_symbol() noexcept { return _mm512_set1_epi16(0x0100); }
STRETTO_INLINE __m512i next_symbol(__m512i symbols, __m512i slot, __m512i threshold) noexcept {
  const __mmask32 reached = _mm512_cmpge_epu16_mask(slot, threshold);
  return _mm512_mask_add_epi16(symbols, reached, symbols, all(kDecode.symbol[0]));
}
STRETTO_INLINE __m512i threshold(const dense::Table& t, int k) noexcept {
  return _mm512_set1_epi32(static_cast<int>(t.threshold[k]));
}
// Negative if the slot lies below the threshold.
STRETTO_INLINE __m512i below(__m512i slot, const dense::Table& t, int k) noexcept {
  return _mm512_sub_epi16(slot, threshold(t, k));
}
STRETTO_INLINE __m512i below(__m512i slot, __m512i symbols, const std::uint16_t* starts) noexcept {
  return _mm512_sub_epi16(slot, look_from(symbols, starts));
}
STRETTO_INLINE __m512i either(__m512i which, __m512i a, __m512i b) noexcept {
  return _mm512_ternarylogic_epi32(which, a, b, 0xca);  // which ? a : b
}
// Adds 2^kLog symbols where the sign is 0.
template <int kLog>
STRETTO_INLINE __m512i plus_unless(__m512i sign, __m512i symbols) noexcept {
  return _mm512_ternarylogic_epi32(_mm512_srai_epi16(sign, 15), all(kDecode.symbol[kLog]), symbols,
                                   0xae);  // (~sign & b) | c
}
// Symbols below 2^kLevels. Subtractions, whose signs select, take fewer cycles than masks.
template <int kLevels>
STRETTO_INLINE __m512i find_symbols(__m512i slot, const dense::Table& t) noexcept {
  __m512i s = first_symbol();
  if constexpr (kLevels == 2) {
    const __m512i b2 = below(slot, t, 2);
    return plus_unless<1>(b2, plus_unless<0>(either(b2, below(slot, t, 1), below(slot, t, 3)), s));
  }
  if constexpr (kLevels == 3) {
    const __m512i b2 = below(slot, t, 2), b4 = below(slot, t, 4), b6 = below(slot, t, 6);
    const __m512i low = either(b2, below(slot, t, 1), below(slot, t, 3)),
                  high = either(b6, below(slot, t, 5), below(slot, t, 7));
    s = plus_unless<1>(either(b4, b2, b6), plus_unless<2>(b4, s));
    return plus_unless<0>(either(b4, low, high), s);
  }
  const __m512i b8 = below(slot, t, 8);
  s = plus_unless<2>(either(b8, below(slot, t, 4), below(slot, t, 12)), plus_unless<3>(b8, s));
  const __m512i b2 = below(slot, s, t.start + 2);
  const __m512i b1 = either(b2, below(slot, s, t.start + 1), below(slot, s, t.start + 3));
  return plus_unless<1>(b2, plus_unless<0>(b1, s));
}

// Symbols up to kMostFound: indices into 128 bytes.
constexpr int kMostFound = 63;
STRETTO_INLINE __m512i look_far(__m512i symbols, const std::uint16_t* table) noexcept {
  return _mm512_permutex2var_epi8(_mm512_load_si512(table), symbols, _mm512_load_si512(table + 32));
}
STRETTO_INLINE const std::uint8_t* take_symbols(const dense::Table& t, int last, Set& x, const std::uint8_t* words,
                                                std::uint8_t* symbols) noexcept {
  const __m512i slot = slots(x);
  __m512i s = first_symbol();
  const bool many = last > kMostSymbol;
  for (int k = 1; k <= (many ? kMostSymbol : last); ++k) s = next_symbol(s, slot, threshold(t, k));
  for (int k = kMostSymbol + 1; k <= last; ++k)
    s = next_symbol(s, slot, _mm512_set1_epi16(static_cast<short>(t.start[k])));
  const __m512i halves = _mm512_and_si512(_mm512_srli_epi16(reversed(s), 1), _mm512_set1_epi16(0x7f));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(symbols), _mm512_cvtepi16_epi8(halves));
  return many ? advance(slot, look_far(s, t.frequency), look_far(s, t.start), x, words)
              : advance(slot, look(s, t.frequency), look(s, t.start), x, words);
}

struct LowBits {
  const std::uint8_t* p;
  std::uint64_t at;
};

// A block of at most 2 kPairs + 1 planes, and at most 16; kPairs is 1, 3, 4, 5, 7 or 8. May write beyond the block.
template <int kPairs, bool kUnsigned>
STRETTO_INLINE const std::uint8_t* take_block(const dense::Table& t, Set& x, const std::uint8_t* words, LowBits& low,
                                              std::uint8_t* planes) noexcept {
  const __m512i slot = slots(x);
  __m512i s;
  if constexpr (kPairs < 8) {
    s = find_symbols < kPairs == 1 ? 2 : kPairs == 3 ? 3 : 4 > (slot, t);
  } else {
    s = find_symbols<4>(slot, t);
    s = next_symbol(s, slot, threshold(t, 16));
  }
  words = advance(slot, look(s, t.frequency), look(s, t.start), x, words);
  // Word k - 1 of `at`: lanes of class k or more. Word i of `tops`: lanes whose top bit is in plane i; of `lanes`:
  // lanes with a low bit there.
  const __m512i spread = _mm512_permutexvar_epi8(_mm512_load_si512(kDecode.gather), look(s, kDecode.below));
  const __m512i at = _mm512_permutexvar_epi8(_mm512_load_si512(kTables.planes), transpose(spread));
  const __m512i later = _mm512_alignr_epi32(_mm512_setzero_si512(), at, 1);
  const Words<2 * kPairs> lanes(later);
  const Words<(kPairs < 8 ? 2 * kPairs + 1 : 16)> tops(_mm512_xor_si512(at, later));
  std::uint64_t sign = 0;
#pragma GCC unroll 8
  for (int i = 0; i < kPairs; ++i) {
    const std::uint64_t mask = lanes.pair(i);
    const std::uint8_t* const from = low.p + low.at / 64 * 8;
    const std::uint64_t bits = load<std::uint64_t>(from) >> (low.at % 64) | load<std::uint64_t>(from + 8)
                                                                                << 1 << (~low.at % 64);
    low.at += static_cast<std::uint64_t>(_mm_popcnt_u64(mask));
    const std::uint64_t z = tops.pair(i) | _pdep_u64(bits, mask);
    if constexpr (kUnsigned) {
      store(planes + 8 * i, z);
    } else if (i == 0) {
      sign = (z & 0xffffffff) * 0x100000001;
      store(planes, static_cast<std::uint32_t>(z >> 32 ^ sign));
    } else {
      store(planes + 8 * i - 4, z ^ sign);
    }
  }
  const std::uint32_t last = kPairs < 8 ? tops.word(2 * kPairs) : 0;
  if constexpr (kUnsigned) {
    if constexpr (kPairs < 8) store(planes + 8 * kPairs, last);
  } else {
    store(planes + 8 * kPairs - 4, last ^ static_cast<std::uint32_t>(sign));
    if constexpr (kPairs < 8) store(planes + 8 * kPairs, static_cast<std::uint32_t>(sign));
  }
  return words;
}

STRETTO_INLINE std::uint32_t lanes_of_class(__m256i classes, int k) noexcept {
  return _mm256_cmpge_epu8_mask(classes, _mm256_set1_epi8(static_cast<char>(k)));
}

template <bool kUnsigned>
__attribute__((noinline)) void take_planes(const std::uint8_t* symbols, int width, LowBits& low,
                                           std::uint8_t* planes) noexcept {
  const __m256i classes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(symbols));
  std::uint32_t sign = 0, at = lanes_of_class(classes, 1);
  for (int i = 0; i < width; ++i) {
    const std::uint32_t later = lanes_of_class(classes, i + 2);
    const std::uint64_t bits = load<std::uint64_t>(low.p + low.at / 8) >> (low.at % 8);
    const std::uint32_t z = (at ^ later) | _pdep_u32(static_cast<std::uint32_t>(bits), later);
    low.at += static_cast<std::uint64_t>(_mm_popcnt_u32(later));
    at = later;
    if constexpr (kUnsigned) {
      store(planes + 4 * i, z);
    } else if (i == 0) {
      sign = z;
    } else {
      store(planes + 4 * (i - 1), z ^ sign);
    }
  }
  if constexpr (!kUnsigned) store(planes + 4 * (width - 1), sign);
}

// Bytes behind a block's first low bit that take_block() and take_planes() may read.
constexpr std::ptrdiff_t low_reach(int width) noexcept { return 4 * (width - 1) + 16; }

struct Position {
  const std::uint8_t* words;
  LowBits low;
  std::uint8_t* planes;
};

// x is set `set`. False: malformed.
template <bool kUnsigned>
STRETTO_INLINE bool next_block(dense::Decoder* d, int width, int set, Set& x, Position& at) noexcept {
  const dense::Tables& tables = *d->tables;
  if (at.words < d->floor || at.low.at > d->bits || !(tables.have_classes >> (width - 1) & 1)) return false;
  if (__builtin_expect(width <= kMostWidth && d->end - (at.low.p + at.low.at / 8) >= low_reach(kMostWidth), 1)) {
    const dense::Table& t = tables.classes[width];
    if (width <= 3)
      at.words = take_block<1, kUnsigned>(t, x, at.words, at.low, at.planes);
    else if (width <= 7)
      at.words = take_block<3, kUnsigned>(t, x, at.words, at.low, at.planes);
    else if (width <= 9)
      at.words = take_block<4, kUnsigned>(t, x, at.words, at.low, at.planes);
    else if (width <= 11)
      at.words = take_block<5, kUnsigned>(t, x, at.words, at.low, at.planes);
    else if (width <= 15)
      at.words = take_block<7, kUnsigned>(t, x, at.words, at.low, at.planes);
    else
      at.words = take_block<8, kUnsigned>(t, x, at.words, at.low, at.planes);
  } else {
    const bool has_reach = d->end - (at.low.p + at.low.at / 8) >= low_reach(width);
    std::uint8_t classes[kLanes];
    if (width <= kMostFound) {
      at.words = take_symbols(tables.classes[width], width, x, at.words, classes);
    } else {
      store_set(x, &d->states, set);
      d->words = at.words;
      if (!dense::decode_step(d, tables.classes[width], width, set, classes)) return false;
      x = load_set(d->states, set);
      at.words = d->words;
    }
    if (has_reach) {
      take_planes<kUnsigned>(classes, width, at.low, at.planes);
    } else {
      d->bit = at.low.at;
      if (!dense::read_block(d, classes, width, kUnsigned, at.planes)) return false;
      at.low.at = d->bit;
    }
  }
  at.planes += 4 * width;
  return true;
}

template <int kSets, bool kUnsigned>
std::size_t decode_group(dense::Decoder* d, int widest, std::uint8_t* planes, std::uint8_t* widths) noexcept {
  const dense::Tables& tables = *d->tables;
  if (widest > tables.widest || !(tables.have_widths >> (widest - 1) & 1)) return dense::kMalformed;
  if (widest > kMostFound && !dense::decode_step(d, tables.widths[widest], widest, 0, widths)) return dense::kMalformed;
  Set x0 = load_set(d->states, 0), x1 = load_set(d->states, 1);
  Position at{d->words, {d->low, d->bit}, planes};
  if (widest <= kMostFound) at.words = take_symbols(tables.widths[widest], widest, x0, at.words, widths);
  const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(widths));
  std::uint32_t some = _mm256_test_epi8_mask(w, w);
  if constexpr (kSets == 2) {
    some = (some | some >> 1) & 0x55555555;
    for (; some; some &= some - 1) {
      const int b = static_cast<int>(_tzcnt_u32(some));
      if (widths[b] && !next_block<kUnsigned>(d, widths[b], 0, x0, at)) return dense::kMalformed;
      if (widths[b + 1] && !next_block<kUnsigned>(d, widths[b + 1], 1, x1, at)) return dense::kMalformed;
    }
  } else {
    for (; some; some &= some - 1)
      if (!next_block<kUnsigned>(d, widths[_tzcnt_u32(some)], 0, x0, at)) return dense::kMalformed;
  }
  if (at.words < d->floor || at.low.at > d->bits) return dense::kMalformed;
  store_set(x0, &d->states, 0);
  store_set(x1, &d->states, 1);
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
