#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// The receive buffer of an exscan. It means nothing on rank 0 and may be null there, which MPICH refuses.
inline void* exscan_result(void* given) noexcept {
  static std::byte none;
  return given != nullptr ? given : &none;
}

// For collectives without counts, other than a mean. Borrows `comm` and `watchdog` (for calls with a limit). Null: it
// has counts, or no memory.
std::unique_ptr<backend::PreparedCall> prepare_on(MPI_Comm comm, carrier::Watchdog& watchdog,
                                                  const call::Shape& shape) noexcept;

}  // namespace stretto::modules
