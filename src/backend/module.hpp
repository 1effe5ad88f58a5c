// Modules are loaded on demand. Core and module use each other's classes, so versions and builds must be equal.
#pragma once

#include <memory>
#include <string>

#include "backend/device_comm.hpp"
#include "backend/transport.hpp"
#include "base/status.hpp"
#include "carrier/store.hpp"

namespace stretto::backend {

struct Place {
  std::string name;
  int rank = 0, size = 1;
  double limit = 300;      // seconds until all ranks must have come
  std::string transports;  // as the module's library names them; empty: it chooses
};

struct Module {
  const char* version;
  const char* build;
  const char* serves;  // "Open MPI 5.0.11"
  // The software at run time, or why it cannot be used. Null: the MPI alone.
  Status (*finds)(std::string* found) noexcept;
  // `comm`: an MPI_Comm's address. Null for modules of no MPI.
  Status (*transport_of)(const void* comm, std::unique_ptr<Transport>* transport) noexcept;
  // Ranks meet in a store, which is not used afterwards. Null for modules of an MPI.
  Status (*transport_in)(carrier::Store& store, const Place& place, std::unique_ptr<Transport>* transport) noexcept;
  // For ranks that know an id made by one of them. Collective. Null: none.
  Status (*make_device_comm_id)(DeviceCommId* id) noexcept = nullptr;
  Status (*make_device_comm)(const DevicePlace& place, const DeviceCommId& id,
                             std::unique_ptr<DeviceComm>* made) noexcept = nullptr;
};

inline constexpr const char* kModuleSymbol = "stretto_module";

}  // namespace stretto::backend
