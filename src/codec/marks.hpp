// Values that compress() keeps bit for bit: marks of missing data, and magnitudes that a range ignores. In a stream they are exceptions, as NaN is,
// so the format knows no marks (docs/format.md, section 5).
#pragma once

#include <cstdint>
#include <limits>

#include "codec/numbers/grid.hpp"

namespace stretto::codec {

// Least number of T that is not below `above`, which is positive.
template <class T>
T least_reaching(double above) noexcept;

// The kept values of a group.
enum class Kept : std::uint8_t {
  none,     // no value is kept, and none can decode to a mark
  one,      // all kept values have the same bits, and no other value can decode to a mark
  several,  // anything else
};

// The marks as a kernel takes them. T: float or double.
template <class T>
struct MarkSet {
  int count = 0;
  T least = std::numeric_limits<T>::infinity();  // magnitudes from here on are kept
  T mark[kMaxMarks] = {};
  T reach[kMaxMarks] = {};  // values this near to the mark may decode to it; negative: none but the mark itself
};

struct Kernels;

// T: float or double, the stored type of a stream of type t.
template <class T>
class Marks {
 public:
  // The options' marks, rounded to t. Marks that t holds as NaN or infinity are left out: these are always kept.
  Marks(Type t, const Grid<T>& grid, const Options& options) noexcept;

  bool any() const noexcept { return set_.count > 0 || set_.least < infinite; }
  // True if x itself is kept: a mark, or a finite value that the range ignores.
  bool keeps(T x) const noexcept;
  // True if y, a decoded float32 or float64, is a mark in the caller's type.
  bool is_mark(T y) const noexcept;
  // Searches m values for kept ones. Kept::one: *kept is the value, and out has the values with `placeholder` in its places. `kernels`
  // serve full groups.
  Kept survey(const T* x, int m, T* out, T* kept, const Kernels& kernels) const noexcept;
  // The values with NaN in the places of marks: x itself where it has none, or `out`.
  const T* without(const T* x, int m, T* out, const Kernels& kernels) const noexcept;

  // A NaN whose payload is rare: survey() gives Kept::several where the data have it.
  static T placeholder() noexcept;

 private:
  static constexpr T infinite = std::numeric_limits<T>::infinity();
  T as_caller_has(T y) const noexcept;  // rounded to the caller's type, if that is a half
  Kept survey(const T* x, int m, T* out, T* kept) const noexcept;

  Type type_;
  MarkSet<T> set_, equal_;  // equal_: the marks alone, without `least` and reach
};

// Puts `kept` in the place of each placeholder among the exceptions of a freshly compressed group of m values.
template <class T>
void replace_placeholder(std::uint8_t* group, std::size_t words, int m, T kept) noexcept;

}  // namespace stretto::codec
