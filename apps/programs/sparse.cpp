#include "sparse.hpp"

namespace stretto::programs {

double bytes_of(const Slab& slab, int stencil) { return static_cast<double>(slab.points()) * (12.0 * stencil + 8); }

Sparse make_matrix(const Slab& slab, int stencil) {
  Sparse matrix;
  const int side = slab.side, lines = stencil == 27 ? side : 1, reach = stencil == 27 ? 1 : 0;
  matrix.begins.reserve(slab.points() + 1);
  matrix.columns.reserve(slab.points() * static_cast<std::size_t>(stencil));
  matrix.values.reserve(slab.points() * static_cast<std::size_t>(stencil));
  const auto inside = [](int at, int size) { return at >= 0 && at < size; };
  matrix.begins.push_back(0);
  for (int plane = 0; plane < slab.count; ++plane) {
    for (int line = 0; line < lines; ++line) {
      for (int at = 0; at < side; ++at) {
        for (int k = -1; k <= 1; ++k) {
          for (int j = -reach; j <= reach; ++j) {
            for (int i = -1; i <= 1; ++i) {
              if (stencil == 5 && k != 0 && i != 0) continue;
              if (!inside(slab.first + plane + k, slab.planes) || !inside(line + j, lines) || !inside(at + i, side))
                continue;
              const std::size_t place = static_cast<std::size_t>(plane + k + 1) * slab.plane +
                                        static_cast<std::size_t>(line + j) * static_cast<std::size_t>(side) +
                                        static_cast<std::size_t>(at + i);
              matrix.columns.push_back(static_cast<std::uint32_t>(place));
              matrix.values.push_back(k == 0 && j == 0 && i == 0 ? stencil - 1 : -1);
            }
          }
        }
        matrix.begins.push_back(matrix.columns.size());
      }
    }
  }
  return matrix;
}

void multiply(const Sparse& matrix, const double* in, double* out) {
  for (std::size_t row = 0; row + 1 < matrix.begins.size(); ++row) {
    double sum = 0;
    for (std::size_t i = matrix.begins[row]; i < matrix.begins[row + 1]; ++i)
      sum += matrix.values[i] * in[matrix.columns[i]];
    out[row] = sum;
  }
}

void scale_add(std::span<double> y, double factor, std::span<const double> x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] + factor * y[i];
}

void add_scaled(std::span<double> y, double factor, std::span<const double> x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}

}  // namespace stretto::programs
