#pragma once

#include "codec/cuda/stream.hpp"

namespace stretto::codec::cuda {

enum class StreamOperation : u32 {
  compress,
  decompress,
  add,
  subtract,
  min,
  max,
  add_values,
  add_codes,
  quantise,
  range,
  to_dense,
  to_fixed
};

// Pointers are to device memory, but host_result; unused pointers may be null.
struct Arguments {
  StreamOperation operation;
  Type type;
  u64 count;
  StreamRef a, b;
  const void* x;
  const void* codes;
  void* y;  // decompress: values; quantise: codes (int32, int64 for float64); range: two float64
  u8* out;
  u64 capacity;
  double eps, width;
  double above;  // range: least magnitude left out, and counted in the result's bytes
  u32 divisor;
  void* workspace;
  Result* result;
  Result* host_result;  // pinned, or null
  void* stream;
};

}  // namespace stretto::codec::cuda
