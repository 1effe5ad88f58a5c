// Allocations of a communicator's pools, shared by processes (CUDA IPC), each opened once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/status.hpp"
#include "device/device.hpp"

namespace stretto::backend {

class PeerMemory {
 public:
  explicit PeerMemory(device::Device& device) noexcept : device_(device) {}
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // The program's memory is not lent: its lifetime is unknown.
  bool may_lend(const void* p) noexcept { return device_.share(p) != nullptr; }

  // *offset: in its allocation. Requires may_lend(p).
  Status lend(const void* p, device::MemoryHandle* handle, std::uint64_t* offset) noexcept;

  Status open(const device::MemoryHandle& handle, std::byte** base) noexcept;

  void close_all() noexcept;

  // unsupported: the error does not lose the device.
  Status refused(int error, const char* what) const noexcept;

 private:
  device::Device& device_;
  std::map<std::byte*, device::MemoryHandle> lent_;
  std::map<std::string, void*> opened_;
};

}  // namespace stretto::backend
