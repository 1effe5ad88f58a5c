#include "stack/quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stretto::stacking {
namespace {

double value(stretto_type type, const void* data, std::size_t i) {
  return type == STRETTO_F64 ? static_cast<const double*>(data)[i]
                             : static_cast<double>(static_cast<const float*>(data)[i]);
}

// Half a unit in the last place of a number of size 1.
double unit_roundoff(stretto_type type) { return type == STRETTO_F64 ? 0x1p-53 : 0x1p-24; }

double largest_value(stretto_type type) {
  return type == STRETTO_F64 ? std::numeric_limits<double>::max()
                             : static_cast<double>(std::numeric_limits<float>::max());
}

// True if the images are finite at a pixel, and so is the sum of their magnitudes.
bool known(const Reference& ref, std::size_t i) { return ref.finite[i] != 0 && std::isfinite(ref.magnitude[i]); }

// The larger of two; NaN is sticky.
void raise(double* worst, double v) {
  if (v > *worst || std::isnan(v)) *worst = v;
}

double promised(stretto_type type, const Reference& ref, std::size_t i, const Promise& promise) {
  // A value near the type's smallest is rounded to a multiple of it, whatever its size.
  const double smallest = type == STRETTO_F64 ? std::numeric_limits<double>::denorm_min()
                                              : static_cast<double>(std::numeric_limits<float>::denorm_min());
  const double size = ref.magnitude[i] + promise.bound;
  return promise.bound + promise.roundings * (unit_roundoff(type) * size + smallest) + ref.terms * 0x1p-53 * size;
}

// True if `got`, which is not finite, is legitimate: the sum is beyond the type's range, or too near its largest value.
bool overflows(stretto_type type, const Reference& ref, std::size_t i, const Promise& promise, double got) {
  const double most = largest_value(type) - promised(type, ref, i, promise);
  if (promise.partial_sums && ref.magnitude[i] > most) return true;
  return std::abs(ref.sum[i]) > most && got == std::copysign(std::numeric_limits<double>::infinity(), ref.sum[i]);
}

}  // namespace

bool is_fill(const Reference& ref, std::size_t i) { return ref.magnitude[i] >= ref.fills_from; }

void add_to_reference(stretto_type type, const void* images, std::uint64_t count, std::size_t pixels, Reference* ref) {
  ref->sum.resize(pixels);
  ref->magnitude.resize(pixels);
  ref->finite.resize(pixels, 1);
  ref->terms += static_cast<double>(count);
  for (std::uint64_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < pixels; ++i) {
      const double v = value(type, images, k * pixels + i);
      if (!std::isfinite(v)) {
        ref->finite[i] = 0;
        continue;
      }
      ref->sum[i] += v;
      ref->magnitude[i] += std::abs(v);
    }
  }
}

Quality compare(stretto_type type, const void* result, const Reference& ref, const Promise& promise) {
  Quality q;
  q.excess = -std::numeric_limits<double>::infinity();
  double lo = std::numeric_limits<double>::infinity();
  double hi = -lo;
  double squares = 0;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < ref.sum.size(); ++i) {
    if (!known(ref, i)) continue;
    const double got = value(type, result, i);
    if (!std::isfinite(got) && overflows(type, ref, i, promise, got)) {
      ++q.overflowed;
      continue;
    }
    const double error = std::abs(got - ref.sum[i]);
    raise(&q.excess, error - promised(type, ref, i, promise));
    if (is_fill(ref, i)) continue;
    lo = std::min(lo, ref.sum[i]);
    hi = std::max(hi, ref.sum[i]);
    ++compared;
    squares += error * error;
    raise(&q.worst, error);
  }
  const double rms = compared == 0 ? 0 : std::sqrt(squares / static_cast<double>(compared));
  q.psnr = rms == 0 ? std::numeric_limits<double>::infinity() : 20 * std::log10((hi - lo) / rms);
  return q;
}

std::vector<float> error_map(stretto_type type, const void* result, const Reference& ref) {
  std::vector<float> out(ref.sum.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double got = value(type, result, i);
    if (known(ref, i) && !is_fill(ref, i) && std::isfinite(got)) out[i] = static_cast<float>(got - ref.sum[i]);
  }
  return out;
}

double largest_promise(stretto_type type, const Reference& ref, const Promise& promise) {
  double largest = promise.bound;
  for (std::size_t i = 0; i < ref.sum.size(); ++i) {
    if (!known(ref, i) || is_fill(ref, i) || std::abs(ref.sum[i]) > largest_value(type)) continue;
    largest = std::max(largest, promised(type, ref, i, promise));
  }
  return largest;
}

}  // namespace stretto::stacking
