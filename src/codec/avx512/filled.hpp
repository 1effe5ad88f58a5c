// Groups with missing data: values far beyond every code, infinities and NaN. Their places take neighbours' codes. No
// branch depends on a place.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "codec/avx512/encode.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/missing_map.hpp"
#include "codec/avx512/quantise.hpp"
#include "codec/stream/exceptions.hpp"

namespace stretto::codec::avx512 {

struct FillTables {
  // Bits up to place i, of places 0 to 15 and 16 to 31.
  alignas(64) std::uint16_t upto_low[32], upto_high[32];

  constexpr FillTables() noexcept : upto_low(), upto_high() {
    for (int i = 0; i < 32; ++i) {
      upto_low[i] = static_cast<std::uint16_t>(i < 16 ? (2u << i) - 1 : 0xffff);
      upto_high[i] = static_cast<std::uint16_t>(i < 16 ? 0 : (2u << (i - 16)) - 1);
    }
  }
};
inline constexpr FillTables kFillTables{};

STRETTO_AVX512_BEGIN

// All have the bits of `value`.
template <class T>
struct MissingPlaces {
  Lanes lanes;
  std::uint32_t some, all;  // blocks with such places, and with no others
  std::uint32_t count;
  T value;
};

STRETTO_INLINE __m512i all_of(float v) noexcept { return _mm512_castps_si512(_mm512_set1_ps(v)); }
STRETTO_INLINE __m512i all_of(double v) noexcept { return _mm512_castpd_si512(_mm512_set1_pd(v)); }

// Finds a value in eight blocks whose sum exceeds 2^34 (2^54), which has no code.
STRETTO_INLINE bool find_missing(const float* x, const Grid<float>& g, float* value) noexcept {
  const __m512 r = _mm512_set1_ps(g.r), magic = _mm512_set1_ps(0x1.8p23f);
  const __m512i finite = _mm512_set1_epi32(0x7fffffff), hopeless = _mm512_set1_epi32(0x50800000 - 1);
  __m512 found = _mm512_setzero_ps();
  __mmask16 some = 0;
  for (int i = 0; some == 0 && i < 8 * kBlock; i += 64) {
    for (int k = 0; k < 64; k += 16) {
      const __m512 v = _mm512_loadu_ps(x + i + k);
      const __m512i sum = _mm512_castps_si512(_mm512_fmadd_ps(v, r, magic));
      const __mmask16 here = _mm512_cmpgt_epi32_mask(_mm512_and_si512(sum, finite), hopeless);
      found = _mm512_mask_mov_ps(found, here, v);
    }
    some = _mm512_test_epi32_mask(_mm512_castps_si512(found), _mm512_castps_si512(found));
  }
  *value = _mm512_cvtss_f32(_mm512_maskz_compress_ps(some, found));
  return some != 0;
}
STRETTO_INLINE bool find_missing(const double* x, const Grid<double>& g, double* value) noexcept {
  const __m512d r = _mm512_set1_pd(g.r), magic = _mm512_set1_pd(0x1.8p52);
  const __m512i finite = _mm512_set1_epi64(0x7fffffffffffffff), hopeless = _mm512_set1_epi64(0x4350000000000000 - 1);
  __m512d found = _mm512_setzero_pd();
  __mmask8 some = 0;
  for (int i = 0; some == 0 && i < 8 * kBlock; i += 64) {
    for (int k = 0; k < 64; k += 8) {
      const __m512d v = _mm512_loadu_pd(x + i + k);
      const __m512i sum = _mm512_castpd_si512(_mm512_fmadd_pd(v, r, magic));
      const __mmask8 here = _mm512_cmpgt_epi64_mask(_mm512_and_si512(sum, finite), hopeless);
      found = _mm512_mask_mov_pd(found, here, v);
    }
    some = _mm512_test_epi64_mask(_mm512_castpd_si512(found), _mm512_castpd_si512(found));
  }
  *value = _mm512_cvtsd_f64(_mm512_maskz_compress_pd(some, found));
  return some != 0;
}

// Returns the places whose values have the bits of `missing`, and codes the others.
STRETTO_INLINE std::uint32_t quantise_filled_block16(const float* x, const Grid<float>& g, __m512i missing,
                                                     SumRange<float>& range, std::int16_t* q) noexcept {
  const __m512 r = _mm512_set1_ps(g.r), magic = _mm512_set1_ps(0x1.8p23f);
  const __m512 v0 = _mm512_loadu_ps(x), v1 = _mm512_loadu_ps(x + 16);
  const __mmask16 valid0 = _mm512_cmpneq_epi32_mask(_mm512_castps_si512(v0), missing),
                  valid1 = _mm512_cmpneq_epi32_mask(_mm512_castps_si512(v1), missing);
  const __m512i s0 = _mm512_castps_si512(_mm512_fmadd_ps(v0, r, magic)),
                s1 = _mm512_castps_si512(_mm512_fmadd_ps(v1, r, magic));
  range.take(valid0, s0);
  range.take(valid1, s1);
  _mm512_store_si512(q, pack16(s0, s1));
  return ~static_cast<std::uint32_t>(_mm512_kunpackw(valid1, valid0));
}
STRETTO_INLINE std::uint32_t quantise_filled_block16(const double* x, const Grid<double>& g, __m512i missing,
                                                     SumRange<double>& range, std::int16_t* q) noexcept {
  const __m512d r = _mm512_set1_pd(g.r), magic = _mm512_set1_pd(0x1.8p52);
  __m512i s[4];
  std::uint32_t valid = 0;
  for (int k = 0; k < 4; ++k) {
    const __m512d v = _mm512_loadu_pd(x + 8 * k);
    const __mmask8 here = _mm512_cmpneq_epi64_mask(_mm512_castpd_si512(v), missing);
    s[k] = _mm512_castpd_si512(_mm512_fmadd_pd(v, r, magic));
    range.take(here, s[k]);
    valid |= bits_of(here) << (8 * k);
  }
  _mm512_store_si512(q, pack16(pack32(s[0], s[1]), pack32(s[2], s[3])));
  return ~valid;
}

// Follows quantise16(). Not safe if no value is missing, or missing values differ.
template <class T>
STRETTO_INLINE Quantised quantise_filled16(const T* x, const Grid<T>& g, const Blocks16<T>& good, std::int16_t* q,
                                           MissingPlaces<T>* missing) noexcept {
  if (!find_missing(x + kBlock * good.done, g, &missing->value)) return {false, 0, 0};
  const __m512i value = all_of(missing->value);
  SumRange<T> range = good.range;
  for (int b = 0; b < good.done; ++b) missing->lanes[b] = 0;
  for (int b = good.done; b < kBlocks; ++b)
    missing->lanes[b] = quantise_filled_block16(x + 32 * b, g, value, range, q + 32 * b);
  const __m512i v0 = _mm512_loadu_si512(missing->lanes), v1 = _mm512_loadu_si512(missing->lanes + 16);
  const __m512i full = _mm512_set1_epi32(-1);
  missing->some = bits_of(_mm512_test_epi32_mask(v0, v0)) | bits_of(_mm512_test_epi32_mask(v1, v1)) << 16;
  missing->all = bits_of(_mm512_cmpeq_epi32_mask(v0, full)) | bits_of(_mm512_cmpeq_epi32_mask(v1, full)) << 16;
  missing->count = ones_of(v0, v1);
  return missing->all != ~0u ? range.all(static_cast<std::uint32_t>(g.safe_code32)) : Quantised{true, 0, 0};
}

// Missing places take the code before them; those at the front, the first. Some place is not missing. Overwrites the
// word before q.
template <class T>
STRETTO_INLINE void fill16(const MissingPlaces<T>& missing, std::int16_t* q) noexcept {
  const auto first = static_cast<int>(_tzcnt_u32(~missing.all));
  q[-1] = q[32 * first + static_cast<int>(_tzcnt_u32(~missing.lanes[first]))];
  const __m512i low = _mm512_load_si512(kFillTables.upto_low), high = _mm512_load_si512(kFillTables.upto_high);
  const __m512i minus_one = pinned(_mm512_set1_epi16(-1));
  std::int16_t last = q[-1];
  for (std::uint32_t left = missing.some; left; left &= left - 1) {
    const auto b = static_cast<int>(_tzcnt_u32(left));
    const std::uint32_t valid = ~missing.lanes[b];
    std::int16_t* const block = q + 32 * b;
    // A load from a block that was just filled would wait for its store.
    const std::int16_t before = missing.some << 1 >> b & 1 ? last : block[-1];
    last = valid ? block[31 - static_cast<int>(_lzcnt_u32(valid))] : before;
    const __m512i codes = _mm512_maskz_compress_epi16(valid, _mm512_load_si512(block));
    const __m512i in_low = _mm512_and_si512(_mm512_set1_epi16(static_cast<short>(valid & 0xffff)), low);
    const __m512i in_high = _mm512_and_si512(_mm512_set1_epi16(static_cast<short>(valid >> 16)), high);
    const __m512i upto = _mm512_add_epi16(_mm512_popcnt_epi16(in_low), _mm512_popcnt_epi16(in_high));
    // Place -1, before the first code of the block, is the last one of `before`.
    _mm512_store_si512(block,
                       _mm512_permutex2var_epi16(codes, _mm512_add_epi16(upto, minus_one), _mm512_set1_epi16(before)));
  }
}

template <class T>
STRETTO_INLINE std::uint8_t* write_alike(const MissingPlaces<T>& missing, std::uint8_t* p) noexcept {
  std::uint8_t* const kind = p;
  p += write_missing_map(_mm512_loadu_si512(missing.lanes), _mm512_loadu_si512(missing.lanes + 16), p);
  *kind |= kUniformBit;
  if (std::memcmp(&missing.value, quiet_nan_bytes(sizeof(T)), sizeof(T)) == 0) {
    *kind |= kQuietNanBit;
    return p;
  }
  std::memcpy(p, &missing.value, sizeof(T));
  return p + sizeof(T);
}

STRETTO_INLINE bool equal_places(const Lanes a, const Lanes b) noexcept {
  const __m512i differ0 = _mm512_xor_si512(_mm512_loadu_si512(a), _mm512_loadu_si512(b)),
                differ1 = _mm512_xor_si512(_mm512_loadu_si512(a + 16), _mm512_loadu_si512(b + 16)),
                differ = _mm512_or_si512(differ0, differ1);
  return _mm512_test_epi32_mask(differ, differ) == 0;
}

STRETTO_INLINE AlikeValue value_of(const GroupView& g) noexcept { return {g.values, g.values_bytes, g.sums}; }

// Flags of a NaN, and of an exact sum without words; else 0.
template <class T>
STRETTO_INLINE std::uint32_t flags_alone(const AlikeValue& v) noexcept {
  if (!v.is_sum) return std::isnan(load<T>(v.at)) ? kNanBit : 0;
  const auto head = load<std::uint32_t>(v.at);
  return head & 0xff ? 0 : head & (kPlusInfBit | kMinusInfBit | kNanBit);
}

template <class T>
void add_to(ExactSum<T>& sum, const AlikeValue& v, bool negate) noexcept {
  if (v.is_sum)
    sum.read_add(v.at, v.bytes, negate);
  else
    sum.add(load<T>(v.at), negate);
}

template <class T>
STRETTO_INLINE std::size_t write_sum(const AlikeValue& a, const AlikeValue& b, bool negate_b,
                                     std::uint8_t* out) noexcept {
  const std::uint32_t flags_a = flags_alone<T>(a), flags_b = flags_alone<T>(b);
  if ((flags_a & flags_b & kNanBit) != 0 && !negate_b) {
    store(out, flags_a | flags_b);
    return 4;
  }
  ExactSum<T> sum;
  add_to(sum, a, false);
  add_to(sum, b, negate_b);
  return sum.write(out);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
