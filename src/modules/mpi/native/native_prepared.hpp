#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// MPICH refuses a null buffer, which rank 0 may have in an exscan.
inline void* exscan_result(void* given) noexcept {
  static std::byte none;
  return given != nullptr ? given : &none;
}

// Borrows `comm` and `watchdog`. Null: a call with counts or a mean, or no memory.
std::unique_ptr<backend::PreparedCall> prepare_on(MPI_Comm comm, carrier::Watchdog& watchdog,
                                                  const call::Shape& shape) noexcept;

}  // namespace stretto::modules
