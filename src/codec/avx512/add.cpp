// Sums and differences of narrow groups (AVX-512): residuals add, block by block, in bytes or words where the widths allow it.
#include "codec/avx512/group.hpp"
#include "codec/avx512/kernels.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

STRETTO_INLINE std::int32_t plus(std::int32_t a, std::int32_t b, bool negate) noexcept {
  const auto u = static_cast<std::uint32_t>(a), v = static_cast<std::uint32_t>(b);
  return static_cast<std::int32_t>(negate ? u - v : u + v);
}

// Groups whose residuals are of one order. kUa, kUb: they are unsigned; the result is if both are and nothing is negated.
template <bool kUa, bool kUb, bool kNegate>
STRETTO_INLINE std::uint8_t* add_same(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, std::uint8_t* width) noexcept {
  constexpr bool kU = kUa && kUb && !kNegate;
  // Largest widths whose sums fit 8 and 16 bits; one less if an unsigned and a signed number meet.
  constexpr unsigned kBytes = kUa == kUb ? 7 : 6, kWords = kUa == kUb ? 15 : 14;
  const std::uint8_t *pa = a.planes, *pb = b.planes;
  for (int i = 0; i < kBlocks; ++i) {
    const unsigned wa = a.width[i], wb = b.width[i];
    unsigned w = 0;
    if (wa <= kBytes && wb <= kBytes) {
      const __m256i ea = read_bytes<kUa>(pa, wa), eb = read_bytes<kUb>(pb, wb);
      const __m256i planes = planes_of_bytes(kNegate ? _mm256_sub_epi8(ea, eb) : _mm256_add_epi8(ea, eb));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), planes);
      w = kU ? unsigned_width(planes) : signed_width(planes);
    } else if (wa <= kWords && wb <= kWords) {
      const __m512i ea = read_words<kUa>(pa, wa), eb = read_words<kUb>(pb, wb);
      const __m512i planes = planes_of_words(kNegate ? _mm512_sub_epi16(ea, eb) : _mm512_add_epi16(ea, eb));
      _mm512_storeu_si512(p, planes);
      w = kU ? unsigned_width(planes) : signed_width(planes);
    } else {
      const Pair ea = read_pair<kUa>(pa, wa), eb = read_pair<kUb>(pb, wb);
      w = write_block32<kU>(kNegate ? _mm512_sub_epi32(ea.v0, eb.v0) : _mm512_add_epi32(ea.v0, eb.v0),
                            kNegate ? _mm512_sub_epi32(ea.v1, eb.v1) : _mm512_add_epi32(ea.v1, eb.v1), p);
    }
    width[i] = static_cast<std::uint8_t>(w);
    p += 4 * w;
    pa += 4 * wa;
    pb += 4 * wb;
  }
  return p;
}

template <bool kNegate>
STRETTO_INLINE std::uint8_t* add_equal_orders(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, std::uint8_t* width) noexcept {
  const bool ua = a.predictor == Predictor::none_unsigned, ub = b.predictor == Predictor::none_unsigned;
  if (ua && ub) return add_same<true, true, kNegate>(a, b, p, width);
  if (ua) return add_same<true, false, kNegate>(a, b, p, width);
  if (ub) return add_same<false, true, kNegate>(a, b, p, width);
  return add_same<false, false, kNegate>(a, b, p, width);
}

int order(Predictor p) noexcept {
  return p == Predictor::second ? 2 : p == Predictor::first ? 1 : 0;
}

unsigned largest(const std::uint8_t* width) noexcept {
  const __m256i w = _mm256_load_si256(reinterpret_cast<const __m256i*>(width));
  __m128i m = _mm_max_epu8(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 8));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 4));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 2));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 1));
  return static_cast<unsigned>(_mm_cvtsi128_si32(m)) & 0xff;
}

