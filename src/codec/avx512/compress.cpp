// Groups of values to streams, and values added to streams (AVX-512).
//
// Codes that the grid promises to be good (Grid::safe_code, at most 8,191) need no check: one fused multiply-add gives the code in
// the low bits of a float, minima and maxima of those bits tell afterwards whether all values were such, and everything that
// follows fits 16-bit words. Other groups of finite, larger codes go through 32-bit words with the check in compress_wide.cpp.
#include "codec/avx512/encode.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/quantise.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

STRETTO_INLINE Predictor choose16(const std::int16_t* q, std::int32_t least) noexcept {
  return predictor_of(choose_order16(q), least < 0);
}

template <class T>
STRETTO_INLINE std::size_t compress(const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) std::int16_t q[kGroup];
  const Quantised found = quantise16(x, grid, q);
  if (!found.safe) return compress_wide(x, grid, out, tally);
  if (found.least == 0 && found.most == 0) return 0;
  note_bound(tally, code_bound(found));
  return encode(choose16(q, found.least), q, out, [](std::uint8_t* p) { return p; });
}

STRETTO_INLINE std::int32_t wrapping_sum(std::int32_t u, std::int32_t v) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(u) + static_cast<std::uint32_t>(v));
}

// Residuals e of a block plus the block of width wa at pa, written to p; its width.
template <Predictor kPredictor>
STRETTO_INLINE unsigned add_block16(__m512i e, const std::uint8_t* pa, unsigned wa, std::uint8_t* p) noexcept {
  constexpr bool kUnsigned = kPredictor == Predictor::none_unsigned;
  if (__builtin_expect(wa <= 15, 1)) {
    __m512i f;
    if (wa <= 8)
      f = kUnsigned ? _mm512_cvtepu8_epi16(read_bytes<kUnsigned>(pa, wa)) : _mm512_cvtepi8_epi16(read_bytes<kUnsigned>(pa, wa));
    else
      f = read_words<kUnsigned>(pa, wa);
    const __m512i s = _mm512_add_epi16(e, f);
    // Residuals of second order may need all 16 bits, their sum one more; unsigned ones at most 13.
    if (kUnsigned || __builtin_expect(_mm512_cmpneq_epi16_mask(s, _mm512_adds_epi16(e, f)) == 0, 1))
      return write_block16<kPredictor>(s, p);
  }
  const Pair f = read_pair<kUnsigned>(pa, wa);
  const __m512i e0 = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(e)), e1 = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(e, 1));
  return write_block32<kUnsigned>(_mm512_add_epi32(e0, f.v0), _mm512_add_epi32(e1, f.v1), p);
}

// Codes q as residuals of kPredictor, plus the blocks of group a, whose predictor is the same.
template <Predictor kPredictor>
STRETTO_INLINE std::size_t add_encode16(const NarrowGroup& a, const std::int16_t* q, std::int32_t base, std::int32_t slope,
                                        std::uint8_t* out) noexcept {
  std::uint8_t* p = write_head(kPredictor, wrapping_sum(a.base, base), wrapping_sum(a.slope, slope), out);
  const std::uint8_t* pa = a.planes;
  Residuals16<order_of(kPredictor)> residuals{_mm512_set1_epi16(static_cast<short>(base)), _mm512_set1_epi16(static_cast<short>(slope))};
  WidthReader from_a{a.widths};
  WidthWriter to{_mm256_setzero_si256()};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t next_a = next8(from_a), written = 0;
    for (int j = 0; j < 8; ++j, q += 32, next_a >>= 8) {
      const __m512i e = next(residuals, _mm512_load_si512(q));
      const unsigned wa = next_a & 0xff;
      const unsigned w = add_block16<kPredictor>(e, pa, wa, p);
      written |= std::uint64_t{w} << (8 * j);
      p += 4 * w;
      pa += 4 * wa;
    }
    push8(to, written);
  }
  return finish_group(to.widths, out, p);
}

// The same for codes of 32 bits.
template <Predictor kPredictor>
STRETTO_INLINE std::size_t add_encode32(const NarrowGroup& a, const std::int32_t* q, std::int32_t base, std::int32_t slope,
                                        std::uint8_t* out) noexcept {
  constexpr bool kUnsigned = kPredictor == Predictor::none_unsigned;
  std::uint8_t* p = write_head(kPredictor, wrapping_sum(a.base, base), wrapping_sum(a.slope, slope), out);
  const std::uint8_t* pa = a.planes;
  Residuals32<order_of(kPredictor)> residuals{_mm512_set1_epi32(base), _mm512_set1_epi32(slope)};
  WidthReader from_a{a.widths};
  WidthWriter to{_mm256_setzero_si256()};
  for (int i = 0; i < kBlocks; i += 8) {
    std::uint64_t next_a = next8(from_a), written = 0;
    for (int j = 0; j < 8; ++j, q += 32, next_a >>= 8) {
      const Pair e = next(residuals, Pair{_mm512_load_si512(q), _mm512_load_si512(q + 16)});
      const unsigned wa = next_a & 0xff;
      const Pair f = read_pair<kUnsigned>(pa, wa);
      const unsigned w = write_block32<kUnsigned>(_mm512_add_epi32(e.v0, f.v0), _mm512_add_epi32(e.v1, f.v1), p);
      written |= std::uint64_t{w} << (8 * j);
      p += 4 * w;
      pa += 4 * wa;
    }
    push8(to, written);
  }
  return finish_group(to.widths, out, p);
}

