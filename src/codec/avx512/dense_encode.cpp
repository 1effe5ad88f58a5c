#include "codec/avx512/dense.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

using dense::kLanes;

STRETTO_INLINE __m512i or_of(__m512i a, __m512i b, __m512i c) noexcept {
  return _mm512_ternarylogic_epi32(a, b, c, 0xfe);
}
// Word i: the OR of words i to 15. Words from kWords on are 0.
template <int kWords>
STRETTO_INLINE __m512i or_of_later(__m512i v) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  v = or_of(v, _mm512_alignr_epi32(zero, v, 1), _mm512_alignr_epi32(zero, v, 2));
  v = or_of(v, _mm512_alignr_epi32(zero, v, 3), kWords > 6 ? _mm512_alignr_epi32(zero, v, 6) : v);
  return kWords > 9 ? _mm512_or_si512(v, _mm512_alignr_epi32(zero, v, 9)) : v;
}

// Bits 0 to at % 64 of `held` belong to the 8 bytes at out + at / 64 * 8.
struct LowBits {
  std::uint8_t* out;
  std::uint64_t at, held;
};

// A block of at most 2 kPairs + 1 planes, and at most 16.
template <int kPairs, bool kUnsigned>
STRETTO_INLINE void scan_planes(const std::uint8_t* planes, int width, std::uint8_t* classes, std::uint32_t* at_least,
                                LowBits& low) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  const auto there = static_cast<__mmask16>(_bzhi_u32(0xffff, static_cast<unsigned>(width)));
  __m512i z = _mm512_maskz_loadu_epi32(there, planes);
  if constexpr (!kUnsigned) {
    const __m512i sign = _mm512_set1_epi32(load<std::int32_t>(planes + 4 * (width - 1)));
    const __m512i others = _mm512_maskz_xor_epi32(static_cast<__mmask16>(there >> 1), z, sign);
    z = _mm512_alignr_epi32(others, sign, 15);
  }
  const __m512i at = or_of_later<2 * kPairs + 1>(z);
  const Words<2 * kPairs> plane(z), mask(_mm512_alignr_epi32(zero, at, 1));
  const __m512i sum = _mm512_loadu_si512(at_least);
  _mm512_storeu_si512(at_least, _mm512_dpbusd_epi32(sum, _mm512_popcnt_epi8(at), _mm512_set1_epi8(1)));
  // A value's class is its number of bits in `at`.
  const __m512i each =
      _mm512_popcnt_epi8(transpose(_mm512_permutexvar_epi8(_mm512_load_si512(kTables.spread[16]), at)));
  __m256i sums = _mm512_castsi512_si256(each);
  if constexpr (kPairs > 2) sums = _mm256_add_epi8(sums, _mm512_extracti64x4_epi64(each, 1));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(classes), sums);
#pragma GCC unroll 8
  for (int i = 0; i < kPairs; ++i) {
    const std::uint64_t lanes = mask.pair(i), v = _pext_u64(plane.pair(i), lanes);
    const std::uint64_t all = low.held | v << (low.at % 64), rest = v >> 1 >> (~low.at % 64);
    store(low.out + low.at / 64 * 8, all);
    const std::uint64_t next = low.at + static_cast<std::uint64_t>(_mm_popcnt_u64(lanes));
    low.held = all;
    // The compiler would make this a branch, which no processor predicts.
    asm("testl $64, %k1\n\tcmovnz %2, %0" : "+r"(low.held) : "r"(low.at ^ next), "r"(rest) : "cc");
    low.at = next;
  }
}

STRETTO_INLINE LowBits begin_bits(const dense::BitWriter& w) noexcept {
  return {w.p_, static_cast<std::uint64_t>(w.bits_), w.held_};
}
STRETTO_INLINE void end_bits(const LowBits& low, dense::BitWriter* w) noexcept {
  store(low.out + low.at / 64 * 8, low.held);
  w->p_ = low.out + low.at / 8;
  w->held_ = low.held >> (low.at & 56);
  w->bits_ = static_cast<int>(low.at & 7);
}

