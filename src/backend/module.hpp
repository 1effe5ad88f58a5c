// What a module (src/modules) shows the core, which loads it where a program first needs it (api/creation/modules.hpp): one table
// under one name. Core and module use each other's classes, so each works with the other of its own version and build alone.
#pragma once

#include <memory>
#include <string>

#include "backend/device_comm.hpp"
#include "backend/transport.hpp"
#include "base/status.hpp"
#include "carrier/store.hpp"

namespace stretto::backend {

// A rank among ranks that meet in a store.
struct Place {
  std::string name;  // of the communicator in the store
  int rank = 0, size = 1;
  double limit = 300;      // seconds until all ranks must have come
  std::string transports;  // as the module's library names them; empty: it chooses
};

struct Module {
  const char* version;  // of stretto
  const char* build;    // backend/build.hpp
  const char* serves;   // what it was built for, in words: "Open MPI 5.0.11"
  // What it finds at run time, in words, or why it cannot be used (a failure). Null: it needs nothing but its MPI.
  Status (*finds)(std::string* found) noexcept;
  // Of an MPI: a transport of the MPI_Comm at `comm` (modules/mpi/transport.hpp). Else null.
  Status (*transport_of)(const void* comm, std::unique_ptr<Transport>* transport) noexcept;
  // Of ranks that meet in a store, which is not used any more afterwards. Else null.
  Status (*transport_in)(carrier::Store& store, const Place& place, std::unique_ptr<Transport>* transport) noexcept;
  // Of ranks with devices, who know an id that one of them has made: what works in their memory. Collective. Else null.
  Status (*make_device_comm_id)(DeviceCommId* id) noexcept = nullptr;
  Status (*make_device_comm)(const DevicePlace& place, const DeviceCommId& id,
                             std::unique_ptr<DeviceComm>* made) noexcept = nullptr;
};

inline constexpr const char* module_symbol = "stretto_module";

}  // namespace stretto::backend
