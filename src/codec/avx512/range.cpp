#include <bit>
#include <limits>

#include "codec/avx512/kernels.hpp"
#include "codec/avx512/ranges.hpp"
#include "codec/avx512/target.hpp"

namespace stretto::codec::avx512 {

STRETTO_AVX512_BEGIN

void range_f32(const float* x, std::size_t n, float* lo, float* hi) noexcept {
  const __m512 most = _mm512_set1_ps(std::numeric_limits<float>::max());
  const __m512 inf = _mm512_set1_ps(std::numeric_limits<float>::infinity());
  __m512 low = inf, high = _mm512_sub_ps(_mm512_setzero_ps(), inf);
  for (std::size_t i = 0; i < n; i += 16) {
    const auto here = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
    const __m512 v = _mm512_maskz_loadu_ps(here, x + i);
    const __mmask16 finite = _mm512_mask_cmp_ps_mask(here, _mm512_abs_ps(v), most, _CMP_LE_OQ);
    low = _mm512_mask_min_ps(low, finite, low, v);
    high = _mm512_mask_max_ps(high, finite, high, v);
  }
  *lo = _mm512_reduce_min_ps(low);
  *hi = _mm512_reduce_max_ps(high);
}

void range_f64(const double* x, std::size_t n, double* lo, double* hi) noexcept {
  const __m512d most = _mm512_set1_pd(std::numeric_limits<double>::max());
  const __m512d inf = _mm512_set1_pd(std::numeric_limits<double>::infinity());
  __m512d low = inf, high = _mm512_sub_pd(_mm512_setzero_pd(), inf);
  for (std::size_t i = 0; i < n; i += 8) {
    const auto here = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512d v = _mm512_maskz_loadu_pd(here, x + i);
    const __mmask8 finite = _mm512_mask_cmp_pd_mask(here, _mm512_abs_pd(v), most, _CMP_LE_OQ);
    low = _mm512_mask_min_pd(low, finite, low, v);
    high = _mm512_mask_max_pd(high, finite, high, v);
  }
  *lo = _mm512_reduce_min_pd(low);
  *hi = _mm512_reduce_max_pd(high);
}

void ranges_f32(const float* x, std::size_t n, const MarkSet<float>& marks, PartRanges<float>* found) noexcept {
  const __m512 most = _mm512_set1_ps(std::numeric_limits<float>::max()), least = _mm512_set1_ps(marks.least);
  const __m512 inf = _mm512_set1_ps(std::numeric_limits<float>::infinity()),
               minus = _mm512_sub_ps(_mm512_setzero_ps(), inf);
  __m512 low = inf, high = minus, below_low = inf, below_high = minus;
  unsigned long long ignored = 0;
  for (std::size_t i = 0; i < n; i += 16) {
    const auto here = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
    const __m512 v = _mm512_maskz_loadu_ps(here, x + i), magnitude = _mm512_abs_ps(v);
    __mmask16 taken = _mm512_mask_cmp_ps_mask(here, magnitude, most, _CMP_LE_OQ);
    for (int k = 0; k < marks.count; ++k)
      taken = _mm512_mask_cmp_ps_mask(taken, v, _mm512_set1_ps(marks.mark[k]), _CMP_NEQ_OQ);
    const __mmask16 below = _mm512_mask_cmp_ps_mask(taken, magnitude, least, _CMP_LT_OQ);
    low = _mm512_mask_min_ps(low, taken, low, v);
    high = _mm512_mask_max_ps(high, taken, high, v);
    below_low = _mm512_mask_min_ps(below_low, below, below_low, v);
    below_high = _mm512_mask_max_ps(below_high, below, below_high, v);
    ignored += static_cast<unsigned>(std::popcount(static_cast<unsigned>(taken ^ below)));
  }
  *found = {_mm512_reduce_min_ps(low), _mm512_reduce_max_ps(high), _mm512_reduce_min_ps(below_low),
            _mm512_reduce_max_ps(below_high), ignored};
}

void ranges_f64(const double* x, std::size_t n, const MarkSet<double>& marks, PartRanges<double>* found) noexcept {
  const __m512d most = _mm512_set1_pd(std::numeric_limits<double>::max()), least = _mm512_set1_pd(marks.least);
  const __m512d inf = _mm512_set1_pd(std::numeric_limits<double>::infinity()),
                minus = _mm512_sub_pd(_mm512_setzero_pd(), inf);
  __m512d low = inf, high = minus, below_low = inf, below_high = minus;
  unsigned long long ignored = 0;
  for (std::size_t i = 0; i < n; i += 8) {
    const auto here = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512d v = _mm512_maskz_loadu_pd(here, x + i), magnitude = _mm512_abs_pd(v);
    __mmask8 taken = _mm512_mask_cmp_pd_mask(here, magnitude, most, _CMP_LE_OQ);
    for (int k = 0; k < marks.count; ++k)
      taken = _mm512_mask_cmp_pd_mask(taken, v, _mm512_set1_pd(marks.mark[k]), _CMP_NEQ_OQ);
    const __mmask8 below = _mm512_mask_cmp_pd_mask(taken, magnitude, least, _CMP_LT_OQ);
    low = _mm512_mask_min_pd(low, taken, low, v);
    high = _mm512_mask_max_pd(high, taken, high, v);
    below_low = _mm512_mask_min_pd(below_low, below, below_low, v);
    below_high = _mm512_mask_max_pd(below_high, below, below_high, v);
    ignored += static_cast<unsigned>(std::popcount(static_cast<unsigned>(taken ^ below)));
  }
  *found = {_mm512_reduce_min_pd(low), _mm512_reduce_max_pd(high), _mm512_reduce_min_pd(below_low),
            _mm512_reduce_max_pd(below_high), ignored};
}

STRETTO_AVX512_END

}  // namespace stretto::codec::avx512
