// Groups with missing data: values far beyond every code, infinities and NaN. Their places take neighbours' codes. No
// branch depends on a place.
#pragma once

#include <bit>
#include <cstring>

#include "codec/avx512/encode.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/quantise.hpp"
#include "codec/stream/exception_map.hpp"
#include "codec/stream/exceptions.hpp"

namespace stretto::codec::avx512 {

struct FillTables {
  // Bits up to place i, of places 0 to 15 and 16 to 31.
  alignas(64) std::uint16_t upto_low[32], upto_high[32], place[32];

  constexpr FillTables() noexcept : upto_low(), upto_high(), place() {
    for (int i = 0; i < 32; ++i) {
      upto_low[i] = static_cast<std::uint16_t>(i < 16 ? (2u << i) - 1 : 0xffff);
      upto_high[i] = static_cast<std::uint16_t>(i < 16 ? 0 : (2u << (i - 16)) - 1);
      place[i] = static_cast<std::uint16_t>(i);
    }
  }
};
inline constexpr FillTables kFillTables{};

STRETTO_AVX512_BEGIN

struct MissingPlaces {
  Lanes lanes;
  std::uint32_t count;
  bool alike;  // all missing values have equal bits
};

STRETTO_INLINE int first_missing(const Lanes lanes) noexcept {
  int b = 0;
  while (lanes[b] == 0) ++b;
  return kBlock * b + static_cast<int>(_tzcnt_u32(lanes[b]));
}

// GCC 12 may spill the mask's 8 or 16 bits and read 32 back, where calls come between (as under ThreadSanitizer): the
// bits go to a register at once.
template <class Mask>
STRETTO_INLINE std::uint32_t bits_of(Mask mask) noexcept {
  std::uint32_t bits = mask;
  asm("" : "+r"(bits));
  return bits;
}

// The places in a block of values whose sums exceed 2^34 (2^54), which have no code; they get 0.
struct MissingBits {
  __m512i some, all;  // bits set in some, and in all such values
};
STRETTO_INLINE std::uint32_t quantise_filled_block16(const float* x, const Grid<float>& g, SumRange<float>& range,
                                                     MissingBits& found, std::int16_t* q) noexcept {
  const __m512 r = _mm512_set1_ps(g.r), magic = _mm512_set1_ps(0x1.8p23f);
  const __m512i finite = _mm512_set1_epi32(0x7fffffff), hopeless = _mm512_set1_epi32(0x50800000 - 1);
  __m512i s[2];
  std::uint32_t none = 0;
  for (int k = 0; k < 2; ++k) {
    const __m512 v = _mm512_loadu_ps(x + 16 * k);
    const __m512i bits = _mm512_castps_si512(v);
    s[k] = _mm512_castps_si512(_mm512_fmadd_ps(v, r, magic));
    const __mmask16 here = _mm512_cmpgt_epi32_mask(_mm512_and_si512(s[k], finite), hopeless);
    found.some = _mm512_mask_or_epi32(found.some, here, found.some, bits);
    found.all = _mm512_mask_and_epi32(found.all, here, found.all, bits);
    s[k] = _mm512_mask_mov_epi32(s[k], here, _mm512_castps_si512(magic));
    none |= bits_of(here) << (16 * k);
  }
  range.take(s[0], s[1]);
  _mm512_store_si512(q, pack16(s[0], s[1]));
  return none;
}
STRETTO_INLINE std::uint32_t quantise_filled_block16(const double* x, const Grid<double>& g, SumRange<double>& range,
                                                     MissingBits& found, std::int16_t* q) noexcept {
  const __m512d r = _mm512_set1_pd(g.r), magic = _mm512_set1_pd(0x1.8p52);
  const __m512i finite = _mm512_set1_epi64(0x7fffffffffffffff), hopeless = _mm512_set1_epi64(0x4350000000000000 - 1);
  __m512i s[4];
  std::uint32_t none = 0;
  for (int k = 0; k < 4; ++k) {
    const __m512d v = _mm512_loadu_pd(x + 8 * k);
    const __m512i bits = _mm512_castpd_si512(v);
    s[k] = _mm512_castpd_si512(_mm512_fmadd_pd(v, r, magic));
    const __mmask8 here = _mm512_cmpgt_epi64_mask(_mm512_and_si512(s[k], finite), hopeless);
    found.some = _mm512_mask_or_epi64(found.some, here, found.some, bits);
    found.all = _mm512_mask_and_epi64(found.all, here, found.all, bits);
    s[k] = _mm512_mask_mov_epi64(s[k], here, _mm512_castpd_si512(magic));
    none |= bits_of(here) << (8 * k);
  }
  range.take(s[0], s[1]);
  range.take(s[2], s[3]);
  _mm512_store_si512(q, pack16(pack32(s[0], s[1]), pack32(s[2], s[3])));
  return none;
}

// Goes on where quantise16() ended.
template <class T>
STRETTO_INLINE Quantised quantise_filled16(const T* x, const Grid<T>& g, const Blocks16<T>& good, std::int16_t* q,
                                           MissingPlaces* missing) noexcept {
  SumRange<T> range = good.range;
  MissingBits found{_mm512_setzero_si512(), _mm512_set1_epi32(-1)};
  std::uint32_t count = 0;
  for (int b = 0; b < good.done; ++b) missing->lanes[b] = 0;
  for (int b = good.done; b < kBlocks; ++b) {
    const std::uint32_t none = quantise_filled_block16(x + 32 * b, g, range, found, q + 32 * b);
    missing->lanes[b] = none;
    count += static_cast<std::uint32_t>(_mm_popcnt_u32(none));
  }
  missing->count = count;
  missing->alike = sizeof(T) == 4 ? _mm512_reduce_or_epi32(found.some) == _mm512_reduce_and_epi32(found.all)
                                  : _mm512_reduce_or_epi64(found.some) == _mm512_reduce_and_epi64(found.all);
  return range.all(static_cast<std::uint32_t>(g.safe_code32));
}

// Missing places take the code before them; those at the front, the first code.
STRETTO_INLINE void fill16(const Lanes lanes, std::int16_t* q) noexcept {
  int b = 0;
  while (b < kBlocks && lanes[b] == ~0u) ++b;
  if (b == kBlocks) return;
  const __m512i low = _mm512_load_si512(kFillTables.upto_low), high = _mm512_load_si512(kFillTables.upto_high);
  const __m512i one = _mm512_set1_epi16(1);
  __m512i before = _mm512_set1_epi16(q[32 * b + static_cast<int>(_tzcnt_u32(~lanes[b]))]);
  for (b = 0; b < kBlocks; ++b) {
    const std::uint32_t valid = ~lanes[b];
    const __m512i codes = _mm512_maskz_compress_epi16(valid, _mm512_load_si512(q + 32 * b));
    const __m512i in_low = _mm512_and_si512(_mm512_set1_epi16(static_cast<short>(valid & 0xffff)), low);
    const __m512i in_high = _mm512_and_si512(_mm512_set1_epi16(static_cast<short>(valid >> 16)), high);
    const __m512i upto = _mm512_add_epi16(_mm512_popcnt_epi16(in_low), _mm512_popcnt_epi16(in_high));
    // Place -1, before the first code of the block, is the last one of `before`.
    before = _mm512_permutex2var_epi16(codes, _mm512_sub_epi16(upto, one), before);
    _mm512_store_si512(q + 32 * b, before);
  }
}

STRETTO_INLINE void find_changes(const Lanes lanes, ExceptionChanges* changes) noexcept {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i v0 = _mm512_loadu_si512(lanes), v1 = _mm512_loadu_si512(lanes + 16);
  const __m512i d0 = _mm512_xor_si512(v0, _mm512_shldi_epi32(v0, _mm512_alignr_epi32(v0, zero, 15), 1));
  const __m512i d1 = _mm512_xor_si512(v1, _mm512_shldi_epi32(v1, _mm512_alignr_epi32(v1, v0, 15), 1));
  alignas(64) std::uint32_t differ[kBlocks];
  _mm512_store_si512(differ, d0);
  _mm512_store_si512(differ + 16, d1);
  const __m512i place = _mm512_load_si512(kFillTables.place);
  std::uint16_t* at = changes->at;
  *at++ = 0;
  for (std::uint32_t left = bits_of(_mm512_test_epi32_mask(d0, d0)) | bits_of(_mm512_test_epi32_mask(d1, d1)) << 16;
       left; left &= left - 1) {
    const auto b = static_cast<int>(_tzcnt_u32(left));
    const __m512i places = _mm512_add_epi16(place, _mm512_set1_epi16(static_cast<short>(32 * b)));
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi16(differ[b], places));
    at += _mm_popcnt_u32(differ[b]);
  }
  changes->count = static_cast<std::size_t>(at - changes->at) - 1;
}