// Base and slope with which codes of predictor `own` enter a sum whose predictor is `result`, not lower. Raised ones keep their base and
// have no slope (docs/format.md, Sums).
template <class Code>
STRETTO_INLINE void entering(Predictor own, Predictor result, const Code* q, std::int32_t* base, std::int32_t* slope) noexcept {
  *base = *slope = 0;
  if (own == Predictor::first) *base = q[0];
  if (own == Predictor::second && result == own) fresh<Predictor::second>(q, base, slope);
}

template <class T>
STRETTO_INLINE std::size_t add_values32(const NarrowGroup& group, const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) std::int32_t q[kGroup];
  const Quantised found = quantise32(x, grid, q);
  if (!found.safe) return kDeclined;
  const Predictor own = predictor_of(choose_order32(q), found.least < 0);
  if (group.predictor < own) return kDeclined;
  note_bound(tally, code_bound(found));
  std::int32_t base = 0, slope = 0;
  entering(own, group.predictor, q, &base, &slope);
  switch (group.predictor) {
    case Predictor::none_unsigned: return add_encode32<Predictor::none_unsigned>(group, q, 0, 0, out);
    case Predictor::none_signed: return add_encode32<Predictor::none_signed>(group, q, 0, 0, out);
    case Predictor::first: return add_encode32<Predictor::first>(group, q, base, slope, out);
    case Predictor::second: break;
  }
  return add_encode32<Predictor::second>(group, q, base, slope, out);
}

// Compresses x, then adds; `plain`: group a has no exceptions.
template <class T>
std::size_t add_in_steps(const std::uint8_t* a, std::size_t words, const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally,
                         bool plain) noexcept {
  std::uint8_t compressed[kKernelRoom];
  Tally own;
  const std::size_t n = compress(x, grid, compressed, &own);
  if (n == kDeclined) return kDeclined;
  std::size_t sum = kDeclined;
  if (plain && own.exceptions == 0) sum = add(a, words, compressed, n, false, out);
  if (!plain && own.exceptions != 0) {
    if constexpr (sizeof(T) == 4)
      sum = add_filled_f32(a, words, compressed, n, false, out, tally);
    else
      sum = add_filled_f64(a, words, compressed, n, false, out, tally);
  }
  if (sum != kDeclined) note_bound(tally, own.bound);
  return sum;
}

template <class T>
STRETTO_INLINE std::size_t add_values(const std::uint8_t* a, std::size_t words, const T* x, const Grid<T>& grid,
                                      std::uint8_t* out, Tally* tally) noexcept {
  NarrowGroup group;
  if (!read_group(a, words, &group)) return add_in_steps(a, words, x, grid, out, tally, false);
  alignas(64) std::int16_t q[kGroup];
  const Quantised found = quantise16(x, grid, q);
  const Predictor own = found.safe ? choose16(q, found.least) : Predictor::none_unsigned;
  if (!found.safe) {
    const std::size_t n = add_values32(group, x, grid, out, tally);
    if (n != kDeclined) return n;
  }
  if (!found.safe || group.predictor < own) return add_in_steps(a, words, x, grid, out, tally, true);
  note_bound(tally, code_bound(found));
  std::int32_t base = 0, slope = 0;
  entering(own, group.predictor, q, &base, &slope);
  switch (group.predictor) {
    case Predictor::none_unsigned: return add_encode16<Predictor::none_unsigned>(group, q, 0, 0, out);
    case Predictor::none_signed: return add_encode16<Predictor::none_signed>(group, q, 0, 0, out);
    case Predictor::first: return add_encode16<Predictor::first>(group, q, base, slope, out);
    case Predictor::second: break;
  }
  return add_encode16<Predictor::second>(group, q, base, slope, out);
}

}  // namespace

std::size_t compress_f32(const float* x, const Grid<float>& grid, std::uint8_t* out, Tally* tally) noexcept {
  return compress(x, grid, out, tally);
}
std::size_t compress_f64(const double* x, const Grid<double>& grid, std::uint8_t* out, Tally* tally) noexcept {
  return compress(x, grid, out, tally);
}
std::size_t add_values_f32(const std::uint8_t* a, std::size_t words, const float* x, const Grid<float>& grid,
                           std::uint8_t* out, Tally* tally) noexcept {
  return add_values(a, words, x, grid, out, tally);
}
std::size_t add_values_f64(const std::uint8_t* a, std::size_t words, const double* x, const Grid<double>& grid,
                           std::uint8_t* out, Tally* tally) noexcept {
  return add_values(a, words, x, grid, out, tally);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
