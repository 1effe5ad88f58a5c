// One sweep of Jacobi's method on the points of a box, and a triad that moves as many bytes.
#pragma once

#include <cstddef>

#include "block.hpp"

namespace stretto::programs {

// Points [from, to) of a block.
struct Box {
  Three from{}, to{};
  bool empty() const { return from[0] >= to[0] || from[1] >= to[1] || from[2] >= to[2]; }
};

// out = (the six neighbours in `in`, and f) / 6. The bits of a point do not depend on the swept box.
void sweep(const Block& block, const Box& box, const double* in, const double* f, double* out);
void sweep(const Block& block, const Box& box, const float* in, const float* f, float* out);

// sweep() that returns the largest |out - in|.
double sweep_measuring(const Block& block, const Box& box, const double* in, const double* f, double* out);
double sweep_measuring(const Block& block, const Box& box, const float* in, const float* f, float* out);

// out = in + s f: reads two values and writes one, like a sweep whose neighbours are cached.
void triad(std::size_t count, const double* in, const double* f, double* out);
void triad(std::size_t count, const float* in, const float* f, float* out);

}  // namespace stretto::programs
