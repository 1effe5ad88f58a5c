#include "cells.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stretto::programs {
namespace {

// Calls work(offset of the variable) for each.
template <class Work>
void each_variable(const Shape& shape, const Work& work) {
  for (int v = 0; v < shape.variables(); ++v) work(static_cast<std::size_t>(v) * shape.block().storage());
}

// Calls work(offset of the first cell) for each row of cells, of which one follows another in memory.
template <class Work>
void each_row(const Shape& shape, const Work& work) {
  each_variable(shape, [&](std::size_t variable) {
    for (int z = 0; z < shape.side(); ++z)
      for (int y = 0; y < shape.side(); ++y) work(variable + shape.block().at(z, y, 0));
  });
}

// The cells of a layer across a direction, by two coordinates.
struct Layer {
  std::size_t first, one, two;  // of (0, 0); strides
  std::size_t at(int i, int j) const {
    return first + static_cast<std::size_t>(i) * one + static_cast<std::size_t>(j) * two;
  }
};
Layer layer_of(const Block& block, int direction, int index) {
  const Three at{direction == 0 ? index : 0, direction == 1 ? index : 0, direction == 2 ? index : 0};
  return {block.at(at[0], at[1], at[2]), block.stride(direction == 0 ? 1 : 0), block.stride(direction == 2 ? 1 : 2)};
}

// Calls work(i, j) for the cells of a square of a layer.
template <class Work>
void each_cell(int first_i, int first_j, int edge, const Work& work) {
  for (int i = first_i; i < first_i + edge; ++i)
    for (int j = first_j; j < first_j + edge; ++j) work(i, j);
}

double mean_of_four(const double* from, const Layer& cells, int i, int j) {
  return ((from[cells.at(i, j)] + from[cells.at(i, j + 1)]) +
          (from[cells.at(i + 1, j)] + from[cells.at(i + 1, j + 1)])) /
         4;
}

double larger(double a, double b) { return a > b ? a : b; }

}  // namespace

double average(const Shape& shape, double* block, std::vector<double>* scratch) {
  const auto side = static_cast<std::size_t>(shape.side());
  const std::size_t y = shape.block().stride(1), z = shape.block().stride(0), rows = side * side;
  scratch->resize(std::max(scratch->size(), side + shape.block().points()));
  double* const __restrict change = scratch->data();  // largest of each column
  double* const next = change + side;
  std::fill_n(change, side, 0.0);
  std::size_t done = 0;
  each_row(shape, [&](std::size_t row) {
    const double* const __restrict in = block + row;
    double* const __restrict out = next + done * side;
    for (std::size_t i = 0; i < side; ++i) {
      const double sum = (in[i - z] + in[i + z]) + (in[i - y] + in[i + y]) + (in[i - 1] + in[i + 1]) + in[i];
      out[i] = sum / 7;
      change[i] = larger(change[i], std::abs(out[i] - in[i]));
    }
    if (++done < rows) return;
    done = 0;
    double* const last = block + row - (side - 1) * (z + y);  // the variable's first row
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(next + r * side, side, last + r / side * z + r % side * y);
  });
  return *std::max_element(change, change + side);
}

double* pack(const Shape& shape, const Link& link, const double* from, double* out) {
  const int side = shape.side(), half = side / 2;
  const Layer cells = layer_of(shape.block(), link.direction, link.side == 0 ? side - 1 : 0);
  each_variable(shape, [&](std::size_t variable) {
    const double* values = from + variable;
    if (link.kind == Kind::same) each_cell(0, 0, side, [&](int i, int j) { *out++ = values[cells.at(i, j)]; });
    if (link.kind == Kind::coarser) {
      each_cell(link.quarter / 2 * half, link.quarter % 2 * half, half,
                [&](int i, int j) { *out++ = values[cells.at(i, j)]; });
    }
    if (link.kind == Kind::finer)
      each_cell(0, 0, half, [&](int i, int j) { *out++ = mean_of_four(values, cells, 2 * i, 2 * j); });
  });
  return out;
}

