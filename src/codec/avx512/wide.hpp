// Groups of codes of 64 bits. Their planes are those of narrow groups, but up to 64.
#pragma once

#include "codec/avx512/choose.hpp"
#include "codec/avx512/encode.hpp"
#include "codec/avx512/group.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

// A wide or narrow group.
struct AnyGroup {
  Predictor predictor;
  bool wide;
  std::int64_t base, slope;
  const std::uint8_t* planes;
  __m256i widths;
};

// A wide group, as read_group_to().
template <class To>
STRETTO_INLINE bool read_wide_to(const std::uint8_t* p, std::size_t words, AnyGroup* g, To to) noexcept {
  const std::uint32_t word = words > 0 ? load<std::uint32_t>(p) : 0;
  const auto form = static_cast<Form>(word >> 4 & 7);
  const std::uint32_t bits = word & (kWideBit | kShortBaseBit | kExceptionsBit);
  if (word >> 8 != 0 || bits != (kWideBit | (To::kSome ? kExceptionsBit : 0)) || form > Form::masked_bytes)
    return false;
  *g = {static_cast<Predictor>(word & 3), true, 0, 0, p + 4, _mm256_setzero_si256()};
  const std::size_t codes = g->predictor == Predictor::second ? 2 : g->predictor == Predictor::first;
  if (words < 1 + 2 * codes) return false;
  if (codes > 0) g->base = load<std::int64_t>(p + 4);
  if (codes > 1) g->slope = load<std::int64_t>(p + 12);
  g->planes += 8 * codes;
  if constexpr (To::kSome) {
    const std::size_t n = to.read(g->planes, static_cast<std::size_t>(p + 4 * words - g->planes));
    if (n == 0) return false;
    g->planes += n;
  }
  const std::uint8_t* widths = nullptr;
  if (!read_widths(form, p, p + 4 * words, &g->widths, &widths)) return false;
  const int planes = planes_in(g->widths, g->predictor == Predictor::none_unsigned ? 63 : 64);
  return planes >= 0 && widths - g->planes == 4 * planes;
}

// The checks of parse_group(). Without exceptions.
static inline bool read_any(const std::uint8_t* p, std::size_t words, AnyGroup* g) noexcept {
  if (words > 0 && (load<std::uint32_t>(p) & kWideBit)) return read_wide_to(p, words, g, NoExceptions());
  NarrowGroup narrow;
  if (!read_group(p, words, &narrow)) return false;
  *g = {narrow.predictor, false, narrow.base, narrow.slope, narrow.planes, narrow.widths};
  return true;
}

struct Quad {
  __m512i v[4];
};
STRETTO_INLINE Quad load_quad(const std::int64_t* q) noexcept {
  return {_mm512_loadu_si512(q), _mm512_loadu_si512(q + 8), _mm512_loadu_si512(q + 16), _mm512_loadu_si512(q + 24)};
}
STRETTO_INLINE void store_quad(std::int64_t* q, const Quad& e) noexcept {
  for (int k = 0; k < 4; ++k) _mm512_storeu_si512(q + 8 * k, e.v[k]);
}
template <bool kUnsigned>
STRETTO_INLINE Quad widened(const Pair& e) noexcept {
  const __m256i h[4] = {_mm512_castsi512_si256(e.v0), _mm512_extracti64x4_epi64(e.v0, 1), _mm512_castsi512_si256(e.v1),
                        _mm512_extracti64x4_epi64(e.v1, 1)};
  Quad q;
  for (int k = 0; k < 4; ++k) q.v[k] = kUnsigned ? _mm512_cvtepu32_epi64(h[k]) : _mm512_cvtepi32_epi64(h[k]);
  return q;
}

template <bool kUnsigned>
STRETTO_INLINE Quad read_quad(const std::uint8_t* p, unsigned w) noexcept {
  if (__builtin_expect(w <= 32, 1)) return widened<kUnsigned>(read_pair<kUnsigned>(p, w));
  Quad low = widened<true>(read_pair<true>(p, 32));
  const Quad high = widened<true>(read_pair<kUnsigned>(p + 128, w - 32));
  for (int k = 0; k < 4; ++k) low.v[k] = _mm512_or_si512(low.v[k], _mm512_slli_epi64(high.v[k], 32));
  return low;
}

