// The plugin's table of functions, and the choice of a kernel.
#include "codec/cuda/launch.cuh"

namespace stretto::codec::cuda {
namespace {

const char* error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

int device_count(int* count) { return cudaGetDeviceCount(count); }

int memory_kind(const void* p, MemoryKind* kind) {
  cudaPointerAttributes at;
  if (const int e = cudaPointerGetAttributes(&at, p)) {
    (void)cudaGetLastError();
    return e;
  }
  switch (at.type) {
    case cudaMemoryTypeDevice: *kind = MemoryKind::device; return 0;
    case cudaMemoryTypeManaged: *kind = MemoryKind::managed; return 0;
    case cudaMemoryTypeHost: *kind = MemoryKind::pinned; return 0;
    case cudaMemoryTypeUnregistered: break;
  }
  *kind = MemoryKind::host;
  return 0;
}

int workspace_bytes(StreamOperation operation, Type type, u64 count, u64* bytes) {
  Room room;
  const int e = plan_room(operation, type, count, &room);
  *bytes = e ? 0 : room.bytes;
  return e;
}

template <class T>
int launch_as(const Arguments& a) {
  switch (a.operation) {
    case StreamOperation::compress: return launch_compress<T>(a);
    case StreamOperation::decompress: return launch_decompress<T>(a);
    case StreamOperation::add:
    case StreamOperation::subtract: return launch_add<T>(a);
    case StreamOperation::min:
    case StreamOperation::max: return launch_select<T>(a);
    case StreamOperation::add_values:
    case StreamOperation::add_codes: return launch_add_values<T>(a);
    case StreamOperation::quantise: return launch_quantise<T>(a);
    case StreamOperation::range: return launch_range<T>(a);
  }
  return cudaErrorInvalidValue;
}

int launch(const Arguments& a) { return a.type == Type::f64 ? launch_as<double>(a) : launch_as<float>(a); }

constexpr Plugin kPlugin = {kPluginVersion, error_text, device_count, memory_kind, workspace_bytes, launch};

}  // namespace
}  // namespace stretto::codec::cuda

extern "C" __attribute__((visibility("default"))) const stretto::codec::cuda::Plugin* stretto_cuda_plugin() {
  return &stretto::codec::cuda::kPlugin;
}