template <bool kUnsigned>
__attribute__((noinline)) void scan_long_block(const std::uint8_t* planes, int width, std::uint8_t* classes,
                                               std::uint32_t* at_least, dense::BitWriter* low) noexcept {
  std::uint32_t z[dense::kMaxWidth],
      at[dense::kMaxWidth];  // planes of the zigzag residuals; at[k - 1]: values of class k or more
  const std::uint32_t sign = kUnsigned ? 0 : load<std::uint32_t>(planes + 4 * (width - 1));
  z[0] = kUnsigned ? load<std::uint32_t>(planes) : sign;
  for (int i = 1; i < width; ++i) z[i] = load<std::uint32_t>(planes + 4 * (i - !kUnsigned)) ^ sign;
  std::uint32_t above = 0;
  __m256i each = _mm256_setzero_si256();
  for (int i = width - 1; i >= 0; --i) {
    at[i] = above |= z[i];
    at_least[i] += static_cast<std::uint32_t>(_mm_popcnt_u32(above));
    each = _mm256_mask_add_epi8(each, above, each, _mm256_set1_epi8(1));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(classes), each);
  LowBits bits = begin_bits(*low);
  for (int i = 0; i + 1 < width; ++i) {
    const std::uint64_t v = _pext_u32(z[i], at[i + 1]);
    const std::uint64_t all = bits.held | v << (bits.at % 64), rest = v >> 1 >> (~bits.at % 64);
    store(bits.out + bits.at / 64 * 8, all);
    const std::uint64_t next = bits.at + static_cast<std::uint64_t>(_mm_popcnt_u32(at[i + 1]));
    bits.held = (bits.at ^ next) & 64 ? rest : all;
    bits.at = next;
  }
  end_bits(bits, low);
}

template <bool kUnsigned>
void scan_group(const std::uint8_t* planes, const dense::Widths& widths, std::uint8_t* classes, dense::Counts* counts,
                dense::BitWriter* low) noexcept {
  const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(widths.of));
  for (int w = 0; w <= widths.widest; ++w)
    counts->widths[widths.widest][w] +=
        static_cast<std::uint32_t>(_mm_popcnt_u32(_mm256_cmpeq_epi8_mask(all, _mm256_set1_epi8(static_cast<char>(w)))));
  LowBits bits = begin_bits(*low);
  for (std::uint32_t some = _mm256_test_epi8_mask(all, all); some; some &= some - 1) {
    const auto b = _tzcnt_u32(some);
    const int width = widths.of[b];
    std::uint8_t* const to = classes + kLanes * b;
    std::uint32_t* const at_least = counts->at_least[b & 1][width];
    ++counts->blocks[width];
    if (width <= 3) {
      scan_planes<1, kUnsigned>(planes, width, to, at_least, bits);
    } else if (width <= 5) {
      scan_planes<2, kUnsigned>(planes, width, to, at_least, bits);
    } else if (width <= 7) {
      scan_planes<3, kUnsigned>(planes, width, to, at_least, bits);
    } else if (width <= 9) {
      scan_planes<4, kUnsigned>(planes, width, to, at_least, bits);
    } else if (width <= 11) {
      scan_planes<5, kUnsigned>(planes, width, to, at_least, bits);
    } else if (__builtin_expect(width <= kMostWidth, 1)) {
      scan_planes<8, kUnsigned>(planes, width, to, at_least, bits);
    } else {
      end_bits(bits, low);
      scan_long_block<kUnsigned>(planes, width, to, at_least, low);
      bits = begin_bits(*low);
    }
    planes += 4 * width;
  }
  end_bits(bits, low);
}

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

// Symbol s, a byte, to bytes 2 s and 2 s + 1 of a word.
STRETTO_INLINE __m512i symbols_at(const std::uint8_t* p) noexcept {
  const __m512i words = _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  const __m512i twice = _mm512_add_epi16(words, words);
  return _mm512_add_epi16(_mm512_or_si512(twice, _mm512_slli_epi16(twice, 8)), _mm512_set1_epi16(0x0100));
}

