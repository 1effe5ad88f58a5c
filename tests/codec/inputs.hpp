// Inputs that the codec must take: benign, adversarial, and mixtures, each with a bound. Many tests run over all of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stretto::codec {

template <class T>
struct Input {
  std::string name;
  std::vector<T> x;
  double eps;
};

// T: float or double. A few groups each, with a shorter last group; all combinations of predictor and kind of exception
// occur.
template <class T>
const std::vector<Input<T>>& inputs();

// Fields of equal count and bound for sums: smooth, steep, noisy, constant, zero, with fills, NaN, infinities, holes in
// various places, and with values too large for the grid.
template <class T>
std::vector<std::vector<T>> summands(std::size_t count, double eps, std::size_t how_many, std::uint64_t seed);

}  // namespace stretto::codec
