#include "stretto/stretto_cuda_memory.h"

#include "api/communicator.hpp"
#include "base/interrupt.hpp"
#include "base/waiting.hpp"
#include "call/enums.hpp"
#include "device/loader.hpp"
#include "device/memory_kind.hpp"

using namespace stretto;
using namespace stretto::api;
using call::to_c;
using device::MemoryKind;
using device::Plugin;
using device::told;

namespace {

constexpr int kCudaNoMemory = 2;  // cudaErrorMemoryAllocation
constexpr double kInterruptEvery = 0.05;

// Meanwhile this thread's CUDA uses the stream's device.
class StreamVisit {
 public:
  StreamVisit(const Plugin& plugin, void* stream) noexcept : plugin_(plugin) {
    int number = 0, now = 0;
    status_ = told(plugin, plugin.stream_device(stream, &number), "the stream");
    if (status_ == Status::ok) status_ = told(plugin, plugin.current_device(&now), "the current device");
    if (status_ != Status::ok || now == number) return;
    status_ = told(plugin, plugin.use_device(number), "the stream's device");
    if (status_ == Status::ok) before_ = now;
  }
  ~StreamVisit() {
    if (before_ >= 0) static_cast<void>(plugin_.use_device(before_));
  }
  StreamVisit(const StreamVisit&) = delete;
  StreamVisit& operator=(const StreamVisit&) = delete;
  Status status() const noexcept { return status_; }

 private:
  const Plugin& plugin_;
  Status status_;
  int before_ = -1;
};

Status wait_for(const Plugin& plugin, void* event) noexcept {
  Waiting waiting(true);
  for (double asked = Waiting::clock();;) {
    int over = 0;
    if (const Status s = told(plugin, plugin.is_over(event, &over), "an event"); s != Status::ok || over) return s;
    waiting.rest();
    if (const double now = Waiting::clock(); now - asked > kInterruptEvery) {
      asked = now;
      if (interrupted()) return fail(Status::timeout, "the wait for a stream was interrupted");
    }
  }
}

Status wait_for_stream(const Plugin& plugin, void* stream) noexcept {
  const StreamVisit visit(plugin, stream);
  if (visit.status() != Status::ok) return visit.status();
  int captures = 0;
  if (const Status s = told(plugin, plugin.stream_captures(stream, &captures), "the stream"); s != Status::ok) return s;
  if (captures) return fail(Status::unsupported, "the stream is captured in a graph, and nobody can wait for its work");
  void* event = nullptr;
  if (const Status s = told(plugin, plugin.create_event(&event), "an event"); s != Status::ok) return s;
  Status s = told(plugin, plugin.record(event, stream), "an event");
  if (s == Status::ok) s = wait_for(plugin, event);
  static_cast<void>(plugin.destroy_event(event));
  return s;
}

Status check_kind(stretto_memory kind) {
  if (kind == STRETTO_MEMORY_DEVICE || kind == STRETTO_MEMORY_PINNED) return Status::ok;
  return fail(Status::invalid_argument,
              "memory of kind {} is not allocated here, only STRETTO_MEMORY_DEVICE and _PINNED", int(kind));
}

}  // namespace

extern "C" {

stretto_status stretto_cuda_locate(const void* p, stretto_memory* kind, int* device) {
  if (!kind || !device) return to_c(fail(Status::invalid_argument, "{} is NULL", kind ? "device" : "kind"));
  const Plugin* plugin = nullptr;
  if (const Status s = device::find_plugin(&plugin); s != Status::ok) return to_c(s);
  device::Location at{};
  if (const Status s = device::locate(*plugin, p, &at); s != Status::ok) return to_c(s);
  *kind = static_cast<stretto_memory>(at.kind);
  *device = at.kind == MemoryKind::device || at.kind == MemoryKind::managed ? at.device : -1;
  return STRETTO_OK;
}

stretto_status stretto_cuda_use_device(int device, int* before) {
  const Plugin* plugin = nullptr;
  if (const Status s = device::find_plugin(&plugin); s != Status::ok) return to_c(s);
  int devices = 0, now = 0;
  Status s = told(*plugin, plugin->device_count(&devices), "the number of devices");
  if (s == Status::ok && (device < 0 || device >= devices))
    s = fail(Status::invalid_argument, "device {} is none of the {} devices", device, devices);
  if (s == Status::ok) s = told(*plugin, plugin->current_device(&now), "the current device");
  if (s == Status::ok && now != device) s = told(*plugin, plugin->use_device(device), "a device");
  if (s == Status::ok && before) *before = now;
  return to_c(s);
}

stretto_status stretto_cuda_allocate(stretto_memory kind, size_t bytes, void** p) {
  if (!p) return to_c(fail(Status::invalid_argument, "p is NULL"));
  *p = nullptr;
  const Plugin* plugin = nullptr;
  Status s = check_kind(kind);
  if (s == Status::ok) s = device::find_plugin(&plugin);
  if (s != Status::ok) return to_c(s);
  const int error = plugin->allocate(static_cast<MemoryKind>(kind), bytes, p);
  if (error == kCudaNoMemory)
    return to_c(fail(Status::out_of_memory, "no {} bytes: {}", bytes, plugin->error_text(error)));
  return to_c(told(*plugin, error, "memory"));
}

stretto_status stretto_cuda_release(stretto_memory kind, void* p) {
  const Plugin* plugin = nullptr;
  Status s = check_kind(kind);
  if (s == Status::ok) s = device::find_plugin(&plugin);
  return to_c(s != Status::ok || !p ? s : told(*plugin, plugin->release(static_cast<MemoryKind>(kind), p), "memory"));
}

stretto_status stretto_cuda_copy(void* to, const void* from, size_t bytes, void* stream) {
  const Plugin* plugin = nullptr;
  if (const Status s = device::find_plugin(&plugin); s != Status::ok) return to_c(s);
  if (bytes == 0) return STRETTO_OK;
  if (!to || !from) return to_c(fail(Status::invalid_argument, "{} is NULL", to ? "from" : "to"));
  const StreamVisit visit(*plugin, stream);
  if (visit.status() != Status::ok) return to_c(visit.status());
  return to_c(told(*plugin, plugin->copy(to, from, bytes, stream), "a copy"));
}

stretto_status stretto_cuda_wait(stretto_comm comm, void* stream) {
  if (comm) {
    if (const Status s = usable(comm); s != Status::ok) return to_c(s);
  }
  const Plugin* plugin = nullptr;
  Status s = device::find_plugin(&plugin);
  if (s == Status::ok) s = wait_for_stream(*plugin, stream);
  if (s == Status::ok && comm) {
    const Guard guard = comm->guard();
    comm->prepared.ask_for_devices();
  }
  return to_c(s);
}
}
