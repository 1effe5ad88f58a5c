// Arrays whose codes are predicted along their slower axes, too (docs/format.md, section 9).
#pragma once

#include "codec/codec.hpp"

namespace stretto::codec {

inline constexpr int kMaxAxes = 8;

// In C order, slowest axis first.
struct Shape {
  int axes = 0;
  std::uint64_t extent[kMaxAxes] = {};
};

// As compress(): a shaped stream if a sample promises that it is shorter, else a dense one. compress_bound() of the
// count is enough room. Operations on shaped streams are `unsupported`; they decode and validate like others. Allocates
// 4 bytes a value, and an eighth of a byte for floats. Ignores options.coding.
Status compress_shaped(Type t, const void* x, const Shape& shape, double eps, MutableBytes out, std::size_t* written,
                       const Options& = {}) noexcept;

// axes == 0: not shaped. Checks no more than header and shape.
Status inspect_shape(Bytes in, Shape* shape) noexcept;

}  // namespace stretto::codec
