#include "api/device/placement.hpp"

#include "api/profiling.hpp"
#include "base/guarded.hpp"
#include "call/inputs.hpp"
#include "device/loader.hpp"
#include "device/memory_kind.hpp"
#include "select/forced.hpp"

namespace stretto::api {
namespace {

using device::Location;
using device::MemoryKind;

std::string in_words(const Location& at) {
  switch (at.kind) {
    case MemoryKind::host: return "memory of the host";
    case MemoryKind::pinned: return "pinned memory of the host";
    case MemoryKind::managed: return "managed memory";
    case MemoryKind::device: break;
  }
  return fmt::format("memory of device {}", at.device);
}

bool host_reads(MemoryKind kind) noexcept { return kind != MemoryKind::device; }

class Buffers {
 public:
  explicit Buffers(const device::Plugin& plugin) noexcept : plugin_(plugin) {}

  Status add(const void* p, const char* name) {
    if (!p || in_place(p)) return Status::ok;
    Location at{};
    if (const Status s = device::locate(plugin_, p, &at); s != Status::ok) return s;
    if (first_ == nullptr) {
      first_ = name;
      at_ = at;
      return Status::ok;
    }
    if (host_reads(at.kind) ? host_reads(at_.kind) : at.kind == at_.kind && at.device == at_.device) return Status::ok;
    return fail(Status::invalid_argument, "{} is {}, and {} {}", first_, in_words(at_), name, in_words(at));
  }

  const char* first() const noexcept { return first_; }
  const Location& where() const noexcept { return at_; }

 private:
  const device::Plugin& plugin_;
  const char* first_ = nullptr;
  Location at_{MemoryKind::host, 0};
};

Status find(const stretto_comm_s& comm, const Call& call, Buffers* buffers) {
  const Extent e = extent(call, comm.rank, comm.size);
  Status s = Status::ok;
  const bool one = call.collective == Collective::bcast;
  if (e.sends && e.send > 0) s = buffers->add(call.send, one ? "buffer" : "sendbuf");
  if (s == Status::ok && ((e.receives && e.recv > 0) || in_place(call.send)))
    s = buffers->add(call.recv, one ? "buffer" : "recvbuf");
  for (std::size_t i = 0; i < call.inputs.size() && s == Status::ok; ++i) s = buffers->add(call.inputs[i], "an input");
  return s;
}

Status use(stretto_comm_s& comm, const device::Plugin& plugin, int number) noexcept {
  if (!comm.device) return device::Device::open(plugin, number, &comm.device);
  if (comm.device->number() == number) return comm.device->usable();
  return fail(Status::unsupported, "a communicator uses one device: first {}, now {}", comm.device->number(), number);
}

// A graph holds no work of a host: so only NCCL's own collectives, once NCCL is there.
Status check_capture(const stretto_comm_s& comm, const Call& call) {
  const auto refuse = [](std::string_view why) {
    return fail(Status::unsupported, "the stream is captured in a graph; {}", why);
  };
  const DeviceLink& link = comm.device_link;
  const stretto_options& o = call.settings.options;
  if (!link.made) return refuse("a communicator's first call with devices on all of its 2 ranks or more cannot be");
  if (!link.library) return refuse("messages cannot be, only NCCL's own collectives: " + link.why_no_library);
  if (o.bound_kind != STRETTO_BOUND_NONE || o.payload > STRETTO_PAYLOAD_RAW)
    return refuse("only exact values can be, by NCCL's own collectives");
  if (!call.settings.schedule.empty() && !select::forces_native(call))
    return refuse(fmt::format("schedule {} cannot be, only native", call.settings.schedule));
  return Status::ok;
}

Status check_stream(const stretto_comm_s& comm, const device::Plugin& plugin, const Buffers& buffers, Call* c) {
  const Call& call = *c;
  int number = 0, captures = 0;
  Status s = device::told(plugin, plugin.stream_device(*call.stream, &number), "the stream");
  if (s == Status::ok) s = device::told(plugin, plugin.stream_captures(*call.stream, &captures), "the stream");
  if (s != Status::ok) return s;
  c->captured = captures != 0;
  if (call.captured) {
    if (const Status s = check_capture(comm, call); s != Status::ok) return s;
  }
  if (buffers.first() == nullptr) return Status::ok;
  const Location& at = buffers.where();
  if (at.kind != MemoryKind::device)
    return fail(Status::invalid_argument, "{} is {}; the stream is of device {}", buffers.first(), in_words(at),
                number);
  if (at.device != number)
    return fail(Status::invalid_argument, "{} is {}, the stream of device {}", buffers.first(), in_words(at), number);
  return Status::ok;
}

}  // namespace

bool on_device(const void* send, const void* recv) noexcept {
  const device::Plugin* plugin = nullptr;
  if (device::find_plugin(&plugin) != Status::ok) return false;
  const auto there = [plugin](const void* p) {
    Location at{MemoryKind::host, 0};
    return p && !in_place(p) && device::locate(*plugin, p, &at) == Status::ok && at.kind == MemoryKind::device;
  };
  return there(send) || there(recv);
}

bool are_together(stretto_comm_s& comm, const void* send, const void* recv) noexcept {
  return value_or(true, [&] {
    const device::Plugin* plugin = nullptr;
    if (device::find_plugin(&plugin) != Status::ok) return true;
    Buffers buffers(*plugin);
    Status s = buffers.add(send, "sendbuf");
    if (s == Status::ok) s = buffers.add(recv, "recvbuf");
    if (s != Status::ok || buffers.first() == nullptr) return s != Status::invalid_argument;
    const Guard guard = comm.guard();
    const Location& at = buffers.where();
    return host_reads(at.kind) || !comm.device || comm.device->number() == at.device;
  });
}

Status place(stretto_comm_s& comm, Call* call) noexcept {
  return guarded("to place a call", [&] {
    const device::Plugin* plugin = nullptr;
    if (const Status s = device::find_plugin(&plugin); s != Status::ok) return call->stream ? s : Status::ok;
    Buffers buffers(*plugin);
    Status s = find(comm, *call, &buffers);
    if (s == Status::ok && call->stream) s = check_stream(comm, *plugin, buffers, call);
    if (s != Status::ok || buffers.first() == nullptr || host_reads(buffers.where().kind)) return s;
    if (!call->settings.parts.empty())
      return fail(Status::unsupported, std::string_view("options.parts with memory of a device"));
    if (const std::size_t raw = call->settings.options.raw_below; raw != 0 && call->collective != Collective::barrier)
      return fail(Status::unsupported, "raw_below {} is not offered in memory of a device", raw);
    s = use(comm, *plugin, buffers.where().device);
    if (s == Status::ok) call->device = comm.device.get();
    return s;
  });
}

}  // namespace stretto::api
