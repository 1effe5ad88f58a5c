// What a module (src/modules) shows the core, which loads it where a program first needs it (api/modules.hpp): one table
// under one name. Core and module use each other's classes, so each works with the other of its own version alone.
#pragma once

#include <memory>

#include "backend/transport.hpp"
#include "base/status.hpp"

namespace stretto::backend {

struct Module {
  const char* version;  // of stretto
  const char* serves;   // what it was built for, in words: "Open MPI 5.0.11"
  // A transport of the MPI_Comm at `comm`, as modules/mpi/transport.hpp has it.
  Status (*transport_of)(const void* comm, std::unique_ptr<Transport>* transport) noexcept;
};

inline constexpr const char* module_symbol = "stretto_module";

}  // namespace stretto::backend
