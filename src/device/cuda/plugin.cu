#include "device/plugin.hpp"

#include <cstring>

#include "codec/cuda/launch.cuh"
#include "device/cuda/raw_values.cuh"

namespace stretto::device {
namespace {

using namespace codec::cuda;
using codec::cuda::Type;

// An earlier error of the program stays pending.
int told(cudaError_t e) {
  if (e != cudaSuccess) (void)cudaGetLastError();
  return e;
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

// While one lives, this thread's CUDA calls break no capture of the caller's stream, except releases of pinned memory,
// whose wait CUDA forbids then.
class BesideCapture {
 public:
  BesideCapture() noexcept { exchange(); }
  ~BesideCapture() { exchange(); }
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;

 private:
  void exchange() noexcept { (void)told(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

const char* error_text(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

int device_count(int* count) { return cudaGetDeviceCount(count); }
int current_device(int* device) { return cudaGetDevice(device); }
int use_device(int device) { return told(cudaSetDevice(device)); }

int locate(const void* p, Location* where) {
  cudaPointerAttributes at;
  if (const int e = told(cudaPointerGetAttributes(&at, p))) return e;
  where->device = at.device;
  switch (at.type) {
    case cudaMemoryTypeDevice: where->kind = MemoryKind::device; return 0;
    case cudaMemoryTypeManaged: where->kind = MemoryKind::managed; return 0;
    case cudaMemoryTypeHost: where->kind = MemoryKind::pinned; return 0;
    case cudaMemoryTypeUnregistered: break;
  }
  where->kind = MemoryKind::host;
  return 0;
}

int allocate(MemoryKind kind, u64 bytes, void** p) {
  const BesideCapture beside;
  return told(kind == MemoryKind::pinned ? cudaHostAlloc(p, bytes, cudaHostAllocPortable) : cudaMalloc(p, bytes));
}
// CUDA promises a wait of cudaFree only.
int release(MemoryKind kind, void* p) {
  const BesideCapture beside;
  if (kind != MemoryKind::pinned) return told(cudaFree(p));
  const int e = told(cudaDeviceSynchronize());
  const int freed = told(cudaFreeHost(p));
  return e ? e : freed;
}

int create_stream(void** stream) {
  cudaStream_t made;
  const int e = told(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  *stream = made;
  return e;
}
int destroy_stream(void* stream) { return told(cudaStreamDestroy(stream_of(stream))); }
int create_event(void** event) {
  cudaEvent_t made;
  const int e = told(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  *event = made;
  return e;
}
int destroy_event(void* event) { return told(cudaEventDestroy(event_of(event))); }
int stream_captures(void* stream, int* captures) {
  cudaStreamCaptureStatus status;
  const int e = told(cudaStreamIsCapturing(stream_of(stream), &status));
  *captures = status != cudaStreamCaptureStatusNone;
  return e;
}
// CUDA refuses to name the device of a stream in capture (error 900).
int stream_device(void* stream, int* device) {
  int captures = 0;
  if (const int e = stream_captures(stream, &captures)) return e;
  return told(captures ? cudaGetDevice(device) : cudaStreamGetDevice(stream_of(stream), device));
}

int record(void* event, void* stream) { return told(cudaEventRecord(event_of(event), stream_of(stream))); }
int wait(void* stream, void* event) { return told(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0)); }
int is_over(void* event, int* over) {
  const BesideCapture beside;
  const cudaError_t e = cudaEventQuery(event_of(event));
  *over = e == cudaSuccess;
  if (e == cudaErrorNotReady) (void)cudaGetLastError();
  return e == cudaErrorNotReady ? 0 : told(e);
}

int copy(void* to, const void* from, u64 bytes, void* stream) {
  return told(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)));
}
int clear(void* to, u64 bytes, void* stream) { return told(cudaMemsetAsync(to, 0, bytes, stream_of(stream))); }

int reaches(int device, int peer, int* reaches) { return told(cudaDeviceCanAccessPeer(reaches, device, peer)); }
int allow_access(int peer) {
  const int e = told(cudaDeviceEnablePeerAccess(peer, 0));
  return e == cudaErrorPeerAccessAlreadyEnabled ? 0 : e;
}

static_assert(sizeof(MemoryHandle) == sizeof(cudaIpcMemHandle_t));
int export_memory(void* base, MemoryHandle* handle) {
  cudaIpcMemHandle_t made;
  const int e = told(cudaIpcGetMemHandle(&made, base));
  if (!e) std::memcpy(handle->bytes, &made, sizeof made);
  return e;
}
int import_memory(const MemoryHandle& handle, void** base) {
  cudaIpcMemHandle_t given;
  std::memcpy(&given, handle.bytes, sizeof given);
  return told(cudaIpcOpenMemHandle(base, given, cudaIpcMemLazyEnablePeerAccess));
}
int end_import(void* base) { return told(cudaIpcCloseMemHandle(base)); }

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
    case StreamOperation::to_dense: return launch_to_dense<T>(a);
    case StreamOperation::to_fixed: return launch_to_fixed<T>(a);
  }
  return cudaErrorInvalidValue;
}

int launch(const Arguments& a) { return a.type == Type::f64 ? launch_as<double>(a) : launch_as<float>(a); }

constexpr Plugin kPlugin = {kPluginVersion, error_text,     device_count,  current_device,  use_device,
                            locate,         allocate,       release,       create_stream,   destroy_stream,
                            create_event,   destroy_event,  stream_device, stream_captures, record,
                            wait,           is_over,        copy,          clear,           workspace_bytes,
                            launch,         combine_values, negate_values, divide_values,   reaches,
                            allow_access,   export_memory,  import_memory, end_import};

}  // namespace
}  // namespace stretto::device

extern "C" __attribute__((visibility("default"))) const stretto::device::Plugin* stretto_cuda_plugin() {
  return &stretto::device::kPlugin;
}
