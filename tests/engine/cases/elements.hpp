// Elements of every type, as numbers, and what operations make of them.
#pragma once

#include <cstddef>

#include "payload/element.hpp"

namespace stretto::tests {

// One element: its value (or real part), and its second part: imaginary, or index.
struct Pair {
  double first = 0;
  double second = 0;
  friend bool operator==(const Pair&, const Pair&) = default;
};

void store(payload::Type t, std::byte* at, Pair v);
Pair fetch(payload::Type t, const std::byte* at);

// Element i of a rank: small integers, of which every type holds sums and products exactly.
Pair contribution(payload::Type t, int rank, std::size_t i);

// Element i of the reduction over p ranks, over the integers, modulo 2^bits for integer types. A mean is not divided
// yet.
Pair reduced(payload::Op op, payload::Type t, int p, std::size_t i);

}  // namespace stretto::tests
