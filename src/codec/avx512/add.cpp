// Sums of groups. Residuals of the lower order are differenced on the fly.
#include <cstring>

#include "codec/avx512/encode.hpp"
#include "codec/avx512/filled.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/summand.hpp"
#include "codec/avx512/wide.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

template <class Code>
STRETTO_INLINE Code plus(Code a, Code b, bool negate) noexcept {
  return negate ? wrapping_difference(a, b) : wrapping_sum(a, b);
}

enum class Sign { a_plus_b, a_minus_b, b_minus_a };

template <Sign kSign>
STRETTO_INLINE __m512i plus8(__m512i a, __m512i b) noexcept {
  if constexpr (kSign == Sign::a_minus_b) return _mm512_sub_epi8(a, b);
  if constexpr (kSign == Sign::b_minus_a) return _mm512_sub_epi8(b, a);
  return _mm512_add_epi8(a, b);
}
template <Sign kSign>
STRETTO_INLINE __m512i plus16(__m512i a, __m512i b) noexcept {
  if constexpr (kSign == Sign::a_minus_b) return _mm512_sub_epi16(a, b);
  if constexpr (kSign == Sign::b_minus_a) return _mm512_sub_epi16(b, a);
  return _mm512_add_epi16(a, b);
}
template <Sign kSign>
STRETTO_INLINE __m512i plus32(__m512i a, __m512i b) noexcept {
  if constexpr (kSign == Sign::a_minus_b) return _mm512_sub_epi32(a, b);
  if constexpr (kSign == Sign::b_minus_a) return _mm512_sub_epi32(b, a);
  return _mm512_add_epi32(a, b);
}

// Residuals16 for bytes, eight of which lie reversed in each quadword.
template <int kOrder>
struct Residuals8 {
  __m512i code, difference;
};
STRETTO_INLINE __m512i lag8(__m512i v, __m512i before) noexcept {
  return _mm512_shrdi_epi64(v, _mm512_alignr_epi64(v, before, 7), 8);
}
template <int kOrder>
STRETTO_INLINE __m512i next(Residuals8<kOrder>& s, __m512i q) noexcept {
  if constexpr (kOrder == 0) return q;
  const __m512i d = _mm512_sub_epi8(q, lag8(q, s.code));
  s.code = q;
  if constexpr (kOrder == 1) return d;
  const __m512i e = _mm512_sub_epi8(d, lag8(d, s.difference));
  s.difference = d;
  return e;
}

struct Raised {
  std::int32_t residual = 0, difference = 0;
};
STRETTO_INLINE std::int32_t last8(__m512i v) noexcept {
  return static_cast<std::int8_t>(_mm_extract_epi8(_mm512_extracti32x4_epi32(v, 3), 8));
}
STRETTO_INLINE std::int32_t last16(__m512i v) noexcept {
  return static_cast<std::int16_t>(_mm_extract_epi16(_mm512_extracti32x4_epi32(v, 3), 7));
}
STRETTO_INLINE std::int32_t last32(__m512i v) noexcept { return _mm_extract_epi32(_mm512_extracti32x4_epi32(v, 3), 3); }

// Adds eight blocks. from_a, from_b and the result hold eight block lengths, a byte each. kUnsigned: no operand nor sum
// has signs.
template <int kRaise, Sign kSign, bool kUnsigned>
STRETTO_INLINE std::uint64_t add_bytes(Summand& a, std::uint64_t from_a, Summand& b, std::uint64_t from_b, Raised* last,
                                       std::uint8_t*& p) noexcept {
  const __m512i order = pinned(_mm512_load_si512(kTables.planes)),
                order_below = pinned(_mm512_load_si512(kTables.planes_below));
  __mmask64 not_first = 0xfffffff0fffffff0;
  asm("" : "+k"(not_first));
  Residuals8<kRaise> raise{_mm512_set1_epi8(static_cast<char>(last->residual)),
                           _mm512_set1_epi8(static_cast<char>(last->difference))};
  __m512i bits[4];
#pragma GCC unroll 4
  for (__m512i& t : bits) {
    const __m512i ea = next(raise, transpose_reversed(spread_bytes(a, from_a & 0xff, from_a >> 8 & 0xff)));
    const __m512i eb = transpose_reversed(spread_bytes(b, from_b & 0xff, from_b >> 8 & 0xff));
    t = transpose(plus8<kSign>(ea, eb));
    from_a >>= 16;
    from_b >>= 16;
  }
  std::uint64_t written = 0;
#pragma GCC unroll 4
  for (int j = 0; j < 64; j += 16) {
    const __m512i t = bits[j / 16], planes = _mm512_permutexvar_epi8(order, t);
    std::uint32_t differ = 0;
    if constexpr (kUnsigned)
      differ = _mm512_test_epi32_mask(planes, planes);
    else
      differ = _mm512_cmpneq_epi32_mask(planes, _mm512_maskz_permutexvar_epi8(not_first, order_below, t));
    const std::size_t n0 = 4 * std::size_t{32 - _lzcnt_u32(differ & 0xff)},
                      n1 = 4 * std::size_t{32 - _lzcnt_u32(differ >> 8)};
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(planes));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + n0), _mm512_extracti64x4_epi64(planes, 1));
    written |= (n0 | n1 << 8) << j;
    p += n0 + n1;
  }
  if constexpr (kRaise >= 1) last->residual = last8(raise.code);
  if constexpr (kRaise == 2) last->difference = last8(raise.difference);
  return written;
}

