#pragma once

#include <memory>
#include <string>

#include "backend/device_comm.hpp"
#include "backend/peer/messages.hpp"
#include "base/status.hpp"
#include "carrier/device_messages.hpp"

struct stretto_comm_s;

namespace stretto::api {

struct DeviceLink {
  bool made = false;
  std::unique_ptr<backend::DeviceComm> library;           // NCCL
  std::unique_ptr<backend::PeerMessages> peer;            // memory of the host's devices in reach
  std::unique_ptr<carrier::DeviceMessages> of_transport;  // e.g. an MPI that takes device memory
  std::string why_no_library;

  std::string why_no_peer{};

  carrier::DeviceMessages* messages() const noexcept {
    if (library) return library.get();
    return peer ? peer.get() : of_transport.get();
  }
};

// Collective, at one place among the runs of comm.data. All ranks skip a carrier that one rank lacks; without any,
// messages are staged through the host. unsupported on every rank: STRETTO_DEVICE_CARRIER (docs/gpu.md) is unknown or
// unavailable. STRETTO_DEVICE_CODES sets payload::Codes, for comparison; bytes stay equal.
Status link_devices(stretto_comm_s& comm, double timeout) noexcept;

}  // namespace stretto::api
