// Groups with wide codes or exceptions. Checks every code of a float.
#include <algorithm>
#include <cstring>

#include "codec/avx512/encode.hpp"
#include "codec/avx512/kernels.hpp"
#include "codec/avx512/quantise.hpp"
#include "codec/avx512/wide.hpp"
#include "codec/stream/exception_map.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

namespace {

struct Checked {
  __m512i q;
  __mmask16 exception;
  bool too_wide = false;
};

STRETTO_INLINE __mmask16 not_good(__m512 x, __m512 n, __m512 e, const Grid<float>& g) noexcept {
  const __m512 d = _mm512_sub_ps(x, _mm512_mul_ps(n, _mm512_set1_ps(g.w)));
  return _mm512_cmp_ps_mask(_mm512_abs_ps(e), _mm512_set1_ps(g.eps_e), _CMP_NLE_UQ) |
         _mm512_cmp_ps_mask(_mm512_abs_ps(d), _mm512_set1_ps(g.eps_y), _CMP_NLE_UQ);
}

// Products below 2^21 whose codes decode to finite numbers. `hopeless` lanes certainly have no code.
STRETTO_INLINE Checked check_single(__m512 x, __mmask16 hopeless, const Grid<float>& g) noexcept {
  const __m512 magic = _mm512_set1_ps(0x1.8p23f), w = _mm512_set1_ps(g.w);
  __m512 n = _mm512_sub_ps(_mm512_fmadd_ps(x, _mm512_set1_ps(g.r), magic), magic);
  n = _mm512_mask_mov_ps(n, hopeless, _mm512_setzero_ps());
  __m512 e = _mm512_fnmadd_ps(n, w, x);
  __mmask16 bad = static_cast<__mmask16>(not_good(x, n, e, g) & ~hopeless);
  if (bad) {
    const __mmask16 down = _mm512_cmp_ps_mask(e, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512 one = _mm512_set1_ps(1);
    n = _mm512_mask_add_ps(n, bad, n, _mm512_mask_sub_ps(one, down, _mm512_setzero_ps(), one));
    e = _mm512_fnmadd_ps(n, w, x);
    bad &= not_good(x, n, e, g);
  }
  const __mmask16 exception = bad | hopeless;
  return {_mm512_maskz_cvtps_epi32(static_cast<__mmask16>(~exception), n), exception};
}

struct Checked8 {
  __m256i q;
  __mmask8 exception;
};
STRETTO_INLINE __mmask8 not_good(__m256 x, __m512d x64, __m512d n, const Grid<float>& g) noexcept {
  const __m512d product = _mm512_mul_pd(n, _mm512_set1_pd(g.width));
  const __m256 e = _mm512_cvtpd_ps(_mm512_sub_pd(x64, product)), y = _mm512_cvtpd_ps(product), d = _mm256_sub_ps(x, y);
  const __m256 sign = _mm256_set1_ps(-0.0f);
  return _mm256_cmp_ps_mask(_mm256_andnot_ps(sign, e), _mm256_set1_ps(g.eps_e), _CMP_NLE_UQ) |
         _mm256_cmp_ps_mask(_mm256_andnot_ps(sign, d), _mm256_set1_ps(g.eps_y), _CMP_NLE_UQ) |
         _mm256_cmp_ps_mask(_mm256_andnot_ps(sign, y), _mm256_set1_ps(g.largest), _CMP_NLE_UQ);
}
STRETTO_INLINE Checked8 check_double(__m256 x, const Grid<float>& g) noexcept {
  const __m512d x64 = _mm512_cvtps_pd(x), zero = _mm512_setzero_pd(), one = _mm512_set1_pd(1);
  const __m512d small = _mm512_mul_pd(x64, _mm512_set1_pd(static_cast<double>(g.r)));
  const __mmask8 is_small = _mm512_cmp_pd_mask(_mm512_abs_pd(small), _mm512_set1_pd(0x1p21), _CMP_LT_OQ);
  const __m512d magic = _mm512_set1_pd(0x1.8p52), R = _mm512_set1_pd(g.R),
                limit = _mm512_set1_pd(static_cast<double>(kNarrowLimit));
  __m512d n = _mm512_sub_pd(_mm512_fmadd_pd(x64, R, magic), magic);
  n = _mm512_mask_roundscale_pd(n, is_small, small, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __mmask8 is_code =
      is_small | (_mm512_cmp_pd_mask(_mm512_abs_pd(_mm512_mul_pd(x64, R)), _mm512_set1_pd(0x1p32), _CMP_LT_OQ) &
                  _mm512_cmp_pd_mask(_mm512_abs_pd(n), limit, _CMP_LE_OQ));
  n = _mm512_maskz_mov_pd(is_code, n);
  __mmask8 bad = static_cast<__mmask8>(not_good(x, x64, n, g) & is_code);
  if (bad) {
    const __m256 e = _mm512_cvtpd_ps(_mm512_sub_pd(x64, _mm512_mul_pd(n, _mm512_set1_pd(g.width))));
    const __mmask8 down = _mm256_cmp_ps_mask(e, _mm256_setzero_ps(), _CMP_LT_OQ);
    n = _mm512_mask_add_pd(n, bad, n, _mm512_mask_sub_pd(one, down, zero, one));
    bad &= not_good(x, x64, n, g) | _mm512_cmp_pd_mask(_mm512_abs_pd(n), limit, _CMP_GT_OQ);
  }
  const auto exception = static_cast<__mmask8>(bad | ~is_code);
  return {_mm512_maskz_cvtpd_epi32(static_cast<__mmask8>(~exception), n), exception};
}

STRETTO_INLINE Checked check16(const float* p, const Grid<float>& g) noexcept {
  const __m512 x = _mm512_loadu_ps(p);
  const __m512 size = _mm512_abs_ps(_mm512_mul_ps(x, _mm512_set1_ps(g.r)));
  const __mmask16 small =
      _mm512_cmp_ps_mask(size, _mm512_set1_ps(static_cast<float>(std::min(0x1p21 - 2, g.finite_code))), _CMP_LT_OQ);
  const __mmask16 hopeless = _mm512_cmp_ps_mask(size, _mm512_set1_ps(0x1p33f), _CMP_NLT_UQ);
  if (static_cast<__mmask16>(small | hopeless) == 0xffff) return check_single(x, hopeless, g);
  const Checked8 a = check_double(_mm512_castps512_ps256(x), g), b = check_double(_mm512_extractf32x8_ps(x, 1), g);
  return {_mm512_inserti64x4(_mm512_castsi256_si512(a.q), b.q, 1),
          static_cast<__mmask16>(a.exception | b.exception << 8)};
}

STRETTO_INLINE __mmask8 not_good(__m512d x, __m512d n, __m512d e, const Grid<double>& g) noexcept {
  const __m512d d = _mm512_sub_pd(x, _mm512_mul_pd(n, _mm512_set1_pd(g.w)));
  return _mm512_cmp_pd_mask(_mm512_abs_pd(e), _mm512_set1_pd(g.eps_e), _CMP_NLE_UQ) |
         _mm512_cmp_pd_mask(_mm512_abs_pd(d), _mm512_set1_pd(g.eps_y), _CMP_NLE_UQ);
}
struct Nearest8 {
  __m512d code;  // 0 for an exception
  __mmask8 exception;
};
STRETTO_INLINE Nearest8 nearest8(const double* p, const Grid<double>& g) noexcept {
  const __m512d x = _mm512_loadu_pd(p), r = _mm512_set1_pd(g.r), w = _mm512_set1_pd(g.w),
                magic = _mm512_set1_pd(0x1.8p52);
  const __mmask8 is_code = _mm512_cmp_pd_mask(_mm512_abs_pd(_mm512_mul_pd(x, r)), _mm512_set1_pd(0x1p51), _CMP_LT_OQ);
  __m512d n = _mm512_maskz_sub_pd(is_code, _mm512_fmadd_pd(x, r, magic), magic);
  __m512d e = _mm512_fnmadd_pd(n, w, x);
  __mmask8 bad = static_cast<__mmask8>(not_good(x, n, e, g) & is_code);
  if (bad) {
    const __mmask8 down = _mm512_cmp_pd_mask(e, _mm512_setzero_pd(), _CMP_LT_OQ);
    const __m512d one = _mm512_set1_pd(1);
    n = _mm512_mask_add_pd(n, bad, n, _mm512_mask_sub_pd(one, down, _mm512_setzero_pd(), one));
    e = _mm512_fnmadd_pd(n, w, x);
    bad &= not_good(x, n, e, g);
  }
  const auto exception = static_cast<__mmask8>(bad | ~is_code);
  return {_mm512_maskz_mov_pd(static_cast<__mmask8>(~exception), n), exception};
}
STRETTO_INLINE Checked8 check8(const double* p, const Grid<double>& g, bool* too_wide) noexcept {
  const Nearest8 n = nearest8(p, g);
  const __m512d limit = _mm512_set1_pd(static_cast<double>(kNarrowLimit));
  *too_wide |= _mm512_cmp_pd_mask(_mm512_abs_pd(n.code), limit, _CMP_GT_OQ) != 0;
  return {_mm512_cvtpd_epi32(n.code), n.exception};
}
STRETTO_INLINE Checked check16(const double* p, const Grid<double>& g) noexcept {
  bool too_wide = false;
  const Checked8 a = check8(p, g, &too_wide), b = check8(p + 8, g, &too_wide);
  return {_mm512_inserti64x4(_mm512_castsi256_si512(a.q), b.q, 1),
          static_cast<__mmask16>(a.exception | b.exception << 8), too_wide};
}

template <class Code>
void fill(const Lanes lanes, Code* q) noexcept {
  int first = 0;
  while (first < kBlocks && lanes[first] == ~0u) ++first;
  Code last = first < kBlocks ? q[32 * first + static_cast<int>(_tzcnt_u32(~lanes[first]))] : 0;
  for (int b = 0; b < kBlocks; ++b) {
    Code* block = q + 32 * b;
    if (lanes[b] == ~0u) {
      std::fill_n(block, 32, last);
      continue;
    }
    for (std::uint32_t left = lanes[b]; left;) {
      const int at = static_cast<int>(_tzcnt_u32(left));
      if (at > 0) last = block[at - 1];
      const std::uint32_t valid = ~left & (~0u << at);
      const int end = valid ? static_cast<int>(_tzcnt_u32(valid)) : 32;
      for (int i = at; i < end; ++i) block[i] = last;
      left = end == 32 ? 0 : left & (~0u << end);
    }
    last = block[31];
  }
}

template <class T>
std::uint8_t* write_exceptions(const T* x, const Lanes lanes, std::uint8_t* p, std::uint8_t* kind) noexcept {
  constexpr int kWords = sizeof(T) / 4, kPer = 16 / kWords;
  const T* first = nullptr;
  std::uint8_t* const begin = p;
  bool alike = true;
  __m512i pattern = _mm512_setzero_si512();
  for (int i = 0; i < kGroup; i += kPer) {
    const std::uint32_t here = lanes[i / 32] >> (i % 32) & ((1u << kPer) - 1);
    if (here == 0) continue;
    const __m512i v = _mm512_loadu_si512(x + i);
    const int count = _mm_popcnt_u32(here);
    if (!first) {
      first = x + i + _tzcnt_u32(here);
      pattern = kWords == 1 ? _mm512_set1_epi32(load<std::int32_t>(reinterpret_cast<const std::uint8_t*>(first)))
                            : _mm512_set1_epi64(load<std::int64_t>(reinterpret_cast<const std::uint8_t*>(first)));
    }
    if constexpr (kWords == 1) {
      alike = alike && (_mm512_cmpneq_epi32_mask(v, pattern) & here) == 0;
      _mm512_storeu_si512(p, _mm512_maskz_compress_epi32(static_cast<__mmask16>(here), v));
    } else {
      alike = alike && (_mm512_cmpneq_epi64_mask(v, pattern) & here) == 0;
      _mm512_storeu_si512(p, _mm512_maskz_compress_epi64(static_cast<__mmask8>(here), v));
    }
    p += count * static_cast<int>(sizeof(T));
  }
  if (!alike) return p;
  *kind |= kUniformBit;
  if (std::memcmp(first, quiet_nan_bytes(sizeof(T)), sizeof(T)) != 0) return begin + sizeof(T);
  *kind |= kQuietNanBit;
  return begin;
}

// Writes the section of a group at `out`, and returns its end.
template <class T>
auto exceptions_of(const T* x, const Lanes& lanes, std::uint32_t exceptions, std::uint8_t* out) noexcept {
  return [x, &lanes, exceptions, out](std::uint8_t* p) {
    if (!exceptions) return p;
    std::uint8_t* const kind = p;
    p += write_exception_map(lanes, kGroup, p, 256);
    store(out, load<std::uint32_t>(out) | kExceptionsBit);
    return write_exceptions(x, lanes, p, kind);
  };
}

bool is_any_negative(const std::int64_t* q) noexcept {
  __m512i any = _mm512_setzero_si512();
  for (int i = 0; i < kGroup; i += 8) any = _mm512_or_si512(any, _mm512_loadu_si512(q + i));
  return _mm512_movepi64_mask(any) != 0;
}

template <class T>
std::size_t verbatim(const T* x, std::uint8_t* out, Tally* tally) noexcept {
  store(out, kVerbatimWord);
  std::memcpy(out + 4, x, kGroup * sizeof(T));
  tally->exceptions += kGroup;
  return 1 + kGroup * sizeof(T) / 4;
}

template <class T>
std::size_t compress_unchecked(const Quantised& found, const T* x, const Grid<T>& grid, const std::int32_t* q,
                               std::uint8_t* out, Tally* tally) noexcept {
  const Coding orders = orders_for(grid.orders, kGroup, code_bound(found), true);
  const std::size_t words = encode(predictor_of(choose_order32(q, orders), found.least < 0), q, ahead_of(x), out,
                                   [](std::uint8_t* p) { return p; });
  if constexpr (std::is_floating_point_v<T>)
    if (words >= 1 + kGroup * sizeof(T) / 4) return verbatim(x, out, tally);
  note_bound(tally, code_bound(found));
  return words;
}

// Codes of which some exceed 32 bits. Several different exceptions might exceed the room.
std::size_t compress_beyond32(const double* x, const Grid<double>& grid, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) std::int64_t q[kGroup];
  Lanes lanes = {};
  __m512d most = _mm512_setzero_pd();
  std::uint32_t exceptions = 0;
  for (int i = 0; i < kGroup; i += 8) {
    const Nearest8 n = nearest8(x + i, grid);
    _mm512_store_si512(q + i, _mm512_cvtpd_epi64(n.code));
    lanes[i / kBlock] |= static_cast<std::uint32_t>(n.exception) << (i % kBlock);
    exceptions += static_cast<std::uint32_t>(_mm_popcnt_u32(n.exception));
    most = _mm512_max_pd(most, _mm512_abs_pd(n.code));
  }
  constexpr std::uint32_t few = 16;
  if (exceptions > few && !all_alike(x, lanes)) return kDeclined;
  if (exceptions) fill(lanes, q);
  const std::size_t words = encode_wide(predictor_of(choose_order64(q), is_any_negative(q)), q, ahead_of(x), out,
                                        exceptions_of(x, lanes, exceptions, out));
  if (words >= 1 + kGroup * sizeof(double) / 4) return verbatim(x, out, tally);
  note_bound(tally, static_cast<std::uint64_t>(_mm512_reduce_max_pd(most)));
  tally->exceptions += exceptions;
  return words;
}
std::size_t compress_beyond32(const float*, const Grid<float>&, std::uint8_t*, Tally*) noexcept { return kDeclined; }

template <class T>
std::size_t compress_checked(const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) std::int32_t q[kGroup];
  const Quantised found = quantise32(x, grid, q);
  if (found.safe) return compress_unchecked(found, x, grid, q, out, tally);
  Lanes lanes;
  __m512i bits = _mm512_setzero_si512(), most = bits;
  std::uint32_t exceptions = 0;
  for (int b = 0; b < kBlocks; ++b) {
    const Checked c0 = check16(x + 32 * b, grid), c1 = check16(x + 32 * b + 16, grid);
    if (c0.too_wide || c1.too_wide) return compress_beyond32(x, grid, out, tally);
    _mm512_store_si512(q + 32 * b, c0.q);
    _mm512_store_si512(q + 32 * b + 16, c1.q);
    lanes[b] = c0.exception | static_cast<std::uint32_t>(c1.exception) << 16;
    exceptions += static_cast<std::uint32_t>(_mm_popcnt_u32(lanes[b]));
    bits = _mm512_or_si512(bits, _mm512_or_si512(c0.q, c1.q));
    most = _mm512_max_epu32(most, _mm512_max_epu32(_mm512_abs_epi32(c0.q), _mm512_abs_epi32(c1.q)));
  }
  const std::uint32_t bound = _mm512_reduce_max_epu32(most);
  const bool negative = _mm512_movepi32_mask(bits) != 0;
  // A float64 group with more exceptions may exceed the room, unless all are equal.
  if (sizeof(T) == 8 && exceptions > kGroup / 2) {
    const auto others = portable<T>().compress;
    return others ? others(x, grid, out, tally) : kDeclined;
  }
  if (exceptions) fill(lanes, q);
  const auto between = exceptions_of(x, lanes, exceptions, out);
  const Coding orders = orders_for(grid.orders, kGroup, bound, exceptions == 0 || all_alike(x, lanes));
  std::size_t words = 0;
  if (bound <= 8191) {
    Row16 row;
    std::int16_t* const narrow = row.at();
    for (int i = 0; i < kGroup; i += 16)
      _mm256_store_si256(reinterpret_cast<__m256i*>(narrow + i), _mm512_cvtepi32_epi16(_mm512_load_si512(q + i)));
    words = encode(predictor_of(choose_order16(narrow, orders), negative), narrow, ahead_of(x), out, between);
  } else {
    words = encode(predictor_of(choose_order32(q, orders), negative), q, ahead_of(x), out, between);
  }
  if (words >= 1 + kGroup * sizeof(T) / 4) return verbatim(x, out, tally);
  note_bound(tally, bound);
  tally->exceptions += exceptions;
  return words;
}

std::size_t compress_codes64(const std::int64_t* q, PrefetchCursor ahead, std::uint8_t* out, Tally* tally) noexcept {
  __m512i most = _mm512_setzero_si512();
  for (int i = 0; i < kGroup; i += 8) most = _mm512_max_epu64(most, _mm512_abs_epi64(_mm512_loadu_si512(q + i)));
  note_bound(tally, _mm512_reduce_max_epu64(most));
  return encode_wide(predictor_of(choose_order64(q), is_any_negative(q)), q, ahead, out);
}
std::size_t compress_codes64(const std::int32_t* q, PrefetchCursor ahead, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) std::int64_t wide[kGroup];
  for (int i = 0; i < kGroup; i += 16)
    for (int k = 0; k < 16; k += 8)
      _mm512_store_si512(wide + i + k,
                         _mm512_cvtepi32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + i + k))));
  return compress_codes64(wide, ahead, out, tally);
}