// With d = f 2^shift, of 16 bits, x / f is x 2^shift / d. The product of its upper word u and the reciprocal of d is at
// most 3 below: u 2^16 / d is less than 2 below, and each rounding costs less than 1. So the remainder is below 4 f,
// which has 14 bits.
STRETTO_INLINE std::uint8_t* put_step(const dense::Table& t, __m512i symbols, Set& x, std::uint8_t* out) noexcept {
  const auto look = [&](const std::uint16_t* table) {
    return _mm512_permutexvar_epi8(symbols, _mm512_load_si512(table));
  };
  const __m512i f = look(t.frequency), reciprocal = look(t.reciprocal), places = look(t.places);
  const __m512i below = _mm512_srai_epi16(_mm512_sub_epi16(x.high, f), 15);  // all ones unless x >= 2^16 f
  const __mmask32 over = _mm512_cmpge_epu16_mask(x.high, f);
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(over, x.low));
  out += 2 * _mm_popcnt_u32(over);
  const __m512i low = _mm512_ternarylogic_epi32(below, x.low, x.high, 0xca);  // below ? x.low : x.high
  const __m512i high = _mm512_and_si512(below, x.high);
  const __m512i u = _mm512_shldv_epi16(high, low, places);
  const __m512i q = _mm512_add_epi16(_mm512_mulhi_epu16(reciprocal, u), u);
  const __m512i rest = _mm512_sub_epi16(low, _mm512_mullo_epi16(q, f)), f2 = _mm512_add_epi16(f, f);
  const __m512i over2 = _mm512_sub_epi16(rest, f2), rest2 = _mm512_min_epu16(rest, over2);
  const __m512i over1 = _mm512_sub_epi16(rest2, f), rest1 = _mm512_min_epu16(rest2, over1);
  // Each is -1 where its remainder is not over.
  const __m512i less2 = _mm512_srai_epi16(over2, 15), less1 = _mm512_srai_epi16(over1, 15);
  const __m512i most = _mm512_add_epi16(q, _mm512_set1_epi16(3));
  const __m512i quotient = _mm512_add_epi16(_mm512_add_epi16(most, _mm512_add_epi16(less2, less2)), less1);
  const __m512i slot = _mm512_add_epi16(_mm512_slli_epi16(rest1, 4), places);
  x.low = _mm512_shldi_epi16(quotient, slot, 12);
  x.high = _mm512_srli_epi16(quotient, 4);
  return out;
}

STRETTO_INLINE std::uint8_t* put(const dense::Table& table, int last, const std::uint8_t* symbols, int set, Set& x,
                                 dense::States* states, std::uint8_t* out) noexcept {
  if (__builtin_expect(last <= kMostSymbol, 1)) return put_step(table, symbols_at(symbols), x, out);
  store_set(x, states, set);
  out = dense::encode_step(table, symbols, set, states, out);
  x = load_set(*states, set);
  return out;
}

template <int kSets>
std::uint8_t* encode_groups(const dense::Widths* groups, int n, const std::uint8_t* classes,
                            const dense::Tables& tables, dense::States* states, std::uint8_t* out) noexcept {
  Set x0 = load_set(*states, 0), x1 = load_set(*states, 1);
  for (int g = n - 1; g >= 0; --g) {
    const dense::Widths& w = groups[g];
    if (w.widest == 0) continue;
    const std::uint8_t* from = classes + kGroup * g;
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w.of));
    const std::uint32_t some = _mm256_test_epi8_mask(all, all);
    for (std::uint32_t pairs = (some | some >> 1) & 0x55555555; pairs;) {
      const auto b = 31 - _lzcnt_u32(pairs);
      pairs = _bzhi_u32(pairs, b);
      const int second = w.of[b + 1], first = w.of[b];
      if (second)
        out =
            put(tables.classes[second], second, from + kLanes * (b + 1), kSets - 1, kSets == 2 ? x1 : x0, states, out);
      if (first) out = put(tables.classes[first], first, from + kLanes * b, 0, x0, states, out);
    }
    out = put(tables.widths[w.widest], w.widest, w.of, 0, x0, states, out);
  }
  store_set(x0, states, 0);
  store_set(x1, states, 1);
  return out;
}

}  // namespace

void scan_dense(const std::uint8_t* planes, const dense::Widths& widths, bool is_unsigned, std::uint8_t* classes,
                dense::Counts* counts, dense::BitWriter* low) noexcept {
  if (is_unsigned)
    scan_group<true>(planes, widths, classes, counts, low);
  else
    scan_group<false>(planes, widths, classes, counts, low);
}

std::uint8_t* encode_dense(const dense::Widths* groups, int n, const std::uint8_t* classes, const dense::Tables& tables,
                           int sets, dense::States* states, std::uint8_t* out) noexcept {
  return sets == 2 ? encode_groups<2>(groups, n, classes, tables, states, out)
                   : encode_groups<1>(groups, n, classes, tables, states, out);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
