// Messages between devices that reach each other's memory (docs/gpu.md, "Peer access"). A note (peer/notes.hpp) offers
// a message. The transfer lasts until the receiver reports that it has copied it, or read it for the last time. Between
// processes the sender copies the program's memory, whose lifetime is unknown, into the receiver's pool.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "carrier/device_messages.hpp"
#include "device/device.hpp"

namespace stretto::backend {

struct PeerCard {
  std::uint64_t process = 0;
  std::uint64_t host = 0;  // the running kernel; 0: unknown
  std::uint64_t device = 0;
};

PeerCard peer_card(int device) noexcept;

class PeerMessages : public carrier::DeviceMessages {
 public:
  virtual bool crosses_processes() const noexcept = 0;

  // As far as known: ranks of one process.
  virtual int most_on_a_device() const noexcept = 0;

  // Tries messages between processes. unsupported: impossible.
  virtual Status give(device::MemoryHandle* handle) noexcept = 0;
  virtual Status take(std::span<const device::MemoryHandle> handles) noexcept = 0;
};

// `cards`: by rank; this rank's device is the thread's current one. Takes `carrier`, whose messages meet no others, on
// success. unsupported: some rank's memory is out of reach.
Status make_peer_messages(device::Device& device, std::span<const PeerCard> cards,
                          std::unique_ptr<carrier::Carrier>* carrier, std::unique_ptr<PeerMessages>* made) noexcept;

}  // namespace stretto::backend
