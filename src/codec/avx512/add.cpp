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

// Groups whose residuals are of one order, two blocks at a time. kUa, kUb: they are unsigned; the result is if both are and nothing is
// negated. kZeros: some widths are 0. Widths are kept times four, which is a block's length.
template <bool kUa, bool kUb, bool kNegate, bool kZeros>
struct Sums {
  static constexpr bool kU = kUa && kUb && !kNegate;
  // Widths below these, or-ed together, leave room for the sum in 8 and in 16 bits; fewer if an unsigned and a signed number meet.
  static constexpr std::size_t kBytes = 4 * (kUa == kUb ? 8 : 4), kWords = 4 * (kUa == kUb ? 16 : 8);
};

template <bool kNegate>
STRETTO_INLINE __m512i plus8(__m512i a, __m512i b) noexcept {
  return kNegate ? _mm512_sub_epi8(a, b) : _mm512_add_epi8(a, b);
}
template <bool kNegate>
STRETTO_INLINE __m512i plus16(__m512i a, __m512i b) noexcept {
  return kNegate ? _mm512_sub_epi16(a, b) : _mm512_add_epi16(a, b);
}
template <bool kNegate>
STRETTO_INLINE __m512i plus32(__m512i a, __m512i b) noexcept {
  return kNegate ? _mm512_sub_epi32(a, b) : _mm512_add_epi32(a, b);
}

// One block in words; its length.
template <bool kUa, bool kUb, bool kNegate, bool kZeros>
STRETTO_INLINE std::size_t add_words(const std::uint8_t* pa, std::size_t a, const std::uint8_t* pb, std::size_t b, std::uint8_t* p) noexcept {
  const __m512i planes = planes_of_words(plus16<kNegate>(read_words4<kUa, kZeros>(pa, a), read_words4<kUb, kZeros>(pb, b)));
  _mm512_storeu_si512(p, planes);
  return 4 * std::size_t{Sums<kUa, kUb, kNegate, kZeros>::kU ? unsigned_width(planes) : signed_width(planes)};
}
// One block of any widths.
template <bool kUa, bool kUb, bool kNegate>
STRETTO_INLINE std::size_t add_pairs(const std::uint8_t* pa, std::size_t a, const std::uint8_t* pb, std::size_t b, std::uint8_t* p) noexcept {
  const Pair ea = read_pair<kUa>(pa, static_cast<unsigned>(a / 4)), eb = read_pair<kUb>(pb, static_cast<unsigned>(b / 4));
  return 4 * std::size_t{write_block32<kUa && kUb && !kNegate>(plus32<kNegate>(ea.v0, eb.v0), plus32<kNegate>(ea.v1, eb.v1), p)};
}

// How the blocks of a group are added: chosen once for all of them, since branches that depend on widths are seldom foreseen.
enum class Mode { bytes, words, any };

template <Mode kMode, bool kUa, bool kUb, bool kNegate, bool kZeros>
STRETTO_INLINE std::uint8_t* add_in(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, __m256i* widths) noexcept {
  using S = Sums<kUa, kUb, kNegate, kZeros>;
  WidthReader from_a{_mm256_slli_epi16(a.widths, 2)}, from_b{_mm256_slli_epi16(b.widths, 2)};
  WidthWriter out{_mm256_setzero_si256()};
  const __m512i gather = pinned(_mm512_load_si512(kTables.bytes_to_planes)), order = pinned(_mm512_load_si512(kTables.planes)),
                order_below = pinned(_mm512_load_si512(kTables.planes_below));
  __mmask64 not_first = 0xfffffff0fffffff0;
  asm("" : "+k"(not_first));
  const std::uint8_t *pa = a.planes, *pb = b.planes;
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t wa = next8(from_a), wb = next8(from_b), written = 0;
    for (int j = 0; j < 64; j += 16, wa >>= 16, wb >>= 16) {
      const std::size_t a0 = wa & 0xff, a1 = wa >> 8 & 0xff, b0 = wb & 0xff, b1 = wb >> 8 & 0xff;
      std::size_t n0 = 0, n1 = 0;  // lengths of the sums
      if constexpr (kMode == Mode::bytes) {
        const __m512i sum = plus8<kNegate>(read_bytes2<kUa, kZeros>(pa, a0, a1), read_bytes2<kUb, kZeros>(pb, b0, b1));
        const __m512i t = transpose(_mm512_permutexvar_epi8(gather, sum));
        const __m512i planes = _mm512_permutexvar_epi8(order, t);
        std::uint32_t differ = 0;
        if constexpr (S::kU)
          differ = _mm512_test_epi32_mask(planes, planes);
        else
          differ = _mm512_cmpneq_epi32_mask(planes, _mm512_maskz_permutexvar_epi8(not_first, order_below, t));
        n0 = 4 * std::size_t{32 - _lzcnt_u32(differ & 0xff)};
        n1 = 4 * std::size_t{32 - _lzcnt_u32(differ >> 8)};
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(planes));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + n0), _mm512_extracti64x4_epi64(planes, 1));
      } else if (kMode == Mode::words || (a0 | a1 | b0 | b1) < S::kWords) {
        n0 = add_words<kUa, kUb, kNegate, kZeros>(pa, a0, pb, b0, p);
        n1 = add_words<kUa, kUb, kNegate, kZeros>(pa + a0, a1, pb + b0, b1, p + n0);
      } else {
        n0 = add_pairs<kUa, kUb, kNegate>(pa, a0, pb, b0, p);
        n1 = add_pairs<kUa, kUb, kNegate>(pa + a0, a1, pb + b0, b1, p + n0);
      }
      written |= (n0 | n1 << 8) << j;
      pa += a0 + a1;
      pb += b0 + b1;
      p += n0 + n1;
    }
    push8(out, written);
  }
  *widths = _mm256_srli_epi16(out.widths, 2);  // lengths are multiples of four: nothing crosses a byte
  return p;
}

template <bool kUa, bool kUb, bool kNegate, bool kZeros>
STRETTO_INLINE std::uint8_t* add_same(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, __m256i* widths) noexcept {
  using S = Sums<kUa, kUb, kNegate, kZeros>;
  const std::size_t most = 4 * largest(_mm256_or_si256(a.widths, b.widths));  // or-ed: below a power of two if all are
  if (most < S::kBytes) return add_in<Mode::bytes, kUa, kUb, kNegate, kZeros>(a, b, p, widths);
  if (most < S::kWords) return add_in<Mode::words, kUa, kUb, kNegate, kZeros>(a, b, p, widths);
  return add_in<Mode::any, kUa, kUb, kNegate, kZeros>(a, b, p, widths);
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
