#pragma once

#include "codec/avx512/choose.hpp"
#include "codec/avx512/group.hpp"
#include "codec/kernels.hpp"
#include "codec/numbers/arithmetic.hpp"
#include "codec/numbers/wrapping.hpp"
#include "codec/stream/part.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

struct Row16 {
  alignas(64) std::int16_t memory[32 + kGroup];
  std::int16_t* at() noexcept { return memory + 32; }
};
STRETTO_INLINE void precede(std::int16_t* q, std::int32_t base, std::int32_t slope) noexcept {
  q[-1] = static_cast<std::int16_t>(base);
  q[-2] = static_cast<std::int16_t>(wrapping_difference(base, slope));
}

// Unaligned loads replace shuffles, which limit the speed.
template <int kOrder>
STRETTO_INLINE __m512i differences16(const std::int16_t* q) noexcept {
  const __m512i code = _mm512_load_si512(q);
  if constexpr (kOrder == 0) return code;
  const __m512i before = _mm512_loadu_si512(q - 1), d = _mm512_sub_epi16(code, before);
  if constexpr (kOrder == 1) return d;
  return _mm512_sub_epi16(d, _mm512_sub_epi16(before, _mm512_loadu_si512(q - 2)));
}

// `code` ends with the code before the block, `difference` with the difference before it.
template <int kOrder>
struct Residuals16 {
  __m512i code, difference;
};
template <int kOrder>
STRETTO_INLINE __m512i next(Residuals16<kOrder>& s, __m512i q) noexcept {
  if constexpr (kOrder == 0) return q;
  const __m512i d = _mm512_sub_epi16(q, lag16(q, s.code));
  s.code = q;
  if constexpr (kOrder == 1) return d;
  const __m512i e = _mm512_sub_epi16(d, lag16(d, s.difference));
  s.difference = d;
  return e;
}

template <int kOrder>
struct Residuals32 {
  __m512i code, difference;
};
template <int kOrder>
STRETTO_INLINE Pair next(Residuals32<kOrder>& s, Pair q) noexcept {
  if constexpr (kOrder == 0) return q;
  const Pair d{_mm512_sub_epi32(q.v0, lag32(q.v0, s.code)), _mm512_sub_epi32(q.v1, lag32(q.v1, q.v0))};
  s.code = q.v1;
  if constexpr (kOrder == 1) return d;
  const Pair e{_mm512_sub_epi32(d.v0, lag32(d.v0, s.difference)), _mm512_sub_epi32(d.v1, lag32(d.v1, d.v0))};
  s.difference = d.v1;
  return e;
}

// Hardware prefetching ends at the page. Each block prefetches its share of values two groups ahead, into the second
// cache: stores need the first one's outstanding misses.
struct PrefetchCursor {
  const char* at;
  std::size_t share;
};
template <class T>
STRETTO_INLINE PrefetchCursor ahead_of(const T* x) noexcept {
  return {reinterpret_cast<const char*>(x + 2 * kGroup), kBlock * sizeof(T)};
}
STRETTO_INLINE void fetch_share(PrefetchCursor& ahead) noexcept {
  for (std::size_t i = 0; i < ahead.share; i += 64) _mm_prefetch(ahead.at + i, _MM_HINT_T1);
  ahead.at += ahead.share;
}

template <Predictor kPredictor, class Code>
STRETTO_INLINE void fresh(const Code* q, std::int32_t* base, std::int32_t* slope) noexcept {
  *slope = kPredictor == Predictor::second ? wrapping_difference<std::int32_t>(q[1], q[0]) : 0;
  *base = kPredictor >= Predictor::first ? wrapping_difference<std::int32_t>(q[0], *slope) : 0;
}

template <Predictor kPredictor>
STRETTO_INLINE std::uint8_t* write_planes(std::int16_t* q, std::int32_t base, std::int32_t slope, PrefetchCursor ahead,
                                          std::uint8_t* p, __m256i* widths) noexcept {
  precede(q, base, slope);
  WidthWriter out{_mm256_setzero_si256()};
  for (int first = 0; first < kBlocks; first += 8) {
    Bits8 bits;
#pragma GCC unroll 8
    for (__m512i& b : bits.of) {
      fetch_share(ahead);
      b = bits_of_words(differences16<order_of(kPredictor)>(q));
      q += 32;
    }
    push8(out, write_bits<kPredictor == Predictor::none_unsigned>(bits, p));
  }
  *widths = _mm256_srli_epi16(out.widths, 2);
  return p;
}
template <Predictor kPredictor>
STRETTO_INLINE std::uint8_t* write_planes(const std::int32_t* q, std::int32_t base, std::int32_t slope,
                                          PrefetchCursor ahead, std::uint8_t* p, __m256i* widths) noexcept {
  Residuals32<order_of(kPredictor)> residuals{_mm512_set1_epi32(base), _mm512_set1_epi32(slope)};
  WidthWriter out{_mm256_setzero_si256()};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t written = 0;
    for (int j = 0; j < 8; ++j, q += 32) {
      fetch_share(ahead);
      const Pair e = next(residuals, Pair{_mm512_load_si512(q), _mm512_load_si512(q + 16)});
      const unsigned w = write_block32<kPredictor == Predictor::none_unsigned>(e.v0, e.v1, p);
      written |= std::uint64_t{w} << (8 * j);
      p += 4 * w;
    }
    push8(out, written);
  }
  *widths = out.widths;
  return p;
}

// between(p) writes the section between slope and planes, and returns its end. Codes are the sums of `origin` and q.
template <Predictor kPredictor, class Code, class Between>
STRETTO_INLINE std::size_t encode(Code* q, PrefetchCursor ahead, std::uint8_t* out, Between between,
                                  std::int32_t origin = 0) noexcept {
  std::int32_t base = 0, slope = 0;
  fresh<kPredictor>(q, &base, &slope);
  std::uint8_t* p = between(write_head(kPredictor, wrapping_sum(base, origin), slope, out));
  __m256i widths;
  p = write_planes<kPredictor>(q, base, slope, ahead, p, &widths);
  return finish_group(widths, out, p);
}

template <class Code, class Between>
STRETTO_INLINE std::size_t encode(Predictor predictor, Code* q, PrefetchCursor ahead, std::uint8_t* out,
                                  Between between) noexcept {
  switch (predictor) {
    case Predictor::none_unsigned: return encode<Predictor::none_unsigned>(q, ahead, out, between);
    case Predictor::none_signed: return encode<Predictor::none_signed>(q, ahead, out, between);
    case Predictor::first: return encode<Predictor::first>(q, ahead, out, between);
    case Predictor::second: break;
  }
  return encode<Predictor::second>(q, ahead, out, between);
}

STRETTO_INLINE Predictor predictor_of(int order, bool negative) noexcept {
  if (order == 1) return Predictor::first;
  if (order == 2) return Predictor::second;
  return negative ? Predictor::none_signed : Predictor::none_unsigned;
}

STRETTO_INLINE void note_bound(Tally* tally, std::uint64_t bound) noexcept {
  if (bound > tally->bound) tally->bound = bound;
}

// Of m values of type T; `q` as settle_part() takes it.
template <class T, class Code>
std::size_t encode_part(Code* q, int m, std::uint64_t bound, std::uint8_t* out, Tally* tally) noexcept {
  const std::size_t words =
      encode(settle_part(q, m), q, PrefetchCursor{nullptr, 0}, out, [](std::uint8_t* p) { return p; });
  if (words > most_words<T>(m)) return kDeclined;
  note_bound(tally, bound);
  return words;
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