// The section of one value for all missing places.
template <class T>
STRETTO_INLINE std::uint8_t* write_alike(const T* x, const MissingPlaces& missing, std::uint8_t* p) noexcept {
  ExceptionChanges changes;
  find_changes(missing.lanes, &changes);
  std::uint8_t* const kind = p;
  p += write_exception_map(missing.lanes, changes, p, 256);
  *kind |= kUniformBit;
  const T* const value = x + first_missing(missing.lanes);
  if (std::memcmp(value, quiet_nan_bytes(sizeof(T)), sizeof(T)) == 0) {
    *kind |= kQuietNanBit;
    return p;
  }
  std::memcpy(p, value, sizeof(T));
  return p + sizeof(T);
}

// Exact sum of the values of two groups with equal missing places, each with one value for them.
template <class T>
STRETTO_INLINE std::uint8_t* write_alike_sum(const GroupView& places, const ExactSum<T>& sum, std::uint8_t* out,
                                             std::uint8_t* p) noexcept {
  std::uint8_t* const kind = p;
  std::size_t map = copy_exception_runs(places, p, kKernelRoom / 2);
  if (map == 0) map = write_exception_map(places.lanes, kGroup, p, kKernelRoom / 2);
  *kind |= kSumsBit | kUniformBit;
  store(out, load<std::uint32_t>(out) | kExceptionsBit);
  return p + map + sum.write(p + map);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