// Prefix sums from `before`, which receives the last.
STRETTO_INLINE void accumulate(Quad& q, __m512i& before) noexcept {
  const __m512i zero = _mm512_setzero_si512(), last = _mm512_set1_epi64(7);
  for (__m512i& v : q.v) {
    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 7));
    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 6));
    v = _mm512_add_epi64(v, _mm512_alignr_epi64(v, zero, 4));
    const __m512i all = _mm512_permutexvar_epi64(last, v);
    v = _mm512_add_epi64(v, before);
    before = _mm512_add_epi64(before, all);
  }
}

template <Predictor kPredictor>
STRETTO_INLINE void read_codes(const AnyGroup& g, std::int64_t* q) noexcept {
  __m512i code = _mm512_set1_epi64(g.base), difference = _mm512_set1_epi64(g.slope);
  const std::uint8_t* p = g.planes;
  WidthReader widths{g.widths};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t w8 = next8(widths);
    for (int j = 0; j < 8; ++j, w8 >>= 8, q += kBlock) {
      const unsigned w = w8 & 0xff;
      Quad e = read_quad<kPredictor == Predictor::none_unsigned>(p, w);
      if constexpr (kPredictor == Predictor::second) accumulate(e, difference);
      if constexpr (kPredictor >= Predictor::first) {
        accumulate(e, code);
        if (!g.wide)  // sums modulo 2^32
          for (__m512i& v : e.v) v = _mm512_srai_epi64(_mm512_slli_epi64(v, 32), 32);
      }
      store_quad(q, e);
      p += 4 * w;
    }
  }
}
static inline void read_codes(const AnyGroup& g, std::int64_t* q) noexcept {
  switch (g.predictor) {
    case Predictor::none_unsigned: return read_codes<Predictor::none_unsigned>(g, q);
    case Predictor::none_signed: return read_codes<Predictor::none_signed>(g, q);
    case Predictor::first: return read_codes<Predictor::first>(g, q);
    case Predictor::second: return read_codes<Predictor::second>(g, q);
  }
}

STRETTO_INLINE Pair halves_of(const Quad& e, int high) noexcept {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i index = _mm512_add_epi32(even, _mm512_set1_epi32(high));
  return {_mm512_permutex2var_epi32(e.v[0], index, e.v[1]), _mm512_permutex2var_epi32(e.v[2], index, e.v[3])};
}

// Returns the width. May touch 256 bytes.
template <bool kUnsigned>
STRETTO_INLINE unsigned write_block64(const Quad& e, std::uint8_t* p) noexcept {
  const __m512i half = _mm512_set1_epi64(kUnsigned ? 0 : 1LL << 31);
  __m512i beyond = _mm512_add_epi64(e.v[0], half);
  for (int k = 1; k < 4; ++k) beyond = _mm512_or_si512(beyond, _mm512_add_epi64(e.v[k], half));
  const Pair low = halves_of(e, 0);
  if (__builtin_expect(_mm512_test_epi64_mask(beyond, _mm512_set1_epi64(-(1LL << 32))) == 0, 1))
    return write_block32<kUnsigned>(low.v0, low.v1, p);
  const Pair high = halves_of(e, 1);
  const __m512i planes[4] = {low_planes(low.v0, low.v1), high_planes(low.v0, low.v1), low_planes(high.v0, high.v1),
                             high_planes(high.v0, high.v1)};
  __m512i below = _mm512_setzero_si512();
  std::uint64_t differ = 0;
  for (int k = 0; k < 4; ++k) {
    const __m512i v = planes[k];
    _mm512_storeu_si512(p + 64 * k, v);
    const __mmask16 here =
        kUnsigned ? _mm512_test_epi32_mask(v, v) : _mm512_cmpneq_epi32_mask(v, _mm512_alignr_epi32(v, below, 15));
    differ |= static_cast<std::uint64_t>(here) << (16 * k);
    below = v;
  }
  return 64 - static_cast<unsigned>(_lzcnt_u64(differ));
}

template <int kOrder>
struct Residuals64 {
  __m512i code, difference;
};
STRETTO_INLINE Quad minus_before(const Quad& q, __m512i& before) noexcept {
  Quad d;
  for (int k = 0; k < 4; ++k)
    d.v[k] = _mm512_sub_epi64(q.v[k], _mm512_alignr_epi64(q.v[k], k ? q.v[k - 1] : before, 7));
  before = q.v[3];
  return d;
}
template <int kOrder>
STRETTO_INLINE Quad next(Residuals64<kOrder>& s, const Quad& q) noexcept {
  if constexpr (kOrder == 0) return q;
  const Quad d = minus_before(q, s.code);
  if constexpr (kOrder == 1) return d;
  return minus_before(d, s.difference);
}

