// What the plugin library, libstretto_cuda.so, offers to the core, which loads it at run time. Both are built from this
// file, so that a plugin of another version is told by its number. Status numbers of CUDA pass through as int.
#pragma once

#include "codec/cuda/stream.hpp"

namespace stretto::codec::cuda {

constexpr u32 kPluginVersion = 1;
constexpr const char* kPluginSymbol = "stretto_cuda_plugin";

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

enum class MemoryKind : u32 { host = 0, device = 1, managed = 2, pinned = 3 };

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
  u32 divisor;        // decompress
  void* workspace;
  Result* result;
  Result* host_result;  // pinned, or null
  void* stream;         // a cudaStream_t
};

struct Plugin {
  u32 version;
  const char* (*error_text)(int error);
  int (*device_count)(int* count);
  int (*memory_kind)(const void* p, MemoryKind* kind);
  int (*workspace_bytes)(StreamOperation operation, Type type, u64 count, u64* bytes);
  // Enqueues the operation: one kernel, behind a memset of the part of the workspace that it counts in, and before a
  // copy of the result if host_result is given. No allocation, no wait; may be captured in a graph.
  int (*launch)(const Arguments& arguments);
};

}  // namespace stretto::codec::cuda
