// Sums and differences of narrow groups (AVX-512): residuals add, block by block, in bytes or words where the widths allow it.
#include <cstring>

#include "codec/avx512/group.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/exception_map.hpp"
#include "codec/exceptions.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

STRETTO_INLINE std::int32_t plus(std::int32_t a, std::int32_t b, bool negate) noexcept {
  const auto u = static_cast<std::uint32_t>(a), v = static_cast<std::uint32_t>(b);
  return static_cast<std::int32_t>(negate ? u - v : u + v);
}

STRETTO_INLINE unsigned largest(__m256i w) noexcept {
  __m128i m = _mm_max_epu8(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 8));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 4));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 2));
  m = _mm_max_epu8(m, _mm_srli_si128(m, 1));
  return static_cast<unsigned>(_mm_cvtsi128_si32(m)) & 0xff;
}

// The same for groups with widths of at most 7 alone: two blocks at a time, in bytes.
template <bool kUa, bool kUb, bool kNegate, bool kZeros>
STRETTO_INLINE std::uint8_t* add_bytes(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, __m256i* widths) noexcept {
  constexpr bool kU = kUa && kUb && !kNegate;
  WidthReader four_a{_mm256_slli_epi16(a.widths, 2)}, four_b{_mm256_slli_epi16(b.widths, 2)};  // times four: bytes
  WidthWriter out{_mm256_setzero_si256()};
  const __m512i gather = pinned(_mm512_load_si512(kTables.bytes_to_planes)), order = pinned(_mm512_load_si512(kTables.planes)),
                order_below = pinned(_mm512_load_si512(kTables.planes_below));
  __mmask64 not_first = 0xfffffff0fffffff0;
  asm("" : "+k"(not_first));
  const std::uint8_t *pa = a.planes, *pb = b.planes;
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t wa = next8(four_a), wb = next8(four_b), written = 0;
    for (int j = 0; j < 64; j += 16, wa >>= 16, wb >>= 16) {
    const std::size_t a0 = wa & 0xff, a1 = wa >> 8 & 0xff, b0 = wb & 0xff, b1 = wb >> 8 & 0xff;
    const __m512i ea = read_bytes2<kUa, kZeros>(pa, a0, a1), eb = read_bytes2<kUb, kZeros>(pb, b0, b1);
    pa += a0 + a1;
    pb += b0 + b1;
    const __m512i sum = kNegate ? _mm512_sub_epi8(ea, eb) : _mm512_add_epi8(ea, eb);
    const __m512i t = transpose(_mm512_permutexvar_epi8(gather, sum));
    const __m512i planes = _mm512_permutexvar_epi8(order, t);
    std::uint32_t differ = 0;
    if constexpr (kU)
      differ = _mm512_test_epi32_mask(planes, planes);
    else
      differ = _mm512_cmpneq_epi32_mask(planes, _mm512_maskz_permutexvar_epi8(not_first, order_below, t));
    const std::size_t w0 = 32 - _lzcnt_u32(differ & 0xff), w1 = 32 - _lzcnt_u32(differ >> 8);
    written |= (w0 | w1 << 8) << j;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(planes));
    p += 4 * w0;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_extracti64x4_epi64(planes, 1));
    p += 4 * w1;
    }
    push8(out, written);
  }
  *widths = out.widths;
  return p;
}

// Groups whose residuals are of one order. kUa, kUb: they are unsigned; the result is if both are and nothing is negated. kZeros:
// some widths are 0.
template <bool kUa, bool kUb, bool kNegate, bool kZeros>
STRETTO_INLINE std::uint8_t* add_same(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, __m256i* widths) noexcept {
  constexpr bool kU = kUa && kUb && !kNegate;
  // Largest widths whose sums fit 8 and 16 bits; one less if an unsigned and a signed number meet.
  constexpr unsigned kBytes = kUa == kUb ? 7 : 6, kWords = kUa == kUb ? 15 : 14;
  if (largest(a.widths) <= kBytes && largest(b.widths) <= kBytes) return add_bytes<kUa, kUb, kNegate, kZeros>(a, b, p, widths);
  const std::uint8_t *pa = a.planes, *pb = b.planes;
  WidthReader from_a{a.widths}, from_b{b.widths};
  WidthWriter out{_mm256_setzero_si256()};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t next_a = next8(from_a), next_b = next8(from_b), written = 0;
    for (int j = 0; j < 64; j += 8, next_a >>= 8, next_b >>= 8) {
    const unsigned wa = next_a & 0xff, wb = next_b & 0xff;
    unsigned w = 0;
    if (wa <= kWords && wb <= kWords) {
      const __m512i ea = read_words<kUa>(pa, wa), eb = read_words<kUb>(pb, wb);
      const __m512i planes = planes_of_words(kNegate ? _mm512_sub_epi16(ea, eb) : _mm512_add_epi16(ea, eb));
      _mm512_storeu_si512(p, planes);
      w = kU ? unsigned_width(planes) : signed_width(planes);
    } else {
      const Pair ea = read_pair<kUa>(pa, wa), eb = read_pair<kUb>(pb, wb);
      w = write_block32<kU>(kNegate ? _mm512_sub_epi32(ea.v0, eb.v0) : _mm512_add_epi32(ea.v0, eb.v0),
                            kNegate ? _mm512_sub_epi32(ea.v1, eb.v1) : _mm512_add_epi32(ea.v1, eb.v1), p);
    }
    written |= std::uint64_t{w} << j;
    p += 4 * w;
    pa += 4 * wa;
    pb += 4 * wb;
    }
    push8(out, written);
  }
  *widths = out.widths;
  return p;
}

