// A sparse matrix by rows: -laplace by differences, with 5 points in a plane or 27 in space. Ranks hold whole planes:
// rows of a rectangle, or planes of a box.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stretto::programs {

// A rank's part: planes [first, first + count) of `planes`, of `plane` points each, `side` in a direction.
struct Slab {
  int planes = 0, side = 0, first = 0, count = 0;
  std::size_t plane = 0;

  std::size_t points() const { return static_cast<std::size_t>(count) * plane; }
  std::size_t storage() const { return points() + 2 * plane; }  // of a vector with the neighbours' planes
};

struct Sparse {
  std::vector<std::size_t> begins;     // of each row, and the end
  std::vector<std::uint32_t> columns;  // indices into a vector with its neighbours' planes
  std::vector<double> values;
};

// Bytes of the matrix, for a check before it is made.
double bytes_of(const Slab& slab, int stencil);

Sparse make_matrix(const Slab& slab, int stencil);

// out = A in. A row's sum has the order of its columns, so its bits are equal for any number of ranks.
void multiply(const Sparse& matrix, const double* in, double* out);

// y = x + factor y
void scale_add(std::span<double> y, double factor, std::span<const double> x);

// y += factor x
void add_scaled(std::span<double> y, double factor, std::span<const double> x);

}  // namespace stretto::programs