STRETTO_INLINE std::uint8_t* write_wide_head(Predictor predictor, std::int64_t base, std::int64_t slope,
                                             std::uint8_t* out) noexcept {
  store(out, static_cast<std::uint32_t>(predictor) | kWideBit);
  if (predictor < Predictor::first) return out + 4;
  store(out + 4, base);
  if (predictor == Predictor::first) return out + 12;
  store(out + 12, slope);
  return out + 20;
}

// between: as encode().
template <Predictor kPredictor, class Between>
std::size_t encode_wide(const std::int64_t* q, PrefetchCursor ahead, std::uint8_t* out, Between between) noexcept {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(q);
  const auto q0 = load<std::int64_t>(bytes), q1 = load<std::int64_t>(bytes + 8);
  const std::int64_t slope = kPredictor == Predictor::second ? wrapping_difference(q1, q0) : 0,
                     base = wrapping_difference(q0, slope);
  std::uint8_t* p = between(write_wide_head(kPredictor, base, slope, out));
  Residuals64<order_of(kPredictor)> residuals{_mm512_set1_epi64(base), _mm512_set1_epi64(slope)};
  WidthWriter widths{_mm256_setzero_si256()};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t written = 0;
    for (int j = 0; j < 8; ++j, q += kBlock) {
      fetch_share(ahead);
      const Quad e = next(residuals, load_quad(q));
      const unsigned w = write_block64<kPredictor == Predictor::none_unsigned>(e, p);
      written |= std::uint64_t{w} << (8 * j);
      p += 4 * w;
    }
    push8(widths, written);
  }
  return finish_group(widths.widths, out, p);
}
template <class Between>
std::size_t encode_wide(Predictor predictor, const std::int64_t* q, PrefetchCursor ahead, std::uint8_t* out,
                        Between between) noexcept {
  switch (predictor) {
    case Predictor::none_unsigned: return encode_wide<Predictor::none_unsigned>(q, ahead, out, between);
    case Predictor::none_signed: return encode_wide<Predictor::none_signed>(q, ahead, out, between);
    case Predictor::first: return encode_wide<Predictor::first>(q, ahead, out, between);
    case Predictor::second: break;
  }
  return encode_wide<Predictor::second>(q, ahead, out, between);
}
static inline std::size_t encode_wide(Predictor predictor, const std::int64_t* q, PrefetchCursor ahead,
                                      std::uint8_t* out) noexcept {
  return encode_wide(predictor, q, ahead, out, [](std::uint8_t* p) { return p; });
}

STRETTO_INLINE long long cost_of_runs64(const __m512i (&m)[6], bool is_signed) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i a = merge128(merge64(m[0], m[1]), merge64(m[2], m[3])), b = merge128(merge64(m[4], m[5]), zero);
  const __m512i all = merge128(a, b);
  const __m512i bits = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_lzcnt_epi64(all));
  const __mmask8 plus = is_signed ? _mm512_test_epi64_mask(all, all) : 0;
  return _mm512_reduce_add_epi64(_mm512_mask_add_epi64(bits, plus, bits, _mm512_set1_epi64(1)));
}
// Of a wide group, whose order does not depend on the coding.
static inline int choose_order64(const std::int64_t* q) noexcept {
  __m512i m[3][6], any = _mm512_setzero_si512();
  for (int k = 0; k < 6; ++k) {
    for (int order = 0; order < 3; ++order) m[order][k] = _mm512_setzero_si512();
    for (const std::int64_t* p : {q + 112 + 160 * k, q + 120 + 160 * k}) {
      const __m512i q0 = _mm512_loadu_si512(p), q1 = _mm512_loadu_si512(p - 1), q2 = _mm512_loadu_si512(p - 2);
      const __m512i d = _mm512_sub_epi64(q0, q1), e = _mm512_sub_epi64(d, _mm512_sub_epi64(q1, q2));
      any = _mm512_or_si512(any, q0);
      m[0][k] = _mm512_or_si512(m[0][k], magnitude64(q0));
      m[1][k] = _mm512_or_si512(m[1][k], magnitude64(d));
      m[2][k] = _mm512_or_si512(m[2][k], magnitude64(e));
    }
  }
  const auto cost = [&](int order, bool is_signed) { return static_cast<int>(cost_of_runs64(m[order], is_signed)); };
  return least_cost(cost(0, _mm512_movepi64_mask(any) != 0), cost(1, true), cost(2, true));
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
