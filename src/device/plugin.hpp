// The device interface of the engine: memory, streams, events, copies, kernels. It has two implementations, libraries that the core loads at run time:
//
//   CUDA      libstretto_cuda.so (device/cuda/plugin.cu), over CUDA's runtime
//   emulated  for tests (tests/device/emulated.cpp): kernels on emulated warps, streams that a seed interleaves, memory
//             that the host cannot touch
//
// Core and plugin are built from this file, so that a plugin of another version is told by its number. Functions return
// 0, or an error of CUDA (error_text() describes it). Only allocate and release wait for the device; release waits for all work
// enqueued on the current device.
#pragma once

#include "codec/cuda/operation.hpp"

namespace stretto::device {

using codec::cuda::u32;
using codec::cuda::u64;

constexpr u32 kPluginVersion = 4;
constexpr const char* kPluginSymbol = "stretto_cuda_plugin";

enum class MemoryKind : u32 { host = 0, device = 1, managed = 2, pinned = 3 };

// Where an address lies.
struct Location {
  MemoryKind kind;
  int device;  // meaningless for host memory
};

// The handle by which another process of the host opens an allocation (cudaIpcMemHandle_t).
struct MemoryHandle {
  unsigned char bytes[64];
};

// Raw values. `operation` and `type` are a payload::Op and a payload::Type.
struct Values {
  u32 operation, type;
  u64 count;
  const void* left;
  const void* right;  // combine
  void* out;          // may be left or right
  u32 divisor;        // divide
  void* stream;
};

struct Plugin {
  u32 version;
  const char* (*error_text)(int error);

  int (*device_count)(int* count);
  int (*current_device)(int* device);
  int (*use_device)(int device);  // by this thread, from now on
  int (*locate)(const void* p, Location* where);

  // Memory of the kinds device (of the current device) and pinned, at a multiple of 256 bytes.
  int (*allocate)(MemoryKind kind, u64 bytes, void** p);
  int (*release)(MemoryKind kind, void* p);

  // Streams and events of the current device. Streams do not wait for the legacy default stream.
  int (*create_stream)(void** stream);
  int (*destroy_stream)(void* stream);
  int (*create_event)(void** event);
  int (*destroy_event)(void* event);
  int (*stream_device)(void* stream, int* device);      // of one in capture: the current one
  int (*stream_captures)(void* stream, int* captures);  // into a graph

  // An event is over once all is that was enqueued on the stream before its latest record.
  int (*record)(void* event, void* stream);
  int (*wait)(void* stream, void* event);  // orders later work on the stream after the event
  int (*is_over)(void* event, int* over);

  // Enqueued. Host memory is pinned.
  int (*copy)(void* to, const void* from, u64 bytes, void* stream);
  int (*clear)(void* to, u64 bytes, void* stream);

  // Bytes of workspace on the current device.
  int (*workspace_bytes)(codec::cuda::StreamOperation operation, codec::cuda::Type type, u64 count, u64* bytes);
  // Enqueues the operation: one kernel, behind a clearing of the part of the workspace that it counts in, and before a
  // copy of the result if host_result is given. No allocation, no wait; may be captured in a graph.
  int (*launch)(const codec::cuda::Arguments& arguments);

  // out = left (op) right; out = -left; out = left / divisor.
  int (*combine_values)(const Values& values);
  int (*negate_values)(const Values& values);
  int (*divide_values)(const Values& values);

  // *reaches: if `device` can access the memory of `peer`. allow_access() enables it for the current device (again is no error).
  int (*reaches)(int device, int peer, int* reaches);
  int (*allow_access)(int peer);

  // Memory of the kind device between processes. `base` is what allocate() gave. An import is of the current device, which
  // reaches the memory then; it ends before the memory is released.
  int (*export_memory)(void* base, MemoryHandle* handle);
  int (*import_memory)(const MemoryHandle& handle, void** base);
  int (*end_import)(void* base);
};

}  // namespace stretto::device
