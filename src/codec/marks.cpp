#include "codec/marks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "codec/kernels.hpp"
#include "codec/numbers/half.hpp"
#include "codec/numbers/quantise.hpp"
#include "codec/stream/group.hpp"

namespace stretto::codec {
namespace {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
constexpr BitsOf<T> placeholder_bits() noexcept {
  if constexpr (sizeof(T) == 4)
    return 0x7fd5a3c9;
  else
    return 0x7ffd5a3c96c3a5d3;
}

template <class T>
T rounded_to(Type t, T y) noexcept {
  if constexpr (sizeof(T) == 4) {
    if (t == Type::f16) return widen_f16(round_f16(y));
    if (t == Type::bf16) return widen_bf16(round_bf16(y));
  }
  return y;
}

}  // namespace

template <class T>
T least_reaching(double above) noexcept {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (above > static_cast<double>(std::numeric_limits<T>::max())) return infinity;
  const T least = static_cast<T>(above);
  return static_cast<double>(least) < above ? std::nextafter(least, infinity) : least;
}

template <class T>
MarkSet<T> marks_of(Type t, const Options& options, double keep_from) noexcept {
  MarkSet<T> set;
  if (std::isfinite(keep_from)) set.least = least_reaching<T>(keep_from);
  for (const double told : options.marks) {
    const T mark = rounded_to(t, static_cast<T>(told));
    if (std::isfinite(mark) && set.count < kMaxMarks) set.mark[set.count++] = mark;
  }
  std::fill_n(set.reach, set.count, T{-1});
  return set;
}

// x has no code, and no code decodes to it: codes are below 2^31 for float32, 2^51 for float64.
template <class T>
bool lies_beyond_codes(T x, const Grid<T>& grid) noexcept {
  return std::fabs(static_cast<double>(x)) >= grid.width * (sizeof(T) == 4 ? 0x1p33 : 0x1p53);
}

template <class T>
Marks<T>::Marks(Type t, const Grid<T>& grid, const Options& options) noexcept
    : type_(t), set_(marks_of<T>(t, options, options.keep_from)) {
  // Values beyond the codes are kept in any case.
  if (lies_beyond_codes(set_.least, grid)) set_.least = kInfinite;
  int near = 0;
  for (int k = 0; k < set_.count; ++k)
    if (!lies_beyond_codes(set_.mark[k], grid)) set_.mark[near++] = set_.mark[k];
  set_.count = near;
  for (int k = 0; k < set_.count; ++k) {
    const T mark = set_.mark[k];
    // At most the two nearest codes of a decoded float32 or float64 equal the mark: wherever another value may decode
    // to it, a code's step is at least the distance of neighbouring numbers. In a half many codes may decode to it.
    const bool half = stored_type(t) != t;
    std::int64_t q = 0;
    bool reached = half || !nearest_code(mark, grid, &q);
    if (!reached)
      for (std::int64_t near = q - 2; near <= q + 2; ++near) reached = reached || dequantise(near, grid) == mark;
    const T eps = static_cast<T>(grid.eps);
    if (reached) set_.reach[k] = eps + eps / 64 + (half ? std::fabs(mark) / 64 + static_cast<T>(0x1p-23) : 0);
  }
}

template <class T>
bool Marks<T>::keeps(T x) const noexcept {
  if (std::fabs(x) >= set_.least && std::isfinite(x)) return true;
  return is_mark(x);
}

template <class T>
bool Marks<T>::is_mark(T y) const noexcept {
  const T seen = rounded_to(type_, y);
  return std::any_of(set_.mark, set_.mark + set_.count, [seen](T mark) { return seen == mark; });
}

template <class T>
T Marks<T>::placeholder() noexcept {
  return std::bit_cast<T>(placeholder_bits<T>());
}

template <class T>
KeptValues Marks<T>::survey(const T* x, int m, T* out, T* kept, const Kernels& kernels) const noexcept {
  const auto fast = value_kernels<T>(kernels).survey;
  return fast && m == kGroup ? fast(x, set_, out, kept) : survey(x, m, out, kept);
}

template <class T>
KeptValues Marks<T>::survey(const T* x, int m, T* out, T* kept) const noexcept {
  using Bits = BitsOf<T>;
  constexpr Bits magnitude = std::numeric_limits<Bits>::max() >> 1, infinity = std::bit_cast<Bits>(kInfinite);
  const Bits least = std::bit_cast<Bits>(set_.least);
  Bits is_kept[kGroup] = {};
  int near = 0;
  for (int i = 0; i < m; ++i) {
    const Bits bits = std::bit_cast<Bits>(element(x, i)) & magnitude;
    is_kept[i] = static_cast<Bits>((bits >= least) & (bits < infinity));
  }
  for (int k = 0; k < set_.count; ++k) {
    const T mark = set_.mark[k], reach = set_.reach[k];
    for (int i = 0; i < m; ++i) {
      const T v = element(x, i);
      is_kept[i] |= static_cast<Bits>(v == mark);
      near += static_cast<int>(std::fabs(v - mark) <= reach) & static_cast<int>(v != mark);
    }
  }
  if (near != 0) return KeptValues::several;
  Bits kept_count = 0;
  for (int i = 0; i < m; ++i) kept_count += is_kept[i];
  if (kept_count == 0) return KeptValues::none;
  const int first = static_cast<int>(std::find(is_kept, is_kept + m, Bits{1}) - is_kept);
  const Bits value = std::bit_cast<Bits>(element(x, first));
  int others = 0;
  for (int i = 0; i < m; ++i) {
    const Bits bits = std::bit_cast<Bits>(element(x, i));
    others += static_cast<int>((is_kept[i] != 0) & (bits != value)) | static_cast<int>(bits == placeholder_bits<T>());
    out[i] = std::bit_cast<T>(is_kept[i] != 0 ? placeholder_bits<T>() : bits);
  }
  if (others != 0) return KeptValues::several;
  *kept = std::bit_cast<T>(value);
  return KeptValues::one;
}

template <class T>
void replace_placeholder(std::uint8_t* group, std::size_t words, int m, T kept) noexcept {
  GroupView g;
  if (words == 0 || !parse_group(group, words, m, sizeof(T) == 4 ? Type::f32 : Type::f64, &g) || !g.exceptions) return;
  std::uint8_t* const values = group + (g.values - group);
  for (std::size_t at = 0; at + sizeof(T) <= g.values_bytes; at += sizeof(T))
    if (load<BitsOf<T>>(values + at) == placeholder_bits<T>()) store(values + at, kept);
}

template float least_reaching<float>(double) noexcept;
template double least_reaching<double>(double) noexcept;
template MarkSet<float> marks_of<float>(Type, const Options&, double) noexcept;
template MarkSet<double> marks_of<double>(Type, const Options&, double) noexcept;
template class Marks<float>;
template class Marks<double>;
template void replace_placeholder<float>(std::uint8_t*, std::size_t, int, float) noexcept;
template void replace_placeholder<double>(std::uint8_t*, std::size_t, int, double) noexcept;

}  // namespace stretto::codec