template <class T>
std::size_t compress_integers(const T* x, const Grid<T>& grid, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) std::int32_t q[kGroup];
  const Quantised found = quantise32(x, grid, q);
  return found.safe ? compress_unchecked(found, x, grid, q, out, tally) : compress_codes64(x, ahead_of(x), out, tally);
}

std::size_t compress_values64(const double* values, int m, const Grid<double>& grid, std::uint8_t* out,
                              Tally* tally) noexcept {
  alignas(64) std::int64_t q[kGroup];
  __m512d most = _mm512_setzero_pd();
  for (int i = 0; i < kGroup; i += 8) {
    const Nearest8 n = nearest8(values + i, grid);
    if (n.exception) return kDeclined;
    _mm512_store_si512(q + i, _mm512_cvtpd_epi64(n.code));
    most = _mm512_max_pd(most, _mm512_abs_pd(n.code));
  }
  const std::size_t words = encode_wide(settle_part(q, m), q, PrefetchCursor{nullptr, 0}, out);
  if (words > most_words<double>(m)) return kDeclined;
  note_bound(tally, static_cast<std::uint64_t>(_mm512_reduce_max_pd(most)));
  return words;
}
std::size_t compress_values64(const float*, int, const Grid<float>&, std::uint8_t*, Tally*) noexcept {
  return kDeclined;
}

