#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "carrier/carrier.hpp"
#include "carrier/device_messages.hpp"
#include "device/plugin.hpp"
#include "node/group/exchange.hpp"

namespace stretto::backend {

// The transport under a communicator: an MPI's communicator, or UCX. Destroyed after the communicator's other parts.
// Collective functions are called in one order on every rank. A failed rank takes part to the end.
class Transport : public node::Exchange {
 public:
  // As in profiles: "Open MPI 5.0.11".
  virtual std::string name() const = 0;

  // Rank 0's bytes. Collective.
  virtual Status broadcast(void* data, std::size_t bytes) noexcept = 0;

  // Its messages meet no others. Collective.
  virtual Status make_carrier(std::unique_ptr<carrier::Carrier>* carrier) noexcept = 0;

  // For the thread's current device; null if the transport does not take such memory. Collective; every rank must come
  // within `limit` seconds.
  virtual Status make_device_messages(const device::Plugin& plugin, int device, double limit,
                                      std::unique_ptr<carrier::DeviceMessages>* made) noexcept {
    static_cast<void>(plugin);
    static_cast<void>(device);
    static_cast<void>(limit);
    made->reset();
    return Status::ok;
  }

  // Null: the transport has no collectives of its own.
  virtual std::unique_ptr<Backend> make_native() = 0;

  // In bytes: longer messages to another host need a rendezvous. 0: no limit, or unknown.
  virtual std::size_t eager_limit() noexcept = 0;

  // Open MPI's coll/han takes the native collectives of several hosts.
  virtual bool has_han() noexcept { return false; }

  // A poll gives the core away if no message has come. Some MPIs take tens of milliseconds to tell, so rank 0 asks, and
  // others set its answer.
  virtual bool yields() noexcept { return false; }
  virtual void set_yields(bool) noexcept {}

  // The ranks' numbers in the program; negative: not of this program.
  virtual std::vector<int> numbers() const = 0;

  // Most ranks of the program on this host beside the communicator's.
  virtual int others_here() const noexcept = 0;

  // Any thread may move the messages, one at a time, beside the program's.
  virtual bool any_thread() const noexcept = 0;

  // While this rank waits for something else.
  virtual void progress() noexcept = 0;

  // The creation's time limit ends. `ended` (perhaps empty) names ended processes of peers.
  virtual void created(std::function<std::string()> ended) noexcept = 0;
};

}  // namespace stretto::backend
