// Dense chunks, written (AVX-512).
#include "codec/avx512/dense.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

using dense::kLanes;

// Word i: the OR of words i to 15.
STRETTO_INLINE __m512i or_of_later(__m512i v) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  v = _mm512_or_si512(v, _mm512_alignr_epi32(zero, v, 1));
  v = _mm512_or_si512(v, _mm512_alignr_epi32(zero, v, 2));
  v = _mm512_or_si512(v, _mm512_alignr_epi32(zero, v, 4));
  return _mm512_or_si512(v, _mm512_alignr_epi32(zero, v, 8));
}

// Low bits that are on their way: fewer than 64 of them.
struct LowBits {
  std::uint8_t* out;
  std::uint64_t held;
  unsigned bits;
};

// The low bits of 2 kPairs planes, of which those that are not there have no lanes. plane[k - 1] belongs to the lanes mask[k].
template <int kPairs>
STRETTO_INLINE void put_planes(const std::uint32_t* plane, const std::uint32_t* mask, LowBits& low) noexcept {
  const auto* values = reinterpret_cast<const std::uint8_t*>(plane);
  const auto* lanes = reinterpret_cast<const std::uint8_t*>(mask + 1);
#pragma GCC unroll 8
  for (int i = 0; i < kPairs; ++i) {
    const auto at = load<std::uint64_t>(lanes + 8 * i);
    const std::uint64_t v = _pext_u64(load<std::uint64_t>(values + 8 * i), at);
    const std::uint64_t all = low.held | v << low.bits, rest = v >> 1 >> (63 - low.bits);
    store(low.out, all);
    const unsigned bits = low.bits + static_cast<unsigned>(_mm_popcnt_u64(at));
    low.held = bits >= 64 ? rest : all;
    low.out += bits / 64 * 8;
    low.bits = bits % 64;
  }
}

// A block of 1 to 16 planes.
template <bool kUnsigned>
STRETTO_INLINE void scan_planes(const std::uint8_t* planes, int width, std::uint8_t* classes, std::uint32_t* at_least,
                                LowBits& low) noexcept {
  const auto there = static_cast<__mmask16>((1u << width) - 1);
  __m512i z = _mm512_maskz_loadu_epi32(there, planes);
  if constexpr (!kUnsigned) {  // zigzag: the sign below, the other planes against it
    const __m512i sign = _mm512_set1_epi32(load<std::int32_t>(planes + 4 * (width - 1)));
    const __m512i others = _mm512_maskz_xor_epi32(static_cast<__mmask16>(there >> 1), z, sign);
    z = _mm512_alignr_epi32(others, sign, 15);
  }
  const __m512i at = or_of_later(z);  // word k - 1: values of class k or more
  const __m512i ones = _mm512_set1_epi8(1);
  const __m512i sum = _mm512_loadu_si512(at_least);
  _mm512_storeu_si512(at_least, _mm512_dpbusd_epi32(sum, _mm512_popcnt_epi8(at), ones));
  // A value's bits of `at` are as many as its class.
  const __m512i each =
      _mm512_popcnt_epi8(transpose(_mm512_permutexvar_epi8(_mm512_load_si512(kTables.spread[16]), at)));
  const __m256i sums = _mm256_add_epi8(_mm512_castsi512_si256(each), _mm512_extracti64x4_epi64(each, 1));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(classes), sums);
  if (width == 1) return;
  alignas(64) std::uint32_t plane[16], mask[32];
  _mm512_store_si512(plane, z);
  _mm512_store_si512(mask, at);
  mask[16] = 0;
  if (width <= 5) return put_planes<2>(plane, mask, low);
  if (width <= 9) return put_planes<4>(plane, mask, low);
  put_planes<8>(plane, mask, low);
}

STRETTO_INLINE LowBits begin_bits(const dense::BitWriter& w) noexcept {
  return {w.p_, w.held_, static_cast<unsigned>(w.bits_)};
}
STRETTO_INLINE void end_bits(const LowBits& low, dense::BitWriter* w) noexcept {
  store(low.out, low.held);
  w->p_ = low.out + low.bits / 8;
  w->held_ = low.held >> (low.bits & ~7u);
  w->bits_ = static_cast<int>(low.bits & 7);
}

template <bool kUnsigned>
void scan_group(const std::uint8_t* planes, const dense::Widths& widths, std::uint8_t* classes, dense::Counts* counts,
                dense::BitWriter* low) noexcept {
  LowBits bits = begin_bits(*low);
  for (int b = 0; b < kBlocks; ++b, classes += kLanes) {
    const int width = widths.of[b];
    if (width == 0) continue;
    if (__builtin_expect(width <= kMostWidth, 1)) {
      scan_planes<kUnsigned>(planes, width, classes, counts->at_least[width], bits);
      ++counts->blocks[width];
    } else {
      end_bits(bits, low);
      dense::scan_block(planes, width, kUnsigned, classes, counts, low);
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

// Codes 32 symbols of at most kMostSymbol. The quotient of a state by its frequency is that of 32 by 16 bits with a precomputed
// reciprocal (Moeller and Granlund, "Improved division by invariant integers", 2011, algorithm 4).
STRETTO_INLINE std::uint8_t* put_step(const dense::Table& t, __m512i symbols, Set& x, std::uint8_t* out) noexcept {
  const auto look = [&](const std::uint16_t* table) {
    return _mm512_permutexvar_epi16(symbols, _mm512_load_si512(table));
  };
  const __m512i one = _mm512_set1_epi16(1);
  const __m512i frequency = look(t.frequency), divisor = look(t.scaled), reciprocal = look(t.reciprocal),
                shift = look(t.shift);
  const __mmask32 over = _mm512_cmpge_epu16_mask(x.high, frequency);
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi16(over, x.low));
  out += 2 * _mm_popcnt_u32(over);
  const __m512i low = _mm512_mask_mov_epi16(x.low, over, x.high);
  const __m512i high = _mm512_maskz_mov_epi16(~over, x.high);
  const __m512i u1 = _mm512_shldv_epi16(high, low, shift), u0 = _mm512_sllv_epi16(low, shift);
  const __m512i q0 = _mm512_add_epi16(_mm512_mullo_epi16(reciprocal, u1), u0);
  const __mmask32 carry = _mm512_cmplt_epu16_mask(q0, u0);
  __m512i q = _mm512_add_epi16(_mm512_mulhi_epu16(reciprocal, u1), _mm512_add_epi16(u1, one));
  q = _mm512_mask_add_epi16(q, carry, q, one);
  __m512i rest = _mm512_sub_epi16(u0, _mm512_mullo_epi16(q, divisor));
  const __mmask32 above = _mm512_cmpgt_epu16_mask(rest, q0);
  q = _mm512_mask_sub_epi16(q, above, q, one);
  rest = _mm512_mask_add_epi16(rest, above, rest, divisor);
  const __mmask32 below = _mm512_cmpge_epu16_mask(rest, divisor);
  q = _mm512_mask_add_epi16(q, below, q, one);
  rest = _mm512_mask_sub_epi16(rest, below, rest, divisor);
  const __m512i slot = _mm512_add_epi16(_mm512_srlv_epi16(rest, shift), look(t.start));
  x.low = _mm512_or_si512(_mm512_slli_epi16(q, 12), slot);
  x.high = _mm512_srli_epi16(q, 4);
  return out;
}

STRETTO_INLINE __m512i symbols_at(const std::uint8_t* p) noexcept {
  return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

// Codes symbols of up to `last` on x, which is set `set`.
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
    for (int b = kBlocks - 2; b >= 0; b -= 2) {
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
