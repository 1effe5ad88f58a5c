// A fused multiply-add puts the code into the low bits of a float, whose extremes show whether all codes were safe
// (Grid), and whether 16 bits suffice.
#pragma once

#include "codec/avx512/target.hpp"
#include "codec/numbers/grid.hpp"
#include "codec/stream/format.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

struct Quantised {
  bool safe;
  std::int32_t least, most;
};
STRETTO_INLINE bool fits16(const Quantised& q) noexcept {
  return q.safe && q.least >= -32768 && q.most <= 32767 && std::int64_t{q.most} - q.least <= 16383;
}

// Codes beyond 16 bits, whose first differences cost less: 14 bits and a sign.
STRETTO_INLINE bool lies_far(const Quantised& q) noexcept {
  return q.safe && (q.least >= 32768 || q.most < -32768) && std::int64_t{q.most} - q.least <= 16383;
}
// From the codes' last 16 bits.
STRETTO_INLINE Quantised from_least(const Quantised& found, std::int16_t* q) noexcept {
  const __m512i least = _mm512_set1_epi16(static_cast<short>(found.least));
  for (int i = 0; i < kGroup; i += 32) _mm512_store_si512(q + i, _mm512_sub_epi16(_mm512_load_si512(q + i), least));
  return {true, 0, found.most - found.least};
}

