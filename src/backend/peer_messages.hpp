// Messages between devices of one host that reach each other's memory: one copy, by the receiver's device from the sender's memory. Or
// none: a receive may borrow the message there.
//
//   threads of a process   addresses are valid as they are
//   processes of a host    memory of the communicator's pools is opened by its handle (CUDA IPC), once for each allocation. The lifetime of
//                          the program's memory is unknown, so the sender copies values there into the receiver's pool. Nothing is
//                          staged
//
// A message is offered by a note of the host (peer_notes.hpp): where it is and how long. The receiver says when it has been taken: copied,
// or read for the last time. Until then it stays in place, and its sender's transfer lasts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "carrier/device_messages.hpp"
#include "device/device.hpp"

namespace stretto::backend {

// Published by each rank before messages between devices are set up.
struct PeerCard {
  std::uint64_t process = 0;  // the same for its threads, and for no other process
  std::uint64_t host = 0;     // the kernel that runs; 0: unknown
  std::uint64_t device = 0;   // its number in the process
};

PeerCard peer_card(int device) noexcept;

class PeerMessages : public carrier::DeviceMessages {
 public:
  // True if some rank is in another process than this one.
  virtual bool crosses_processes() const noexcept = 0;

  // How many ranks use one device, at most. Only those of one process are known to.
  virtual int most_on_a_device() const noexcept = 0;

  // A try of what messages between processes need: a handle for all others, and theirs, one a rank. unsupported: it cannot be done.
  virtual Status give(device::MemoryHandle* handle) noexcept = 0;
  virtual Status take(std::span<const device::MemoryHandle> handles) noexcept = 0;
};

// One card for each rank, `rank` of them this one's; its device is the thread's current one. `carrier`, whose messages meet no others, is
// taken where it succeeds. unsupported: some rank's memory is out of reach.
Status make_peer_messages(device::Device& device, std::span<const PeerCard> cards,
                          std::unique_ptr<carrier::Carrier>* carrier, std::unique_ptr<PeerMessages>* made) noexcept;

}  // namespace stretto::backend
