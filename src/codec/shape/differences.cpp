#include "codec/shape/differences.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/driver.hpp"

namespace stretto::codec::shaped {
namespace {

std::int32_t plus(std::int32_t a, std::int32_t b) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}
std::int32_t minus(std::int32_t a, std::int32_t b) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b));
}

template <class Operation>
void combine_rows(std::int32_t* __restrict row, const std::int32_t* __restrict before, std::size_t n,
                  Operation operation) noexcept {
  for (std::size_t i = 0; i < n; ++i) row[i] = operation(row[i], before[i]);
}

// Rows of `inner` values, in `outer` blocks of n rows.
struct Rows {
  std::uint64_t outer, n, inner;
};

Rows rows_of(const Shape& shape, int axis) noexcept {
  Rows rows{1, shape.extent[axis], stride(shape, axis)};
  for (int k = 0; k < axis; ++k) rows.outer *= shape.extent[k];
  return rows;
}

// Calls work(first block, last block, first column, last column) for parts of the blocks, or else of the columns.
template <class Work>
void divide(const Rows& rows, const Parallel* parallel, Work work) noexcept {
  const std::uint64_t count = rows.outer * rows.n * rows.inner;
  const int parts = parts_of(groups_of(count), parallel);
  if (parts <= 1) return work(0, rows.outer, 0, rows.inner);
  struct Context {
    const Rows& rows;
    Work& work;
    std::uint64_t parts;
  } context{rows, work, static_cast<std::uint64_t>(parts)};
  parallel->run(
      parallel->self, parts,
      [](void* arg, int part) {
        const auto& c = *static_cast<const Context*>(arg);
        const auto i = static_cast<std::uint64_t>(part);
        const bool by_blocks = c.rows.outer >= c.parts;
        const std::uint64_t all = by_blocks ? c.rows.outer : c.rows.inner;
        const std::uint64_t first = all / c.parts * i, last = i + 1 < c.parts ? all / c.parts * (i + 1) : all;
        if (by_blocks)
          c.work(first, last, 0, c.rows.inner);
        else
          c.work(0, c.rows.outer, first, last);
      },
      &context);
}

// row = operation(row, the row before it) along each axis. `last_first`: the row before still has its old values.
template <bool last_first, class Operation>
void combine_with_row_before(const Shape& shape, Axes axes, std::int32_t* q, const Parallel* parallel,
                             Operation operation) noexcept {
  for (unsigned left = axes; left; left &= left - 1) {
    const Rows rows = rows_of(shape, std::countr_zero(left));
    divide(rows, parallel, [&](std::uint64_t begin, std::uint64_t end, std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t block = begin; block < end; ++block) {
        std::int32_t* const start = q + block * rows.n * rows.inner;
        for (std::uint64_t k = 1; k < rows.n; ++k) {
          std::int32_t* const row = start + (last_first ? rows.n - k : k) * rows.inner;
          combine_rows(row + from, row - rows.inner + from, to - from, operation);
        }
      }
    });
  }
}

}  // namespace

std::uint64_t stride(const Shape& shape, int axis) noexcept {
  std::uint64_t places = 1;
  for (int k = axis + 1; k < shape.axes; ++k) places *= shape.extent[k];
  return places;
}

void take_differences(const Shape& shape, Axes axes, std::int32_t* q, const Parallel* parallel) noexcept {
  combine_with_row_before<true>(shape, axes, q, parallel, minus);
}

void sum_differences(const Shape& shape, Axes axes, std::int32_t* q, const Parallel* parallel) noexcept {
  combine_with_row_before<false>(shape, axes, q, parallel, plus);
}

void differences_at(const Shape& shape, Axes axes, const std::int32_t* q, std::uint64_t first, int n,
                    std::int32_t* d) noexcept {
  const auto length = static_cast<std::uint64_t>(n);
  if (axes == 0) {
    std::memcpy(d, q + first, length * sizeof *d);
    return;
  }
  const int slow = std::countr_zero(axes), fast = std::bit_width(axes) - 1;
  const std::uint64_t of_slow = stride(shape, slow), of_fast = stride(shape, fast);  // a multiple of it
  for (std::uint64_t at = 0; at < length;) {
    const std::uint64_t place = first + at, stop = std::min(length, (place / of_fast + 1) * of_fast - first);
    const bool before_fast = place / of_fast % shape.extent[fast] > 0;
    const bool before_slow = slow != fast && place / of_slow % shape.extent[slow] > 0;
    for (; at < stop; ++at) {
      const std::int32_t* const p = q + first + at;
      std::int32_t v = *p;
      if (before_fast) v = minus(v, *(p - of_fast));
      if (before_slow) v = minus(v, *(p - of_slow));
      if (before_fast && before_slow) v = plus(v, *(p - of_slow - of_fast));
      d[at] = v;
    }
  }
}

}  // namespace stretto::codec::shaped