template <bool kNegate>
STRETTO_INLINE std::uint8_t* add_equal_orders(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, __m256i* widths) noexcept {
  const bool ua = a.predictor == Predictor::none_unsigned, ub = b.predictor == Predictor::none_unsigned;
  if (ua && ub) return add_same<true, true, kNegate, true>(a, b, p, widths);
  if (ua) return add_same<true, false, kNegate, true>(a, b, p, widths);
  if (ub) return add_same<false, true, kNegate, true>(a, b, p, widths);
  if (has_zeros(a.widths) || has_zeros(b.widths)) return add_same<false, false, kNegate, true>(a, b, p, widths);
  return add_same<false, false, kNegate, false>(a, b, p, widths);
}

// `low` raised by kRaise orders, plus `high`; result = sign_low * low + sign_high * high.
template <bool kUnsignedLow, int kRaise>
STRETTO_INLINE std::uint8_t* add_raised(const NarrowGroup& low, const NarrowGroup& high, bool negate_low, bool negate_high,
                                        std::uint8_t* p, __m256i* widths) noexcept {
  const std::uint8_t *pl = low.planes, *ph = high.planes;
  // In words as long as nothing can leave 16 bits: each raise adds a bit, the sum one more, an unsigned number one.
  const bool words = largest(low.widths) + kRaise + kUnsignedLow <= 15 && largest(high.widths) <= 15;
  __m512i last = _mm512_setzero_si512(), last_raised = last;
  WidthReader from_low{low.widths}, from_high{high.widths};
  WidthWriter out{_mm256_setzero_si256()};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t next_low = next8(from_low), next_high = next8(from_high), written = 0;
    for (int j = 0; j < 64; j += 8, next_low >>= 8, next_high >>= 8) {
    const unsigned wl = next_low & 0xff, wh = next_high & 0xff;
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
    written |= std::uint64_t{w} << j;
    p += 4 * w;
    pl += 4 * wl;
    ph += 4 * wh;
    }
    push8(out, written);
  }
  *widths = out.widths;
  return p;
}

std::uint8_t* raise_and_add(const NarrowGroup& low, const NarrowGroup& high, int by, bool negate_low, bool negate_high,
                            std::uint8_t* p, __m256i* widths) noexcept {
  const bool is_unsigned = low.predictor == Predictor::none_unsigned;
  if (by == 1)
    return is_unsigned ? add_raised<true, 1>(low, high, negate_low, negate_high, p, widths)
                       : add_raised<false, 1>(low, high, negate_low, negate_high, p, widths);
  return is_unsigned ? add_raised<true, 2>(low, high, negate_low, negate_high, p, widths)
                     : add_raised<false, 2>(low, high, negate_low, negate_high, p, widths);
}

// Two groups, with what between(p) writes between slope and planes.
template <class Between>
STRETTO_INLINE std::size_t add_groups(const NarrowGroup& ga, const NarrowGroup& gb, bool negate_b, std::uint8_t* out, Between between) noexcept {
  Predictor predictor = ga.predictor > gb.predictor ? ga.predictor : gb.predictor;
  if (negate_b && predictor == Predictor::none_unsigned) predictor = Predictor::none_signed;
  std::uint8_t* p = between(write_head(predictor, plus(ga.base, gb.base, negate_b), plus(ga.slope, gb.slope, negate_b), out));
  __m256i widths;
  const int oa = order_of(ga.predictor), ob = order_of(gb.predictor);
  if (oa == ob)
    p = negate_b ? add_equal_orders<true>(ga, gb, p, &widths) : add_equal_orders<false>(ga, gb, p, &widths);
  else if (oa < ob)
    p = raise_and_add(ga, gb, ob - oa, false, negate_b, p, &widths);
  else
    p = raise_and_add(gb, ga, oa - ob, negate_b, false, p, &widths);
  return finish_group(widths, out, p);
}

template <class T>
std::size_t add_filled(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, bool negate_b,
                       std::uint8_t* out, Tally* tally) noexcept {
  constexpr Type type = sizeof(T) == 4 ? Type::f32 : Type::f64;
  NarrowGroup ga, gb;
  GroupView va, vb;
  bool filled_a = false, filled_b = false;
  if (!open_group(a, a_words, type, &ga, &va, &filled_a) || !open_group(b, b_words, type, &gb, &vb, &filled_b)) return kDeclined;
  if (!filled_a || !filled_b || !va.uniform || !vb.uniform || std::memcmp(va.lanes, vb.lanes, sizeof va.lanes) != 0) return kDeclined;
  ExactSum<T> sum;
  ExceptionReader<T>(va).add_to(sum, false);
  ExceptionReader<T>(vb).add_to(sum, negate_b);
  tally->exceptions += static_cast<std::uint64_t>(va.exception_count);
  return add_groups(ga, gb, negate_b, out, [&](std::uint8_t* p) {
    std::uint8_t* kind = p;
    p += write_exception_map(va.lanes, kGroup, p, kKernelRoom / 2);
    *kind |= kSumsBit | kUniformBit;
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    return p + sum.write(p);
  });
}

}  // namespace

std::size_t add(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, bool negate_b,
                std::uint8_t* out) noexcept {
  NarrowGroup ga, gb;
  if (!read_group(a, a_words, &ga) || !read_group(b, b_words, &gb)) return kDeclined;
  return add_groups(ga, gb, negate_b, out, [](std::uint8_t* p) { return p; });
}

std::size_t add_filled_f32(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, std::uint8_t* out, Tally* tally) noexcept {
  return add_filled<float>(a, a_words, b, b_words, negate_b, out, tally);
}
std::size_t add_filled_f64(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, std::uint8_t* out, Tally* tally) noexcept {
  return add_filled<double>(a, a_words, b, b_words, negate_b, out, tally);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
