// The engine's interface of devices, loaded at run time:
//
//   CUDA      libstretto_cuda.so (device/cuda/plugin.cu), over CUDA's runtime
//   emulated  for tests (tests/device/emulated/emulated_plugin.cpp): kernels on emulated warps, streams that a seed
//             interleaves, memory that the host cannot access
//
// Functions return 0, or an error of CUDA (see error_text()). Only allocate and release wait for the device; release
// waits for all work on the current device.
#pragma once

#include "codec/cuda/operation.hpp"

namespace stretto::device {

using codec::cuda::u32;
using codec::cuda::u64;

constexpr u32 kPluginVersion = 5;
constexpr const char* kPluginSymbol = "stretto_cuda_plugin";

enum class MemoryKind : u32 { host = 0, device = 1, managed = 2, pinned = 3 };

struct Location {
  MemoryKind kind;
  int device;  // undefined for host memory
};

// cudaIpcMemHandle_t
struct MemoryHandle {
  unsigned char bytes[64];
};

// `operation` is a payload::Op, `type` a payload::Type.
struct Values {
  u32 operation, type;
  u64 count;
  const void* left;
  const void* right;
  void* out;  // may be left or right
  u32 divisor;
  void* stream;
};

struct Plugin {
  u32 version;
  const char* (*error_text)(int error);

  int (*device_count)(int* count);
  int (*current_device)(int* device);
  int (*use_device)(int device);
  int (*locate)(const void* p, Location* where);

  // On the current device, or pinned; at a multiple of 256 bytes.
  int (*allocate)(MemoryKind kind, u64 bytes, void** p);
  int (*release)(MemoryKind kind, void* p);

  // On the current device. Streams do not wait for the legacy default stream.
  int (*create_stream)(void** stream);
  int (*destroy_stream)(void* stream);
  int (*create_event)(void** event);
  int (*destroy_event)(void* event);
  int (*stream_device)(void* stream, int* device);      // during a capture: the current device
  int (*stream_captures)(void* stream, int* captures);  // into a graph

  // An event is over once all work before its latest record is.
  int (*record)(void* event, void* stream);
  int (*wait)(void* stream, void* event);  // later work on the stream follows the event
  int (*is_over)(void* event, int* over);

  // Host memory must be pinned.
  int (*copy)(void* to, const void* from, u64 bytes, void* stream);
  int (*clear)(void* to, u64 bytes, void* stream);

  int (*workspace_bytes)(codec::cuda::StreamOperation operation, codec::cuda::Type type, u64 count, u64* bytes);
  // One kernel, after clearing the workspace's counters, and before copying the result if host_result is given. Neither
  // allocates nor waits; may be captured in a graph.
  int (*launch)(const codec::cuda::Arguments& arguments);

  // out = left (op) right; out = -left; out = left / divisor.
  int (*combine_values)(const Values& values);
  int (*negate_values)(const Values& values);
  int (*divide_values)(const Values& values);

  // *reaches: `device` can access memory of `peer`. allow_access() enables it for the current device; may be repeated.
  int (*reaches)(int device, int peer, int* reaches);
  int (*allow_access)(int peer);

  // Between processes. `base` comes from allocate(). An import is for the current device, and must end before the
  // memory is released.
  int (*export_memory)(void* base, MemoryHandle* handle);
  int (*import_memory)(const MemoryHandle& handle, void** base);
  int (*end_import)(void* base);
};

}  // namespace stretto::device