// `low` raised by kRaise orders, plus `high`; result = sign_low * low + sign_high * high.
template <bool kUnsignedLow, int kRaise>
STRETTO_INLINE std::uint8_t* add_raised(const NarrowGroup& low, const NarrowGroup& high, bool negate_low, bool negate_high,
                                        std::uint8_t* p, std::uint8_t* width) noexcept {
  const std::uint8_t *pl = low.planes, *ph = high.planes;
  // In words as long as nothing can leave 16 bits: each raise adds a bit, the sum one more, an unsigned number one.
  const bool words = largest(low.width) + kRaise + kUnsignedLow <= 15 && largest(high.width) <= 15;
  __m512i last = _mm512_setzero_si512(), last_raised = last;
  for (int i = 0; i < kBlocks; ++i) {
    const unsigned wl = low.width[i], wh = high.width[i];
    unsigned w = 0;
    if (words) {
      const __m512i e = read_words<kUnsignedLow>(pl, wl);
      __m512i d = _mm512_sub_epi16(e, lag16(e, last));
      last = e;
      if constexpr (kRaise == 2) {
        const __m512i dd = _mm512_sub_epi16(d, lag16(d, last_raised));
        last_raised = d;
        d = dd;
      }
      const __m512i h = read_words<false>(ph, wh);
      const __m512i s = negate_low ? _mm512_sub_epi16(h, d) : negate_high ? _mm512_sub_epi16(d, h) : _mm512_add_epi16(d, h);
      const __m512i planes = planes_of_words(s);
      _mm512_storeu_si512(p, planes);
      w = signed_width(planes);
    } else {
      const Pair e = read_pair<kUnsignedLow>(pl, wl);
      Pair d{_mm512_sub_epi32(e.v0, lag32(e.v0, last)), _mm512_sub_epi32(e.v1, lag32(e.v1, e.v0))};
      last = e.v1;
      if constexpr (kRaise == 2) {
        const Pair dd{_mm512_sub_epi32(d.v0, lag32(d.v0, last_raised)), _mm512_sub_epi32(d.v1, lag32(d.v1, d.v0))};
        last_raised = d.v1;
        d = dd;
      }
      const Pair h = read_pair<false>(ph, wh);
      const auto sum = [&](__m512i u, __m512i v) {
        return negate_low ? _mm512_sub_epi32(v, u) : negate_high ? _mm512_sub_epi32(u, v) : _mm512_add_epi32(u, v);
      };
      w = write_block32<false>(sum(d.v0, h.v0), sum(d.v1, h.v1), p);
    }
    width[i] = static_cast<std::uint8_t>(w);
    p += 4 * w;
    pl += 4 * wl;
    ph += 4 * wh;
  }
  return p;
}

std::uint8_t* raise_and_add(const NarrowGroup& low, const NarrowGroup& high, int by, bool negate_low, bool negate_high,
                            std::uint8_t* p, std::uint8_t* width) noexcept {
  const bool is_unsigned = low.predictor == Predictor::none_unsigned;
  if (by == 1)
    return is_unsigned ? add_raised<true, 1>(low, high, negate_low, negate_high, p, width)
                       : add_raised<false, 1>(low, high, negate_low, negate_high, p, width);
  return is_unsigned ? add_raised<true, 2>(low, high, negate_low, negate_high, p, width)
                     : add_raised<false, 2>(low, high, negate_low, negate_high, p, width);
}

}  // namespace

std::size_t add(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, bool negate_b,
                std::uint8_t* out) noexcept {
  NarrowGroup ga, gb;
  if (!read_group(a, a_words, &ga) || !read_group(b, b_words, &gb)) return kDeclined;
  Predictor predictor = ga.predictor > gb.predictor ? ga.predictor : gb.predictor;
  if (negate_b && predictor == Predictor::none_unsigned) predictor = Predictor::none_signed;
  std::uint8_t* p = write_head(predictor, plus(ga.base, gb.base, negate_b), plus(ga.slope, gb.slope, negate_b), out);
  alignas(32) std::uint8_t width[kBlocks];
  const int oa = order(ga.predictor), ob = order(gb.predictor);
  if (oa == ob)
    p = negate_b ? add_equal_orders<true>(ga, gb, p, width) : add_equal_orders<false>(ga, gb, p, width);
  else if (oa < ob)
    p = raise_and_add(ga, gb, ob - oa, false, negate_b, p, width);
  else
    p = raise_and_add(gb, ga, oa - ob, negate_b, false, p, width);
  return finish_group(width, out, p);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
