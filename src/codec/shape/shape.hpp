// Shaped streams (docs/format.md, section 9): arrays whose codes are predicted along their slower axes, too.
#pragma once

#include "codec/codec.hpp"

namespace stretto::codec {

inline constexpr int kMaxAxes = 8;

// Extents of an array in C order, slowest axis first.
struct Shape {
  int axes = 0;
  std::uint64_t extent[kMaxAxes] = {};
};

// Compresses the array at x like compress(). Writes a shaped stream where a sample of the codes promises that it is
// shorter, else a dense one. compress_bound() of the count is always enough room. Shaped streams decode and validate
// like others; operations on streams refuse them with `unsupported`. Allocates 4 bytes a value, and an eighth of a byte
// for floats. options.coding is ignored.
Status compress_shaped(Type t, const void* x, const Shape& shape, double eps, MutableBytes out, std::size_t* written,
                       const Options& = {}) noexcept;

// The shape of a stream; axes == 0 if it is not shaped. Checks no more than header and shape.
Status inspect_shape(Bytes in, Shape* shape) noexcept;

}  // namespace stretto::codec