template <int kRaise, Sign kSign, bool kUnsigned>
STRETTO_INLINE std::uint64_t add_words(Summand& a, std::uint64_t from_a, Summand& b, std::uint64_t from_b, Raised* last,
                                       std::uint8_t*& p) noexcept {
  Residuals16<kRaise> raise{_mm512_set1_epi16(static_cast<short>(last->residual)),
                            _mm512_set1_epi16(static_cast<short>(last->difference))};
  Bits8 bits;
#pragma GCC unroll 8
  for (__m512i& t : bits.of) {
    const __m512i ea = next(raise, next_words(a, from_a & 0xff)), eb = next_words(b, from_b & 0xff);
    t = bits_of_words(plus16<kSign>(ea, eb));
    from_a >>= 8;
    from_b >>= 8;
  }
  if constexpr (kRaise >= 1) last->residual = last16(raise.code);
  if constexpr (kRaise == 2) last->difference = last16(raise.difference);
  return write_bits<kUnsigned>(bits, p);
}

template <int kRaise, Sign kSign, bool kUnsigned>
STRETTO_INLINE std::uint64_t add_any(Summand& a, std::uint64_t from_a, Summand& b, std::uint64_t from_b, Raised* last,
                                     std::uint8_t*& p) noexcept {
  Residuals32<kRaise> raise{_mm512_set1_epi32(last->residual), _mm512_set1_epi32(last->difference)};
  std::uint64_t written = 0;
  for (int j = 0; j < 64; j += 8, from_a >>= 8, from_b >>= 8) {
    const Pair ea = next(raise, next_pair(a, from_a & 0xff)), eb = next_pair(b, from_b & 0xff);
    const std::size_t n =
        4 * std::size_t{write_block32<kUnsigned>(plus32<kSign>(ea.v0, eb.v0), plus32<kSign>(ea.v1, eb.v1), p)};
    written |= n << j;
    p += n;
  }
  if constexpr (kRaise >= 1) last->residual = last32(raise.code);
  if constexpr (kRaise == 2) last->difference = last32(raise.difference);
  return written;
}

template <int kRaise, Sign kSign, bool kUnsigned>
std::uint8_t* add_blocks(const NarrowGroup& a, const NarrowGroup& b, std::uint8_t* p, __m256i* widths) noexcept {
  Summand sa = summand(a), sb = summand(b);
  // Each raise takes a bit, and so does a sign of the other summand alone. Raised residuals have signs.
  const bool signs_differ = sa.is_unsigned != sb.is_unsigned;
  const int more_a = kRaise > 0 ? kRaise : signs_differ && sa.is_unsigned, more_b = signs_differ && sb.is_unsigned;
  Needs need = needs(_mm256_max_epu8(_mm256_add_epi8(a.widths, _mm256_set1_epi8(static_cast<char>(more_a))),
                                     _mm256_add_epi8(b.widths, _mm256_set1_epi8(static_cast<char>(more_b)))));
  // First differences depend on the previous block.
  if (kRaise > 0) need = {need.beyond_bytes | need.beyond_bytes << 1, need.beyond_words | need.beyond_words << 1};
  WidthReader lengths_a{_mm256_slli_epi16(a.widths, 2)}, lengths_b{_mm256_slli_epi16(b.widths, 2)};
  WidthWriter out{_mm256_setzero_si256()};
  Raised last;
  for (int first = 0; first < kBlocks; first += 8) {
    const std::uint64_t from_a = next8(lengths_a), from_b = next8(lengths_b);
    std::uint64_t written = 0;
    switch (mode_of_eight(need, first)) {
      case Mode::bytes: written = add_bytes<kRaise, kSign, kUnsigned>(sa, from_a, sb, from_b, &last, p); break;
      case Mode::words: written = add_words<kRaise, kSign, kUnsigned>(sa, from_a, sb, from_b, &last, p); break;
      case Mode::any: written = add_any<kRaise, kSign, kUnsigned>(sa, from_a, sb, from_b, &last, p); break;
    }
    push8(out, written);
  }
  *widths = _mm256_srli_epi16(out.widths, 2);  // lengths are multiples of four: no bit crosses a byte
  return p;
}

