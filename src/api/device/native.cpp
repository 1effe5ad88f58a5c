#include "api/device/native.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/interrupt.hpp"
#include "call/schedule_names.hpp"
#include "device/device.hpp"

namespace stretto::api {
namespace {

using backend::Decision;
using call::Call;

class DeviceBackend final : public backend::Backend {
 public:
  DeviceBackend(backend::DeviceComm& library, engine::Engine& engine) noexcept : library_(library), engine_(engine) {}

  const char* name() const noexcept override { return call::native_name; }

  // It moves nothing beside messages of schedules, so what is started goes by schedules.
  bool serves(const Call& c) const noexcept override { return !c.nonblocking && library_.serves(c); }
  bool starts(const Call&) const noexcept override { return false; }

  Status run(const Call& c, const Decision&, engine::Report*) noexcept override {
    device::Device& d = *c.device;
    const device::Device::Visit visit(d);
    const std::uint64_t number = engine_.pass();
    Status s = d.usable();
    if (s == Status::ok) s = library_.enqueue(c, c.stream ? *c.stream : d.stream(0));
    if (s == Status::ok && !c.stream) s = wait(d, call::timeout_of(c.settings.options), number);
    if (s == Status::ok) return s;
    library_.abort();  // whoever waits for this rank in a device learns it from the engine, and does the same
    engine_.give_up(s, message(), number);
    return s;
  }

  std::unique_ptr<backend::PreparedCall> prepare(const call::Shape&, bool) noexcept override { return nullptr; }

 private:
  using Clock = std::chrono::steady_clock;

  Status wait(device::Device& d, double timeout, std::uint64_t number) noexcept {
    device::Moment end;
    if (const Status s = d.mark(1, &end); s != Status::ok) return s;
    const auto begun = Clock::now();
    auto looked = begun;
    while (true) {
      if (const Status s = d.poll(); s != Status::ok) return s;
      if (d.passed(end)) return library_.check();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      const auto now = Clock::now();
      if (now - looked < look_every) continue;
      looked = now;
      if (const Status s = library_.check(); s != Status::ok) return s;
      if (const Status s = engine_.usable(number); s != Status::ok) return s;
      const std::chrono::duration<double> waited = now - begun;
      if (timeout > 0 && waited.count() > timeout)
        return fail(Status::timeout, "{}: a collective is not complete after {:.3g} s", library_.name(),
                    waited.count());
      if (interrupted()) return fail(Status::timeout, "interrupted in a collective of {}", library_.name());
    }
  }

  static constexpr auto look_every = std::chrono::milliseconds(50);
  backend::DeviceComm& library_;
  engine::Engine& engine_;
};

}  // namespace

std::unique_ptr<backend::Backend> make_device_backend(backend::DeviceComm& library, engine::Engine& engine) {
  return std::make_unique<DeviceBackend>(library, engine);
}

}  // namespace stretto::api