const double* unpack(const Shape& shape, const Link& link, const double* in, double* to) {
  const int side = shape.side(), half = side / 2;
  const Layer own = layer_of(shape.block(), link.direction, link.side == 0 ? 0 : side - 1);
  const Layer ghosts = layer_of(shape.block(), link.direction, link.side == 0 ? -1 : side);
  each_variable(shape, [&](std::size_t variable) {
    double* values = to + variable;
    if (link.kind == Kind::wall)
      each_cell(0, 0, side, [&](int i, int j) { values[ghosts.at(i, j)] = values[own.at(i, j)]; });
    if (link.kind == Kind::same) each_cell(0, 0, side, [&](int i, int j) { values[ghosts.at(i, j)] = *in++; });
    if (link.kind == Kind::finer) {
      each_cell(link.quarter / 2 * half, link.quarter % 2 * half, half,
                [&](int i, int j) { values[ghosts.at(i, j)] = (values[own.at(i, j)] + *in++) / 2; });
    }
    if (link.kind == Kind::coarser) {
      each_cell(0, 0, side, [&](int i, int j) { values[ghosts.at(i, j)] = in[i / 2 * half + j / 2]; });
      in += half * half;
    }
  });
  return in;
}

double* copy_out(const Shape& shape, const double* block, double* out) {
  each_row(shape, [&](std::size_t row) { out = std::copy_n(block + row, shape.side(), out); });
  return out;
}

const double* copy_in(const Shape& shape, const double* in, double* block) {
  each_row(shape, [&](std::size_t row) {
    std::copy_n(in, shape.side(), block + row);
    in += shape.side();
  });
  return in;
}

void split(const Shape& shape, const double* parent, int octant, double* child) {
  const int side = shape.side(), half = side / 2;
  const Block& cells = shape.block();
  each_variable(shape, [&](std::size_t variable) {
    for (int z = 0; z < side; ++z) {
      for (int y = 0; y < side; ++y) {
        const double* from =
            parent + variable + cells.at(octant / 4 * half + z / 2, octant / 2 % 2 * half + y / 2, octant % 2 * half);
        double* to = child + variable + cells.at(z, y, 0);
        for (int x = 0; x < side; ++x) to[x] = from[x / 2];
      }
    }
  });
}

void join(const Shape& shape, const double* child, int octant, double* parent) {
  const int half = shape.side() / 2;
  const Block& cells = shape.block();
  const Layer low = layer_of(cells, 0, 0);
  each_variable(shape, [&](std::size_t variable) {
    for (int z = 0; z < half; ++z) {
      const double *first = child + variable + 2 * static_cast<std::size_t>(z) * cells.stride(0),
                   *second = first + cells.stride(0);
      for (int y = 0; y < half; ++y) {
        double* to = parent + variable + cells.at(octant / 4 * half + z, octant / 2 % 2 * half + y, octant % 2 * half);
        for (int x = 0; x < half; ++x)
          to[x] = (mean_of_four(first, low, 2 * y, 2 * x) + mean_of_four(second, low, 2 * y, 2 * x)) / 2;
      }
    }
  });
}

void add_sums(const Shape& shape, const double* block, double volume, double* sums) {
  std::size_t rows = 0;
  double sum = 0;
  each_row(shape, [&](std::size_t row) {
    for (int x = 0; x < shape.side(); ++x) sum += block[row + static_cast<std::size_t>(x)];
    if (++rows % static_cast<std::size_t>(shape.side() * shape.side()) != 0) return;
    *sums++ += sum * volume;
    sum = 0;
  });
}

std::uint64_t checksum(const Shape& shape, const double* block, std::uint64_t first) {
  std::uint64_t sum = 0;
  each_row(shape, [&](std::size_t row) {
    for (int x = 0; x < shape.side(); ++x)
      sum += std::bit_cast<std::uint64_t>(block[row + static_cast<std::size_t>(x)]) * (2 * first++ + 1);
  });
  return sum;
}

}  // namespace stretto::programs