template <int kRaise>
std::uint8_t* add_raised(const NarrowGroup& low, const NarrowGroup& high, Sign sign, std::uint8_t* p,
                         __m256i* widths) noexcept {
  switch (sign) {
    case Sign::a_plus_b: break;
    case Sign::a_minus_b: return add_blocks<kRaise, Sign::a_minus_b, false>(low, high, p, widths);
    case Sign::b_minus_a: return add_blocks<kRaise, Sign::b_minus_a, false>(low, high, p, widths);
  }
  return add_blocks<kRaise, Sign::a_plus_b, false>(low, high, p, widths);
}

std::uint8_t* add_orders(const NarrowGroup& a, const NarrowGroup& b, bool negate_b, std::uint8_t* p,
                         __m256i* widths) noexcept {
  const int above = order_of(b.predictor) - order_of(a.predictor);
  if (above == 0) {
    if (negate_b) return add_blocks<0, Sign::a_minus_b, false>(a, b, p, widths);
    if (a.predictor == Predictor::none_unsigned && b.predictor == a.predictor)
      return add_blocks<0, Sign::a_plus_b, true>(a, b, p, widths);
    return add_blocks<0, Sign::a_plus_b, false>(a, b, p, widths);
  }
  const NarrowGroup &low = above > 0 ? a : b, &high = above > 0 ? b : a;
  const Sign sign = !negate_b ? Sign::a_plus_b : above > 0 ? Sign::a_minus_b : Sign::b_minus_a;
  return above == 1 || above == -1 ? add_raised<1>(low, high, sign, p, widths)
                                   : add_raised<2>(low, high, sign, p, widths);
}

// True for wide groups whose base and slope follow from their first codes, and whose residuals' sums fit 31 bits.
STRETTO_INLINE bool is_fresh(const AnyGroup& g) noexcept {
  const int order = order_of(g.predictor);
  if (!g.wide || widest(g.widths) > 30) return false;
  const auto w = static_cast<unsigned>(_mm256_extract_epi8(g.widths, 0));
  const auto low = static_cast<__mmask16>(_bzhi_u32(~0u, w)), high = static_cast<__mmask16>(_bzhi_u32(~0u, w) >> 16);
  const __m512i planes =
      _mm512_or_si512(_mm512_maskz_loadu_epi32(low, g.planes), _mm512_maskz_loadu_epi32(high, g.planes + 64));
  return _mm512_test_epi32_mask(planes, _mm512_set1_epi32((1 << order) - 1)) == 0;
}
STRETTO_INLINE NarrowGroup residuals_of(const AnyGroup& g) noexcept { return {g.predictor, 0, 0, g.planes, g.widths}; }

template <bool kFilled, class Between>
STRETTO_INLINE std::size_t add_groups(const NarrowGroup& ga, const NarrowGroup& gb, bool negate_b, std::uint8_t* out,
                                      Between between) noexcept {
  Predictor predictor = ga.predictor > gb.predictor ? ga.predictor : gb.predictor;
  if (negate_b && predictor == Predictor::none_unsigned) predictor = Predictor::none_signed;
  std::uint8_t* p =
      between(write_head(predictor, plus(ga.base, gb.base, negate_b), plus(ga.slope, gb.slope, negate_b), out));
  __m256i widths = _mm256_or_si256(ga.widths, gb.widths);
  // Few groups but those of missing data and zeros have no planes.
  if (!kFilled || !_mm256_testz_si256(widths, widths)) p = add_orders(ga, gb, negate_b, p, &widths);
  if (predictor == Predictor::none_unsigned && has_width_32(widths)) return kDeclined;
  return finish_group(widths, out, p);
}

