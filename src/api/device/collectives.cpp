#include "api/communicator.hpp"
#include "api/named.hpp"
#include "call/enums.hpp"
#include "device/loader.hpp"
#include "device/memory_kind.hpp"
#include "stretto/stretto_cuda_collectives.h"

using namespace stretto;
using namespace stretto::api;

namespace {

stretto_status run(stretto_comm comm, const stretto_options* options, const stretto_call& record,
                   void* stream) noexcept {
  return to_c(run_anew(comm, options, record, nullptr, false, stream));
}

// Locks the communicator and gives its device, made if `make`; null: none.
Status device_of(stretto_comm comm, bool make, Guard* guard, device::Device** found) noexcept {
  if (const Status s = usable(comm); s != Status::ok) return s;
  *guard = comm->guard();
  if (!comm->device && make) {
    const device::Plugin* plugin = nullptr;
    int number = 0;
    Status s = device::find_plugin(&plugin);
    if (s == Status::ok) s = device::told(*plugin, plugin->current_device(&number), "the current device");
    if (s == Status::ok) s = device::Device::open(*plugin, number, &comm->device);
    if (s != Status::ok) return s;
  }
  *found = comm->device.get();
  return Status::ok;
}

}  // namespace

extern "C" {

stretto_status stretto_run_on_stream(const stretto_call* call, stretto_comm comm, const stretto_options* options,
                                     void* stream) {
  stretto_call record = STRETTO_CALL_INIT;
  if (const Status s = read_record(call, &record); s != Status::ok) return to_c(s);
  return run(comm, options, record, stream);
}

#define ON_STREAM(name, record, ...)                                                                        \
  stretto_status stretto_##name##_on_stream(__VA_ARGS__, stretto_comm comm, const stretto_options* options, \
                                            void* stream) {                                                 \
    return run(comm, options, record, stream);                                                              \
  }
STRETTO_NAMED_COLLECTIVES(ON_STREAM)

stretto_status stretto_cuda_query(stretto_comm comm, int* done) {
  if (!done) return to_c(fail(Status::invalid_argument, "done is NULL"));
  *done = 1;
  Guard guard;
  device::Device* d = nullptr;
  if (const Status s = device_of(comm, false, &guard, &d); s != Status::ok || !d) return to_c(s);
  const device::Device::Visit visit(*d);
  if (const Status s = d->poll(); s != Status::ok) return to_c(s);
  if (const auto& library = comm->device_link.library) {
    if (const Status s = library->check(); s != Status::ok) return to_c(s);
  }
  *done = d->idle();
  return to_c(*done ? d->late() : Status::ok);
}

stretto_status stretto_cuda_need(stretto_comm comm, stretto_type type, size_t count, size_t* device_bytes,
                                 size_t* pinned_bytes) {
  if (!device_bytes || !pinned_bytes)
    return to_c(fail(Status::invalid_argument, "{} is NULL", device_bytes ? "pinned_bytes" : "device_bytes"));
  *device_bytes = *pinned_bytes = 0;
  if (!call::is_type(type)) return to_c(fail(Status::invalid_argument, "type {} is no stretto_type", int(type)));
  Guard guard;
  device::Device* d = nullptr;
  if (const Status s = device_of(comm, true, &guard, &d); s != Status::ok) return to_c(s);
  return to_c(d->need(payload_type(type), count, device_bytes, pinned_bytes));
}

stretto_status stretto_cuda_reserve(stretto_comm comm, size_t device_bytes, size_t pinned_bytes) {
  Guard guard;
  device::Device* d = nullptr;
  if (const Status s = device_of(comm, true, &guard, &d); s != Status::ok) return to_c(s);
  if (!comm->idle()) return to_c(fail(Status::invalid_argument, "collectives of the communicator are in flight"));
  return to_c(d->reserve(device_bytes, pinned_bytes));
}
}
