// Values that compress() keeps bit for bit, as exceptions: marks of missing data, and magnitudes that a range ignores.
#pragma once

#include <cstdint>
#include <limits>

#include "codec/numbers/grid.hpp"

namespace stretto::codec {

// Least number of T that is not below `above` > 0.
template <class T>
T least_reaching(double above) noexcept;

enum class KeptValues : std::uint8_t {
  none,  // nor can any value decode to a mark
  one,   // with the same bits; no other value can decode to a mark
  several,
};

template <class T>
struct MarkSet {
  int count = 0;
  T least = std::numeric_limits<T>::infinity();
  T mark[kMaxMarks] = {};
  T reach[kMaxMarks] = {};  // others within this distance may decode to the mark; negative: none
};

// Rounded to t, but marks that round to NaN or infinity, which are always kept. Without `reach`.
template <class T>
MarkSet<T> marks_of(Type t, const Options& options, double keep_from) noexcept;

struct Kernels;

template <class T>
class Marks {
 public:
  // marks_of() with options.keep_from, and the reach on this grid.
  Marks(Type t, const Grid<T>& grid, const Options& options) noexcept;

  bool any() const noexcept { return set_.count > 0 || set_.least < kInfinite; }
  bool keeps(T x) const noexcept;
  // y is a decoded value, compared in the caller's type.
  bool is_mark(T y) const noexcept;
  // KeptValues::one: `out` has `placeholder` in the places of *kept. `kernels` serve full groups.
  KeptValues survey(const T* x, int m, T* out, T* kept, const Kernels& kernels) const noexcept;

  // A NaN with a rare payload. Data that contain it give KeptValues::several.
  static T placeholder() noexcept;

 private:
  static constexpr T kInfinite = std::numeric_limits<T>::infinity();
  KeptValues survey(const T* x, int m, T* out, T* kept) const noexcept;

  Type type_;
  MarkSet<T> set_;
};

template <class T>
void replace_placeholder(std::uint8_t* group, std::size_t words, int m, T kept) noexcept;

}  // namespace stretto::codec