// Declines exceptions, and integers beyond 32 bits.
template <class T>
std::size_t compress_values(const T* values, int m, const Grid<T>& grid, std::uint8_t* out, Tally* tally) noexcept {
  alignas(64) std::int32_t q[kGroup];
  const Quantised found = quantise32(values, grid, q);
  if (found.safe) return encode_part<T>(q, m, code_bound(found), out, tally);
  if constexpr (std::is_integral_v<T>) {
    return kDeclined;
  } else {
    __m512i most = _mm512_setzero_si512();
    for (int i = 0; i < kGroup; i += 16) {
      const Checked c = check16(values + i, grid);
      if (c.exception) return kDeclined;
      if (c.too_wide) return compress_values64(values, m, grid, out, tally);
      _mm512_store_si512(q + i, c.q);
      most = _mm512_max_epu32(most, _mm512_abs_epi32(c.q));
    }
    return encode_part<T>(q, m, _mm512_reduce_max_epu32(most), out, tally);
  }
}

}  // namespace

std::size_t compress_wide_part(const float* values, int m, const Grid<float>& grid, std::uint8_t* out,
                               Tally* tally) noexcept {
  return compress_values(values, m, grid, out, tally);
}
std::size_t compress_wide_part(const double* values, int m, const Grid<double>& grid, std::uint8_t* out,
                               Tally* tally) noexcept {
  return compress_values(values, m, grid, out, tally);
}
std::size_t compress_wide_part(const std::int32_t* values, int m, const Grid<std::int32_t>& grid, std::uint8_t* out,
                               Tally* tally) noexcept {
  return compress_values(values, m, grid, out, tally);
}
std::size_t compress_wide_part(const std::int64_t* values, int m, const Grid<std::int64_t>& grid, std::uint8_t* out,
                               Tally* tally) noexcept {
  return compress_values(values, m, grid, out, tally);
}

std::size_t compress_wide(const float* x, const Grid<float>& grid, std::uint8_t* out, Tally* tally) noexcept {
  return compress_checked(x, grid, out, tally);
}
std::size_t compress_wide(const double* x, const Grid<double>& grid, std::uint8_t* out, Tally* tally) noexcept {
  return compress_checked(x, grid, out, tally);
}
std::size_t compress_wide(const std::int32_t* x, const Grid<std::int32_t>& grid, std::uint8_t* out,
                          Tally* tally) noexcept {
  return compress_integers(x, grid, out, tally);
}
std::size_t compress_wide(const std::int64_t* x, const Grid<std::int64_t>& grid, std::uint8_t* out,
                          Tally* tally) noexcept {
  return compress_integers(x, grid, out, tally);
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
