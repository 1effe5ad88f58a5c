#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "codec/driver.hpp"
#include "codec/marks.hpp"
#include "codec/numbers/values.hpp"

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
    if (const auto& k = value_kernels<T>(kernels); k.range) {
      T lo = 0, hi = 0;
      k.range(x, n, &lo, &hi);
      if (lo <= hi) range->merge({static_cast<double>(lo), static_cast<double>(hi)});
      return;
    }
  }
  widen(x, n, range);
}

template <std::floating_point T>
PartRanges<T> ranges_beside(const T* x, std::size_t n, const MarkSet<T>& marks, const Kernels& kernels) noexcept {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  PartRanges<T> found{infinity, -infinity, infinity, -infinity, 0};
  if (const auto fast = value_kernels<T>(kernels).ranges) {
    fast(x, n, marks, &found);
    return found;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const T v = element(x, i);
    if (!std::isfinite(v) || std::find(marks.mark, marks.mark + marks.count, v) != marks.mark + marks.count) continue;
    found.lo = std::min(found.lo, v);
    found.hi = std::max(found.hi, v);
    if (std::fabs(v) >= marks.least) {
      ++found.ignored;
      continue;
    }
    found.below_lo = std::min(found.below_lo, v);
    found.below_hi = std::max(found.below_hi, v);
  }
  return found;
}

// False if no finite value of this range is a mark or reaches marks.least.
template <class T>
bool may_leave_out(const Interval& range, const MarkSet<T>& marks) noexcept {
  if (std::max(range.hi, -range.lo) >= static_cast<double>(marks.least)) return true;
  return std::any_of(marks.mark, marks.mark + marks.count, [&range](T mark) {
    return static_cast<double>(mark) >= range.lo && static_cast<double>(mark) <= range.hi;
  });
}

// The plain range often excludes marks altogether.
template <std::floating_point T>
void widen(const T* x, std::size_t n, const MarkSet<T>& marks, const Kernels& kernels, Ranges* ranges) noexcept {
  Interval all;
  widen(x, n, kernels, &all);
  if (!may_leave_out(all, marks)) {
    ranges->all.merge(all);
    ranges->below.merge(all);
    return;
  }
  const auto interval = [](T lo, T hi) {
    return lo <= hi ? Interval{static_cast<double>(lo), static_cast<double>(hi)} : Interval{};
  };
  const PartRanges<T> found = ranges_beside(x, n, marks, kernels);
  ranges->all.merge(interval(found.lo, found.hi));
  ranges->below.merge(interval(found.below_lo, found.below_hi));
  ranges->ignored += found.ignored;
}

// Packs the values below `above` at out, counts the others in *ignored. m <= kGroup. Magnitudes of integers reach 2^63.
template <std::signed_integral T>
std::size_t keep_below(const T* x, int m, double above, T* out, std::uint64_t* ignored) noexcept {
  const std::uint64_t threshold =
      above > 0x1p63 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(std::ceil(above));
  std::size_t kept = 0;
  for (int i = 0; i < m; ++i) {
    const T v = element(x, i);
    const auto bits = static_cast<std::uint64_t>(v);
    if ((v < 0 ? 0 - bits : bits) < threshold) out[kept++] = v;
  }
  *ignored += static_cast<std::uint64_t>(m) - kept;
  return kept;
}

template <class Part>
Ranges merged(std::size_t count, const Parallel* parallel, const Part& of_part) noexcept {
  struct alignas(64) Own {
    Ranges ranges;
  } own[kMaxParts];
  const std::uint64_t groups = groups_of(count);
  const int parts = parts_of(groups, parallel);
  auto part = [&](int i, std::uint64_t first, std::uint64_t last) {
    const FloatEnvironment here;
    of_part(first * kGroup, std::min<std::uint64_t>(last * kGroup, count), &own[i].ranges);
  };
  run_parts(groups, parts, parallel, part);
  Ranges total;
  for (int i = 0; i < parts; ++i) total.merge(own[i].ranges);
  return total;
}

// Calls f(values, count) for parts that fit the nearest cache, in the stored type.
template <class T, class F>
void each_part(Type t, const void* x, std::uint64_t begin, std::uint64_t end, const F& f) noexcept {
  T widened[kGroup];
  const std::uint64_t step = stored_type(t) == t ? 4 * kGroup : kGroup;
  for (std::uint64_t at = begin; at < end; at += step) {
    const int m = static_cast<int>(std::min<std::uint64_t>(step, end - at));
    f(group_values<T>(t, x, at, m, widened), m);
  }
}