// Declines unless the missing places are equal, with one value in each group.
template <class T>
std::size_t add_alike(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                      bool negate_b, std::uint8_t* out, Tally* tally) noexcept {
  constexpr Type type = sizeof(T) == 4 ? Type::f32 : Type::f64;
  NarrowGroup ga, gb;
  GroupView va, vb;
  if (!read_filled(a, a_words, type, &ga, &va) || !read_filled(b, b_words, type, &gb, &vb, &va)) return kDeclined;
  if (!va.uniform || !vb.uniform || !equal_places(va.lanes, vb.lanes)) return kDeclined;
  const std::size_t words = add_groups<true>(ga, gb, negate_b, out, [&](std::uint8_t* p) {
    std::uint8_t* const kind = p;
    p += write_missing_map(_mm512_loadu_si512(va.lanes), _mm512_loadu_si512(va.lanes + 16), p);
    *kind |= kSumsBit | kUniformBit;
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    return p + write_sum<T>(value_of(va), value_of(vb), negate_b, p);
  });
  if (words != kDeclined) tally->exceptions += static_cast<std::uint64_t>(va.exception_count);
  return words;
}

// As add_alike(), for equal and short maps of runs, which need not become places.
template <class T>
std::size_t add_alike_runs(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, std::uint8_t* out, Tally* tally) noexcept {
  constexpr Type type = sizeof(T) == 4 ? Type::f32 : Type::f64;
  NarrowGroup ga, gb;
  AlikeRuns ra, rb;
  if (!read_group_to(a, a_words, &ga, AlikeRunsInto{type, &ra, nullptr}) ||
      !read_group_to(b, b_words, &gb, AlikeRunsInto{type, &rb, &ra}))
    return kDeclined;
  const std::size_t words = add_groups<true>(ga, gb, negate_b, out, [&](std::uint8_t* p) {
    _mm512_storeu_si512(p, _mm512_loadu_si512(ra.map));
    *p = kRunsBit | kSumsBit | kUniformBit;
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    p += ra.bytes;
    return p + write_sum<T>(ra.value, rb.value, negate_b, p);
  });
  if (words != kDeclined) tally->exceptions += ra.count;
  return words;
}

template <class T>
std::size_t add_filled(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                       bool negate_b, double width, std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  std::size_t words = add_alike_runs<T>(a, a_words, b, b_words, negate_b, out, tally);
  if (words == kDeclined) words = add_alike<T>(a, a_words, b, b_words, negate_b, out, tally);
  const auto others = portable<T>().add_filled;
  if (words != kDeclined || !others) return words;
  return others(a, a_words, b, b_words, negate_b, width, out, room, tally);
}

}  // namespace

std::size_t add(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words, bool negate_b,
                std::uint8_t* out) noexcept {
  if (a_words == 0 && b_words == 0 && !negate_b) return 0;
  NarrowGroup ga, gb;
  if (!read_group(a, a_words, &ga) || !read_group(b, b_words, &gb)) return kDeclined;
  return add_groups<false>(ga, gb, negate_b, out, [](std::uint8_t* p) { return p; });
}

std::size_t add_wide(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                     bool negate_b, std::uint8_t* out) noexcept {
  AnyGroup ga, gb;
  if (!read_any(a, a_words, &ga) || !read_any(b, b_words, &gb)) return kDeclined;
  Predictor predictor = ga.predictor > gb.predictor ? ga.predictor : gb.predictor;
  if (negate_b && predictor == Predictor::none_unsigned) predictor = Predictor::none_signed;
  if (order_of(ga.predictor) == order_of(gb.predictor) && is_fresh(ga) && is_fresh(gb)) {
    std::uint8_t* p =
        write_wide_head(predictor, plus(ga.base, gb.base, negate_b), plus(ga.slope, gb.slope, negate_b), out);
    __m256i widths;
    p = add_orders(residuals_of(ga), residuals_of(gb), negate_b, p, &widths);
    return finish_group(widths, out, p);
  }
  alignas(64) std::int64_t qa[kGroup], qb[kGroup];
  read_codes(ga, qa);
  read_codes(gb, qb);
  __m512i any = _mm512_setzero_si512();
  for (int i = 0; i < kGroup; i += 8) {
    const __m512i u = _mm512_load_si512(qa + i), v = _mm512_load_si512(qb + i);
    const __m512i sum = negate_b ? _mm512_sub_epi64(u, v) : _mm512_add_epi64(u, v);
    _mm512_store_si512(qa + i, sum);
    any = _mm512_or_si512(any, sum);
  }
  if (predictor == Predictor::none_unsigned && _mm512_movepi64_mask(any) != 0) return kDeclined;
  return encode_wide(predictor, qa, PrefetchCursor{nullptr, 0}, out);
}

std::size_t add_filled_f32(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, double width, std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return add_filled<float>(a, a_words, b, b_words, negate_b, width, out, room, tally);
}
std::size_t add_filled_f64(const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b, std::size_t b_words,
                           bool negate_b, double width, std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return add_filled<double>(a, a_words, b, b_words, negate_b, width, out, room, tally);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