STRETTO_INLINE __m512i pack16(__m512i a, __m512i b) noexcept {
  alignas(64) static constexpr std::uint16_t kEven[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                                          22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42,
                                                          44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
  return _mm512_permutex2var_epi16(a, _mm512_load_si512(kEven), b);
}
STRETTO_INLINE __m512i pack32(__m512i a, __m512i b) noexcept {
  alignas(64) static constexpr std::uint32_t kEven[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
  return _mm512_permutex2var_epi32(a, _mm512_load_si512(kEven), b);
}

// Sums of quantise16() as unsigned integers: infinities, NaN and large values lie outside the bounds of codes.
template <class T>
struct SumRange;
template <>
struct SumRange<float> {
  static constexpr std::uint32_t kZero = 0x4b400000;  // the sum of code 0
  __m512i least, most;

  STRETTO_MEMBER void take(__m512i s0, __m512i s1) noexcept {
    least = _mm512_min_epu32(least, _mm512_min_epu32(s0, s1));
    most = _mm512_max_epu32(most, _mm512_max_epu32(s0, s1));
  }
  STRETTO_MEMBER void take(__mmask16 some, __m512i s) noexcept {
    least = _mm512_mask_min_epu32(least, some, least, s);
    most = _mm512_mask_max_epu32(most, some, most, s);
  }
  STRETTO_MEMBER bool within(std::uint32_t bound) const noexcept {
    const auto low = static_cast<int>(kZero - bound), high = static_cast<int>(kZero + bound);
    return !(_mm512_cmplt_epu32_mask(least, _mm512_set1_epi32(low)) |
             _mm512_cmpgt_epu32_mask(most, _mm512_set1_epi32(high)));
  }
  STRETTO_MEMBER Quantised all(std::uint32_t bound) const noexcept {
    const std::uint32_t lo = _mm512_reduce_min_epu32(least), hi = _mm512_reduce_max_epu32(most);
    return {lo >= kZero - bound && hi <= kZero + bound && bound > 0, static_cast<std::int32_t>(lo - kZero),
            static_cast<std::int32_t>(hi - kZero)};
  }
};
template <>
struct SumRange<double> {
  static constexpr std::uint64_t kZero = 0x4338000000000000;
  __m512i least, most;

  STRETTO_MEMBER void take(__m512i s0, __m512i s1) noexcept {
    least = _mm512_min_epu64(least, _mm512_min_epu64(s0, s1));
    most = _mm512_max_epu64(most, _mm512_max_epu64(s0, s1));
  }
  STRETTO_MEMBER void take(__mmask8 some, __m512i s) noexcept {
    least = _mm512_mask_min_epu64(least, some, least, s);
    most = _mm512_mask_max_epu64(most, some, most, s);
  }
  STRETTO_MEMBER bool within(std::uint32_t bound) const noexcept {
    const auto low = static_cast<long long>(kZero - bound), high = static_cast<long long>(kZero + bound);
    return !(_mm512_cmplt_epu64_mask(least, _mm512_set1_epi64(low)) |
             _mm512_cmpgt_epu64_mask(most, _mm512_set1_epi64(high)));
  }
  STRETTO_MEMBER Quantised all(std::uint32_t bound) const noexcept {
    const std::uint64_t lo = _mm512_reduce_min_epu64(least), hi = _mm512_reduce_max_epu64(most);
    return {lo >= kZero - bound && hi <= kZero + bound && bound > 0, static_cast<std::int32_t>(lo - kZero),
            static_cast<std::int32_t>(hi - kZero)};
  }
};

template <class T>
STRETTO_INLINE SumRange<T> no_sums() noexcept {
  return {_mm512_set1_epi32(-1), _mm512_setzero_si512()};
}

STRETTO_INLINE void quantise_block16(const float* x, const Grid<float>& g, SumRange<float>& range,
                                     std::int16_t* q) noexcept {
  const __m512 r = _mm512_set1_ps(g.r), magic = _mm512_set1_ps(0x1.8p23f);
  const __m512i s0 = _mm512_castps_si512(_mm512_fmadd_ps(_mm512_loadu_ps(x), r, magic));
  const __m512i s1 = _mm512_castps_si512(_mm512_fmadd_ps(_mm512_loadu_ps(x + 16), r, magic));
  range.take(s0, s1);
  _mm512_store_si512(q, pack16(s0, s1));
}
STRETTO_INLINE void quantise_block16(const double* x, const Grid<double>& g, SumRange<double>& range,
                                     std::int16_t* q) noexcept {
  const __m512d r = _mm512_set1_pd(g.r), magic = _mm512_set1_pd(0x1.8p52);
  __m512i s[4];
  for (int k = 0; k < 4; ++k) s[k] = _mm512_castpd_si512(_mm512_fmadd_pd(_mm512_loadu_pd(x + 8 * k), r, magic));
  range.take(s[0], s[1]);
  range.take(s[2], s[3]);
  _mm512_store_si512(q, pack16(pack32(s[0], s[1]), pack32(s[2], s[3])));
}

// Ends after eight blocks with a code that is not safe. `done`, blocks before, have range `range`.
template <class T>
struct Blocks16 {
  SumRange<T> range;
  int done;
};
template <class T>
STRETTO_INLINE Quantised quantise16(const T* x, const Grid<T>& g, std::int16_t* q, Blocks16<T>* blocks) noexcept {
  const auto bound = static_cast<std::uint32_t>(g.safe_code32);
  SumRange<T> range = no_sums<T>();
  *blocks = {range, 0};
  for (int first = 0; first < kBlocks; first += 8) {
    const SumRange<T> before = range;
    // Unrolled, this loop made compress() 6 % slower on Zen 4.
#pragma GCC unroll 1
    for (int b = first; b < first + 8; ++b) quantise_block16(x + 32 * b, g, range, q + 32 * b);
    if (__builtin_expect(!range.within(bound), 0)) {
      *blocks = {before, first};
      return {false, 0, 0};
    }
  }
  return range.all(bound);
}
template <class T>
STRETTO_INLINE Quantised quantise16(const T* x, const Grid<T>& g, std::int16_t* q) noexcept {
  Blocks16<T> unused;
  return quantise16(x, g, q, &unused);
}

STRETTO_INLINE Quantised quantise32(const float* x, const Grid<float>& g, std::int32_t* q) noexcept {
  const __m512 r = _mm512_set1_ps(g.r), magic = _mm512_set1_ps(0x1.8p23f);
  const __m512i origin = _mm512_castps_si512(magic);
  __m512i least = _mm512_set1_epi32(-1), most = _mm512_setzero_si512();
  for (int i = 0; i < kGroup; i += 16) {
    const __m512i s = _mm512_castps_si512(_mm512_fmadd_ps(_mm512_loadu_ps(x + i), r, magic));
    least = _mm512_min_epu32(least, s);
    most = _mm512_max_epu32(most, s);
    _mm512_store_si512(q + i, _mm512_sub_epi32(s, origin));
  }
  const std::uint32_t zero = 0x4b400000, bound = static_cast<std::uint32_t>(g.safe_code32);
  const std::uint32_t lo = _mm512_reduce_min_epu32(least), hi = _mm512_reduce_max_epu32(most);
  return {lo >= zero - bound && hi <= zero + bound && bound > 0, static_cast<std::int32_t>(lo - zero),
          static_cast<std::int32_t>(hi - zero)};
}
STRETTO_INLINE Quantised quantise32(const double* x, const Grid<double>& g, std::int32_t* q) noexcept {
  const __m512d r = _mm512_set1_pd(g.r), magic = _mm512_set1_pd(0x1.8p52);
  __m512i least = _mm512_set1_epi64(-1), most = _mm512_setzero_si512();
  for (int i = 0; i < kGroup; i += 8) {
    const __m512i s = _mm512_castpd_si512(_mm512_fmadd_pd(_mm512_loadu_pd(x + i), r, magic));
    least = _mm512_min_epu64(least, s);
    most = _mm512_max_epu64(most, s);
    _mm256_store_si256(reinterpret_cast<__m256i*>(q + i), _mm512_cvtepi64_epi32(s));
  }
  const std::uint64_t zero = 0x4338000000000000, bound = static_cast<std::uint64_t>(g.safe_code32);
  const std::uint64_t lo = _mm512_reduce_min_epu64(least), hi = _mm512_reduce_max_epu64(most);
  return {lo >= zero - bound && hi <= zero + bound && bound > 0, static_cast<std::int32_t>(lo - zero),
          static_cast<std::int32_t>(hi - zero)};
}

STRETTO_INLINE std::uint64_t code_bound(const Quantised& q) noexcept {
  const std::int64_t below = -std::int64_t{q.least}, above = q.most;
  return static_cast<std::uint64_t>(below > above ? below : above);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
