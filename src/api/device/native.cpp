#include "api/device/native.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "base/interrupt.hpp"
#include "base/waiting.hpp"
#include "call/schedule_names.hpp"
#include "device/device.hpp"

namespace stretto::api {
namespace {

using backend::Decision;
using call::Call;

class StartedDeviceCall final : public backend::Pending {
 public:
  StartedDeviceCall(backend::DeviceComm& library, device::Device& device) noexcept
      : library_(library), device_(device) {}

  // The buffers are the caller's again once NCCL's kernels have ended.
  ~StartedDeviceCall() override {
    if (over_) return;
    const device::Device::Visit visit(device_);
    library_.abort();
  }

  Status begin(const Call& c) noexcept {
    const Status s = device_.usable();
    own_stream_ = !c.stream;
    return s == Status::ok ? library_.begin(c, own_stream_ ? device_.stream(0) : *c.stream) : s;
  }

  bool holds_up() const noexcept override { return !enqueued_; }

  Status test(bool* done, engine::Report*) noexcept override {
    const device::Device::Visit visit(device_);
    *done = true;
    if (const Status s = go_on(); s != Status::ok) return s;
    *done = over_;
    return Status::ok;
  }

 private:
  // On a caller's stream the call is over once it is enqueued.
  Status go_on() noexcept {
    if (!enqueued_) {
      if (const Status s = library_.begun(&enqueued_); s != Status::ok || !enqueued_) return s;
      over_ = !own_stream_;
      if (over_) return Status::ok;
      if (const Status s = device_.mark(1, &end_); s != Status::ok) return s;
    }
    if (const Status s = device_.poll(); s != Status::ok) return s;
    if (const Status s = library_.check(); s != Status::ok) return s;
    over_ = device_.passed(end_);
    return Status::ok;
  }

  backend::DeviceComm& library_;
  device::Device& device_;
  device::LanePositions end_;
  bool own_stream_ = false, enqueued_ = false, over_ = false;
};

class DeviceBackend final : public backend::Backend {
 public:
  DeviceBackend(backend::DeviceComm& library, engine::Engine& engine) noexcept : library_(library), engine_(engine) {}

  const char* name() const noexcept override { return call::kNativeName; }

  bool serves(const Call& c) const noexcept override { return library_.serves(c); }
  bool starts(const Call& c) const noexcept override { return c.nonblocking; }
  bool in_turn() const noexcept override { return true; }

  Status run(const Call& c, const Decision&, engine::Report*) noexcept override {
    device::Device& d = *c.device;
    const device::Device::Visit visit(d);
    const std::uint64_t number = engine_.pass();
    StartedDeviceCall begun(library_, d);
    Status s = begun.begin(c);
    if (s == Status::ok) s = wait(begun, call::timeout_of(c.settings.options), number);
    if (s == Status::ok) return s;
    library_.abort();  // ranks that wait in a device learn it from the engine, and abort, too
    engine_.give_up(s, message(), number);
    return s;
  }

  Status start(const Call& c, const Decision&, std::unique_ptr<backend::Pending>* pending) noexcept override {
    const device::Device::Visit visit(*c.device);
    std::unique_ptr<StartedDeviceCall> begun(new (std::nothrow) StartedDeviceCall(library_, *c.device));
    if (!begun) return fail(Status::out_of_memory, std::string_view("no memory to start a collective on a device"));
    if (const Status s = begun->begin(c); s != Status::ok) return s;
    *pending = std::move(begun);
    return Status::ok;
  }

  std::unique_ptr<backend::PreparedCall> prepare(const call::Call&, const select::Decision&) noexcept override {
    return nullptr;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Status wait(StartedDeviceCall& begun, double timeout, std::uint64_t number) noexcept {
    const auto since = Clock::now();
    auto looked = since;
    Waiting waiting(true);
    while (true) {
      bool done = false;
      if (const Status s = begun.test(&done, nullptr); done) return s;
      waiting.rest();
      const auto now = Clock::now();
      if (now - looked < kLookEvery) continue;
      looked = now;
      if (const Status s = engine_.usable(number); s != Status::ok) return s;
      const std::chrono::duration<double> waited = now - since;
      if (timeout > 0 && waited.count() > timeout)
        return fail(Status::timeout, "{}: a collective is not complete after {:.3g} s", library_.name(),
                    waited.count());
      if (interrupted()) return fail(Status::timeout, "interrupted in a collective of {}", library_.name());
    }
  }

  static constexpr auto kLookEvery = std::chrono::milliseconds(50);
  backend::DeviceComm& library_;
  engine::Engine& engine_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_device_backend(backend::DeviceComm& library, engine::Engine& engine) {
  return std::make_unique<DeviceBackend>(library, engine);
}

}  // namespace stretto::api
