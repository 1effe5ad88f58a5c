// The GPU's operations on emulated blocks and warps: whole streams in and out, with blocks run in an order that a seed
// chooses.
#pragma once

#include <cstdint>

#include "../support.hpp"
#include "codec/cuda/layout.hpp"

namespace stretto::codec {

// Number of blocks, and their order: seed 0 one after another, else any order, changing whenever a block touches shared
// data.
struct Order {
  int blocks = 1;
  std::uint64_t seed = 0;
};

// Result of an operation: its outcome, and the stream if ok.
struct Emulated {
  cuda::Outcome outcome{};
  Stream stream;
};

// T: the stored type, float or double. `capacity` 0: as much as can be needed.
template <class T>
Emulated emulated_compress(Type t, const void* x, std::size_t n, double eps, Order order = {},
                           std::size_t capacity = 0);
template <class T>
Emulated emulated_combine(Combine op, const Stream& a, const Stream& b, Order order = {}, std::size_t capacity = 0);
// `two_kernels`: x is quantised by a kernel of its own first.
template <class T>
Emulated emulated_add_values(const Stream& a, const void* x, std::size_t n, bool two_kernels, Order order = {},
                             std::size_t capacity = 0);
template <class T>
cuda::Outcome emulated_decompress(const Stream& a, void* y, std::size_t n, std::uint32_t divisor = 1, Order order = {});
// The same groups as a dense stream (`dense`), or as a fixed one.
template <class T>
Emulated emulated_recoded(const Stream& a, bool dense, Order order = {}, std::size_t capacity = 0);
// How many finite values reach `above`, and the range of the others.
template <class T>
std::uint64_t emulated_range(Type t, const void* x, std::size_t n, double above, double* lo, double* hi);

// The offset of each of `sums` after the earlier ones, by look-back of as many blocks as sums, run in an order of the
// seed's choice.
std::vector<std::uint64_t> emulated_offsets(const std::vector<std::uint64_t>& sums, std::uint64_t seed);

}  // namespace stretto::codec
