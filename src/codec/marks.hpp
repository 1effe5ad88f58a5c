// Values that compress() keeps bit for bit: marks of missing data, and magnitudes that a range ignores. Streams store
// them as exceptions (docs/format.md, section 5).
#pragma once

#include <cstdint>
#include <limits>

#include "codec/numbers/grid.hpp"

namespace stretto::codec {

// Least number of T that is not below `above` > 0.
template <class T>
T least_reaching(double above) noexcept;

enum class Kept : std::uint8_t {
  none,  // no value is kept, and none can decode to a mark
  one,   // all kept values have the same bits, and no other value can decode to a mark
  several,
};

template <class T>
struct MarkSet {
  int count = 0;
  T least = std::numeric_limits<T>::infinity();  // magnitudes from here on are kept
  T mark[kMaxMarks] = {};
  T reach[kMaxMarks] = {};  // other values within this distance may decode to the mark; negative: none does
};

// The options' marks, rounded to t. Drops marks that t rounds to NaN or infinity, which are always kept. No other value is
// near a mark, and magnitudes are kept from `keep_from` on.
template <class T>
MarkSet<T> marks_of(Type t, const Options& options, double keep_from) noexcept;

struct Kernels;

// T: the stored type of a stream of type t.
template <class T>
class Marks {
 public:
  // marks_of() with options.keep_from, and what decodes to a mark on this grid.
  Marks(Type t, const Grid<T>& grid, const Options& options) noexcept;

  bool any() const noexcept { return set_.count > 0 || set_.least < infinite; }
  bool keeps(T x) const noexcept;
  // True if y, a decoded value, is a mark in the caller's type.
  bool is_mark(T y) const noexcept;
  // Finds kept values among m. Kept::one: *kept is the value, and `out` has the values with `placeholder` in its
  // places. `kernels` serve full groups.
  Kept survey(const T* x, int m, T* out, T* kept, const Kernels& kernels) const noexcept;

  // A NaN with a rare payload. survey() returns Kept::several if the data contain it.
  static T placeholder() noexcept;

 private:
  static constexpr T infinite = std::numeric_limits<T>::infinity();
  Kept survey(const T* x, int m, T* out, T* kept) const noexcept;

  Type type_;
  MarkSet<T> set_;
};

// In a newly compressed group of m values.
template <class T>
void replace_placeholder(std::uint8_t* group, std::size_t words, int m, T kept) noexcept;

}  // namespace stretto::codec