Interval finite_range(Type t, const void* x, std::size_t count, const Kernels& kernels,
                      const Parallel* parallel) noexcept {
  return merged(count, parallel,
                [&](std::uint64_t begin, std::uint64_t end, Ranges* found) {
                  with_stored_type(t, [&](auto* tag) {
                    using T = std::remove_pointer_t<decltype(tag)>;
                    if (stored_type(t) == t)
                      widen(static_cast<const T*>(x) + begin, static_cast<std::size_t>(end - begin), kernels,
                            &found->all);
                    else
                      each_part<T>(t, x, begin, end, [&](const T* v, int m) {
                        widen(v, static_cast<std::size_t>(m), kernels, &found->all);
                      });
                  });
                })
      .all;
}

template <std::floating_point T>
Ranges ranges_of_floats(Type t, const void* x, std::size_t count, double ignore_above, const Kernels& kernels,
                        const Options& options) noexcept {
  const MarkSet<T> marks = marks_of<T>(t, options, ignore_above);
  return merged(count, options.parallel, [&](std::uint64_t begin, std::uint64_t end, Ranges* found) {
    each_part<T>(t, x, begin, end,
                 [&](const T* v, int m) { widen(v, static_cast<std::size_t>(m), marks, kernels, found); });
  });
}

template <std::signed_integral T>
Ranges ranges_of_integers(Type t, const void* x, std::size_t count, double ignore_above, const Kernels& kernels,
                          const Parallel* parallel) noexcept {
  return merged(count, parallel, [&](std::uint64_t begin, std::uint64_t end, Ranges* found) {
    T kept[4 * kGroup];
    each_part<T>(t, x, begin, end, [&](const T* v, int m) {
      widen(kept, keep_below(v, m, ignore_above, kept, &found->ignored), kernels, &found->below);
    });
  });
}

Ranges ranges_with(Type t, const void* x, std::size_t count, double ignore_above, const Kernels& kernels,
                   const Options& options) noexcept {
  if (t == Type::f64) return ranges_of_floats<double>(t, x, count, ignore_above, kernels, options);
  if (t != Type::i32 && t != Type::i64) return ranges_of_floats<float>(t, x, count, ignore_above, kernels, options);
  const Interval all = finite_range(t, x, count, kernels, options.parallel);
  if (all.empty() || std::max(all.hi, -all.lo) < ignore_above) return {all, all, 0};
  Ranges found = t == Type::i32
                     ? ranges_of_integers<std::int32_t>(t, x, count, ignore_above, kernels, options.parallel)
                     : ranges_of_integers<std::int64_t>(t, x, count, ignore_above, kernels, options.parallel);
  found.all = all;
  return found;
}

Status check(const char* what, Type t, const void* x, std::size_t count, const Options& options,
             const Kernels** kernels) noexcept {
  if (size_of(t) == 0) return fail(Status::invalid_argument, "{}: {} is no type", what, static_cast<int>(t));
  if (!x && count) return fail(Status::invalid_argument, "{}: x is null with count {}", what, count);
  if (options.marks.size() > kMaxMarks)
    return fail(Status::invalid_argument, "{}: {} marks; at most {}", what, options.marks.size(), kMaxMarks);
  *kernels = chosen_kernels(options);
  return *kernels ? Status::ok : Status::unsupported;
}

}  // namespace

Status value_range(Type t, const void* x, std::size_t count, double* lo, double* hi, const Options& options) noexcept {
  if (!lo || !hi) return fail(Status::invalid_argument, "value_range: lo or hi is null");
  const Kernels* kernels = nullptr;
  if (const Status s = check("value_range", t, x, count, options, &kernels); s != Status::ok) return s;
  const FloatEnvironment environment;
  const Interval all = options.marks.empty()
                           ? finite_range(t, x, count, *kernels, options.parallel)
                           : ranges_with(t, x, count, std::numeric_limits<double>::infinity(), *kernels, options).all;
  *lo = all.lo;
  *hi = all.hi;
  return Status::ok;
}

Status value_ranges(Type t, const void* x, std::size_t count, double ignore_above, Ranges* ranges,
                    const Options& options) noexcept {
  if (!ranges) return fail(Status::invalid_argument, "value_ranges: ranges is null");
  const FloatEnvironment environment;
  if (!(ignore_above > 0))
    return fail(Status::invalid_argument, "value_ranges: ignore_above {} is not positive", ignore_above);
  const Kernels* kernels = nullptr;
  if (const Status s = check("value_ranges", t, x, count, options, &kernels); s != Status::ok) return s;
  *ranges = ranges_with(t, x, count, ignore_above, *kernels, options);
  return Status::ok;
}

double fraction_of(const Interval& range, double fraction) noexcept {
  const FloatEnvironment environment;
  if (range.empty()) return 0;
  const double width = range.hi - range.lo;
  return std::isfinite(width) ? fraction * width : fraction * range.hi - fraction * range.lo;
}

}  // namespace stretto::codec
