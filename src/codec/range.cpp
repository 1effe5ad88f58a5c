// The range of values, and the part of it that relative bounds are a fraction of.
#include <algorithm>
#include <cmath>
#include <limits>

#include "codec/driver.hpp"
#include "codec/values.hpp"

namespace stretto::codec {
namespace {

template <class T>
void widen(const T* x, std::size_t n, Interval* range) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const auto v = static_cast<double>(element(x, i));
    if (!std::isfinite(v)) continue;
    range->lo = std::min(range->lo, v);
    range->hi = std::max(range->hi, v);
  }
}

template <class T>
void widen(const T* x, std::size_t n, const Kernels& kernels, Interval* range) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    if (const auto& k = float_kernels<T>(kernels); k.range) {
      T lo = 0, hi = 0;
      k.range(x, n, &lo, &hi);
      if (lo <= hi) range->merge({static_cast<double>(lo), static_cast<double>(hi)});
      return;
    }
  }
  widen(x, n, range);
}

// The near ones of m <= kGroup values at x, at out, or the magnitudes of the far ones; how many these are. Of floats all m are there, in the others'
// places NaN, which no range takes: so the compiler makes vectors of it.
template <bool kNear, class T>
std::size_t keep(const T* x, int m, T* out) noexcept {
  std::size_t kept = 0;
  for (int i = 0; i < m; ++i) {
    const T v = element(x, static_cast<std::size_t>(i));
    if constexpr (std::is_floating_point_v<T>) {
      const T magnitude = std::fabs(v);
      out[i] =
          (magnitude < static_cast<T>(kFar)) == kNear ? (kNear ? v : magnitude) : std::numeric_limits<T>::quiet_NaN();
    } else if ((std::fabs(static_cast<double>(v)) < kFar) == kNear) {
      out[kept++] = kNear || v >= 0                      ? v
                    : v == std::numeric_limits<T>::min() ? std::numeric_limits<T>::max()
                                                         : static_cast<T>(-v);
    }
  }
  return std::is_floating_point_v<T> ? static_cast<std::size_t>(m) : kept;
}

enum class Which { finite, near_and_far };

Spread spread_of(Type t, const void* x, std::size_t count, Which which, const Kernels& kernels,
                 const Parallel* parallel) noexcept {
  struct alignas(64) Own {
    Spread spread;
  } own[kMaxParts];
  const std::uint64_t groups = groups_of(count);
  const int parts = parts_of(groups, parallel);
  auto part = [&](int i, std::uint64_t first, std::uint64_t last) {
    const FloatEnvironment here;
    Spread& found = own[i].spread;
    const std::uint64_t begin = first * kGroup, end = std::min<std::uint64_t>(last * kGroup, count);
    with_stored_type(t, [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      if (which == Which::finite && stored_type(t) == t) {
        widen(static_cast<const T*>(x) + begin, static_cast<std::size_t>(end - begin), kernels, &found.all);
        return;
      }
      T widened[kGroup], kept[kGroup];
      Interval far;
      for (std::uint64_t at = begin; at < end; at += kGroup) {
        const int m = static_cast<int>(std::min<std::uint64_t>(kGroup, end - at));
        const T* v = group_values<T>(t, x, at, m, widened);
        if (which == Which::finite) {
          widen(v, static_cast<std::size_t>(m), kernels, &found.all);
        } else {
          widen(kept, keep<true>(v, m, kept), kernels, &found.near);
          widen(kept, keep<false>(v, m, kept), kernels, &far);
        }
      }
      found.far = far.lo;
    });
  };
  run_parts(groups, parts, parallel, part);
  Spread total;
  for (int i = 0; i < parts; ++i) total.merge(own[i].spread);
  return total;
}

Status check(const char* what, Type t, const void* x, std::size_t count, const Options& options,
             const Kernels** kernels) noexcept {
  if (size_of(t) == 0) return fail(Status::invalid_argument, "{}: {} is no type", what, static_cast<int>(t));
  if (!x && count) return fail(Status::invalid_argument, "{}: x is null with count {}", what, count);
  *kernels = chosen_kernels(options);
  return *kernels ? Status::ok : Status::unsupported;
}

bool reaches_far(const Interval& range) noexcept { return range.hi >= kFar || range.lo <= -kFar; }

}  // namespace

Status value_range(Type t, const void* x, std::size_t count, double* lo, double* hi, const Options& options) noexcept {
  if (!lo || !hi) return fail(Status::invalid_argument, "value_range: lo or hi is null");
  const Kernels* kernels = nullptr;
  if (const Status s = check("value_range", t, x, count, options, &kernels); s != Status::ok) return s;
  const FloatEnvironment environment;
  const Interval all = spread_of(t, x, count, Which::finite, *kernels, options.parallel).all;
  *lo = all.lo;
  *hi = all.hi;
  return Status::ok;
}

Status value_spread(Type t, const void* x, std::size_t count, Spread* spread, const Options& options) noexcept {
  if (!spread) return fail(Status::invalid_argument, "value_spread: spread is null");
  const Kernels* kernels = nullptr;
  if (const Status s = check("value_spread", t, x, count, options, &kernels); s != Status::ok) return s;
  const FloatEnvironment environment;
  const Interval all = spread_of(t, x, count, Which::finite, *kernels, options.parallel).all;
  *spread = {all, all};
  if (!reaches_far(all)) return Status::ok;
  *spread = spread_of(t, x, count, Which::near_and_far, *kernels, options.parallel);
  spread->all = all;
  return Status::ok;
}

Interval bounded_range(const Spread& s) noexcept {
  const FloatEnvironment environment;
  if (s.near.empty() || !reaches_far(s.all)) return s.all;
  if (std::max(s.all.hi, -s.all.lo) / kMarksAlike > s.far) return s.all;
  // Of halves: that of all may be no double.
  const double near = s.near.hi / 2 - s.near.lo / 2, all = s.all.hi / 2 - s.all.lo / 2;
  return near < 1e-6 * all ? s.near : s.all;
}

double fraction_of(const Interval& range, double fraction) noexcept {
  const FloatEnvironment environment;
  if (range.empty()) return 0;
  const double width = range.hi - range.lo;
  return std::isfinite(width) ? fraction * width : fraction * range.hi - fraction * range.lo;
}

}  // namespace stretto::codec
