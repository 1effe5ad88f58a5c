// The functions of CUDA's runtime that the plugin may call, and no others: they record their arguments, and run
// nothing. The plugin's objects linked with them, without CUDA's runtime, have no undefined symbol. So no call of the
// plugin waits, and allocations or frees show. Declared here as in crt/host_runtime.h and cuda_runtime_api.h.
#include "recorded_runtime.hpp"

#include <cstdlib>
#include <map>
#include <vector>

using stretto::codec::cuda::Recorded;

namespace {

struct Sizes {  // dim3
  unsigned x, y, z;
};
struct Launch {  // cudaLaunchConfig_t
  Sizes blocks, threads;
  std::size_t shared;
  void* stream;
  const void* attributes;
  unsigned number_of_attributes;
};
struct Attributes {  // cudaPointerAttributes
  int type, device;
  void *device_pointer, *host_pointer;
};

std::vector<Recorded>& calls() {
  static std::vector<Recorded> all;
  return all;
}
std::map<const void*, const char*>& names() {
  static std::map<const void*, const char*> all;
  return all;
}
int note(const Recorded& call) {
  calls().push_back(call);
  const char* failing = std::getenv("STRETTO_RECORDED_FAILURE");  // the kind of call that fails
  return failing && std::atoi(failing) == call.kind ? 719 : 0;
}

int note_other() { return note({Recorded::other, nullptr, nullptr, nullptr, 0, nullptr, 0, 0}); }
int note_made(void** p) {
  *p = p;
  return note_other();
}

}  // namespace

extern "C" {

#pragma GCC visibility push(default)
std::size_t stretto_take_recorded(Recorded* to, std::size_t room) {
  const std::size_t n = calls().size();
  for (std::size_t i = 0; i < n && i < room; ++i) to[i] = calls()[i];
  calls().clear();
  return n;
}
#pragma GCC visibility pop

// Called by nvcc's code when the library is loaded.
void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }
void __cudaRegisterFunction(void**, const char* function, char*, const char* name, int, void*, void*, void*, void*,
                            int*) {
  names()[function] = name;
}
// Used by kernels called by name; the plugin has none.
unsigned __cudaPopCallConfiguration(void*, void*, void*, void*) { std::abort(); }
int __cudaGetKernel(void**, const void*) { std::abort(); }
int __cudaLaunchKernel(void*, Sizes, Sizes, void**, std::size_t, void*) { std::abort(); }

int cudaGetDeviceCount(int* count) {
  *count = 1;
  return 0;
}
int cudaGetDevice(int* device) {
  *device = 0;
  return 0;
}
int cudaDeviceGetAttribute(int* value, int, int) {
  *value = stretto::codec::cuda::kRecordedMultiprocessors;
  return 0;
}
const char* cudaGetErrorString(int) { return "a recorded failure"; }
int cudaGetLastError() { return 0; }
// Everything is the device's but where an address is odd.
int cudaPointerGetAttributes(Attributes* of, const void* p) {
  *of = {reinterpret_cast<std::size_t>(p) % 2 ? 0 : 2, 0, nullptr, nullptr};
  return 0;
}
int cudaSetDevice(int) { return note_other(); }
int cudaMalloc(void** p, std::size_t) { return note_made(p); }
int cudaHostAlloc(void** p, std::size_t, unsigned) { return note_made(p); }
int cudaDeviceSynchronize() { return note_other(); }
int cudaFree(void*) { return note_other(); }
int cudaFreeHost(void*) { return note_other(); }
int cudaStreamCreateWithFlags(void** p, unsigned) { return note_made(p); }
int cudaStreamDestroy(void*) { return note_other(); }
int cudaStreamGetDevice(void*, int* device) {
  *device = 0;
  return 0;
}
int cudaStreamIsCapturing(void*, int* status) {
  *status = 0;
  return 0;
}
int cudaStreamWaitEvent(void*, void*, unsigned) { return note_other(); }
int cudaEventCreateWithFlags(void** p, unsigned) { return note_made(p); }
int cudaEventDestroy(void*) { return note_other(); }
int cudaEventRecord(void*, void*) { return note_other(); }
int cudaEventQuery(void*) { return note_other(); }
int cudaThreadExchangeStreamCaptureMode(int*) { return 0; }
int cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return 0;
}
int cudaDeviceEnablePeerAccess(int, unsigned) { return note_other(); }
struct cudaIpcMemHandle_st {
  char reserved[64];
};
int cudaIpcGetMemHandle(cudaIpcMemHandle_st*, void*) { return note_other(); }
int cudaIpcOpenMemHandle(void** p, cudaIpcMemHandle_st, unsigned) { return note_made(p); }
int cudaIpcCloseMemHandle(void*) { return note_other(); }
int cudaMemsetAsync(void* to, int, std::size_t bytes, void* stream) {
  return note({Recorded::memset, stream, to, nullptr, bytes, nullptr, 0, 0});
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void* stream) {
  return note({Recorded::copy, stream, to, from, bytes, nullptr, 0, 0});
}
int cudaLaunchKernelExC(const Launch* l, const void* function, void**) {
  const auto found = names().find(function);
  return note({Recorded::kernel, l->stream, nullptr, nullptr, 0, found == names().end() ? "" : found->second,
               l->blocks.x, l->threads.x});
}

}  // extern "C"
