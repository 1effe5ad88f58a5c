#include <algorithm>
#include <bit>
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
    if (const auto& k = float_kernels<T>(kernels); k.range) {
      T lo = 0, hi = 0;
      k.range(x, n, &lo, &hi);
      if (lo <= hi) range->merge({static_cast<double>(lo), static_cast<double>(hi)});
      return;
    }
  }
  widen(x, n, range);
}

// Writes values below `above` to out, with NaN, which ranges ignore, for all others. *ignored counts the finite ones.
// Float magnitudes order as their bits, so the loop vectorises. Returns the number of values at out.
template <std::floating_point T>
std::size_t keep_below(const T* x, int m, double above, T* out, std::uint64_t* ignored) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const auto threshold = std::bit_cast<Bits>(least_reaching<T>(above)), infinite = std::bit_cast<Bits>(infinity),
             nan = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  Bits reached = 0;
  for (int i = 0; i < m; ++i) {
    const Bits bits = element(reinterpret_cast<const Bits*>(x), i);
    const Bits magnitude = bits & std::numeric_limits<Bits>::max();
    reached += (magnitude >= threshold) & (magnitude < infinite);
    out[i] = std::bit_cast<T>(magnitude >= threshold ? nan : bits);
  }
  *ignored += static_cast<std::uint64_t>(reached);
  return static_cast<std::size_t>(m);
}

// Packs the values without gaps. Integer magnitudes reach 2^63.
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

// Calls f(values, count, room) for each group, in the stored type.
template <class T, class F>
void each_group(Type t, const void* x, std::uint64_t begin, std::uint64_t end, const F& f) noexcept {
  T widened[kGroup], room[kGroup];
  for (std::uint64_t at = begin; at < end; at += kGroup) {
    const int m = static_cast<int>(std::min<std::uint64_t>(kGroup, end - at));
    f(group_values<T>(t, x, at, m, widened), m, room);
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
                      each_group<T>(t, x, begin, end, [&](const T* v, int m, T*) {
                        widen(v, static_cast<std::size_t>(m), kernels, &found->all);
                      });
                  });
                })
      .all;
}

template <std::floating_point T>
Ranges ranges_without_marks(Type t, const void* x, std::size_t count, double ignore_above, const Kernels& kernels,
                            const Options& options) noexcept {
  const Marks<T> marks(t, Grid<T>{}, options);
  return merged(count, options.parallel, [&](std::uint64_t begin, std::uint64_t end, Ranges* found) {
    each_group<T>(t, x, begin, end, [&](const T* v, int m, T* kept) {
      const T* data = marks.without(v, m, kept, kernels);
      Interval of;
      widen(data, static_cast<std::size_t>(m), kernels, &of);
      found->all.merge(of);
      if (-of.lo < ignore_above && of.hi < ignore_above)
        found->below.merge(of);
      else
        widen(kept, keep_below(data, m, ignore_above, kept, &found->ignored), kernels, &found->below);
    });
  });
}

bool has_marks(Type t, const Options& options) noexcept {
  return !options.marks.empty() && t != Type::i32 && t != Type::i64;
}

Ranges ranges_with(Type t, const void* x, std::size_t count, double ignore_above, const Kernels& kernels,
                   const Options& options) noexcept {
  return t == Type::f64 ? ranges_without_marks<double>(t, x, count, ignore_above, kernels, options)
                        : ranges_without_marks<float>(t, x, count, ignore_above, kernels, options);
}

Ranges ranges_below(Type t, const void* x, std::size_t count, double ignore_above, const Kernels& kernels,
                    const Parallel* parallel) noexcept {
  return merged(count, parallel, [&](std::uint64_t begin, std::uint64_t end, Ranges* found) {
    with_stored_type(t, [&](auto* tag) {
      using T = std::remove_pointer_t<decltype(tag)>;
      each_group<T>(t, x, begin, end, [&](const T* v, int m, T* kept) {
        widen(kept, keep_below(v, m, ignore_above, kept, &found->ignored), kernels, &found->below);
      });
    });
  });
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
  const Interval all = has_marks(t, options)
                           ? ranges_with(t, x, count, std::numeric_limits<double>::infinity(), *kernels, options).all
                           : finite_range(t, x, count, *kernels, options.parallel);
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
  if (has_marks(t, options)) {
    *ranges = ranges_with(t, x, count, ignore_above, *kernels, options);
    return Status::ok;
  }
  const Interval all = finite_range(t, x, count, *kernels, options.parallel);
  *ranges = {all, all, 0};
  if (all.empty() || std::max(all.hi, -all.lo) < ignore_above) return Status::ok;
  *ranges = ranges_below(t, x, count, ignore_above, *kernels, options.parallel);
  ranges->all = all;
  return Status::ok;
}

double fraction_of(const Interval& range, double fraction) noexcept {
  const FloatEnvironment environment;
  if (range.empty()) return 0;
  const double width = range.hi - range.lo;
  return std::isfinite(width) ? fraction * width : fraction * range.hi - fraction * range.lo;
}

}  // namespace stretto::codec
