// A communicator of a library that works in the memory of devices alone (NCCL): messages between them, and collectives in
// the order of a stream. A module gives it (src/modules/nccl); ranks find one another by the communicator that they have.
#pragma once

#include <array>
#include <cstddef>

#include "base/status.hpp"
#include "call/call.hpp"
#include "carrier/device_messages.hpp"
#include "device/plugin.hpp"

namespace stretto::backend {

// What rank 0 makes, and all ranks know.
using DeviceCommId = std::array<char, 128>;

struct DevicePlace {
  const device::Plugin* plugin = nullptr;
  int device = 0;
  int rank = 0, size = 1;
  double limit = 0;  // seconds until all ranks must have come; <= 0: no limit
};

// Of one rank, and used by one thread at a time. Its device is the thread's current one in every call.
class DeviceComm : public carrier::DeviceMessages {
 public:
  // Whether it has a collective for the call, with the values as they are. The same answer on every rank.
  virtual bool serves(const call::Call& call) const noexcept = 0;

  // Begins to enqueue that collective on a stream of the device, which may be captured in a graph. Precondition: it serves the call, no
  // messages are in flight, and what was begun before is enqueued. Every rank begins the same collectives in the same order.
  virtual Status begin(const call::Call& call, void* stream) noexcept = 0;

  // Whether it is enqueued. It may have to wait for other ranks' calls, and nothing else may begin before.
  virtual Status begun(bool* enqueued) noexcept = 0;

  // ok, or what has gone wrong since: nothing more is to be waited for then.
  virtual Status check() noexcept = 0;
};

}  // namespace stretto::backend
