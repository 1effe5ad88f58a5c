// A communicator of a library for device memory (NCCL).
#pragma once

#include <array>
#include <cstddef>

#include "base/status.hpp"
#include "call/call.hpp"
#include "carrier/device_messages.hpp"
#include "device/plugin.hpp"

namespace stretto::backend {

using DeviceCommId = std::array<char, 128>;

struct DevicePlace {
  const device::Plugin* plugin = nullptr;
  int device = 0;
  int rank = 0, size = 1;
  double limit = 0;  // seconds; <= 0: no limit
};

// One thread at a time, with its device current.
class DeviceComm : public carrier::DeviceMessages {
 public:
  // With raw values. Equal on every rank.
  virtual bool serves(const call::Call& call) const noexcept = 0;

  // Begins to enqueue the collective on a stream, perhaps into a graph. Precondition: serves(), no messages in flight,
  // and all earlier collectives enqueued. Collective.
  virtual Status begin(const call::Call& call, void* stream) noexcept = 0;

  // Enqueuing may wait for other ranks; nothing else may begin before *enqueued.
  virtual Status begun(bool* enqueued) noexcept = 0;

  // A failure since: do not wait any longer.
  virtual Status check() noexcept = 0;
};

}  // namespace stretto::backend
