// One operation of the codec on a stream of a device: what it is given, and how long its workspace is asked for.
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
  range
};

// One call. All pointers are to device memory but host_result; what an operation does not name may be null.
struct Arguments {
  StreamOperation operation;
  Type type;
  u64 count;
  StreamRef a, b;     // operands; decompress: a
  const void* x;      // values
  const void* codes;  // add_codes: of x, from quantise
  void* y;            // decompress: values; quantise: codes (int32, int64 for float64); range: two float64
  u8* out;            // the stream written
  u64 capacity;
  double eps, width;  // compress, quantise
  double above;       // range: finite values of this magnitude and more are left out; the result's bytes say how many
  u32 divisor;        // decompress
  void* workspace;
  Result* result;
  Result* host_result;  // pinned, or null
  void* stream;         // a cudaStream_t
};

}  // namespace stretto::codec::cuda
