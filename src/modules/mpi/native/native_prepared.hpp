#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "backend/backend.hpp"
#include "carrier/watchdog.hpp"

namespace stretto::modules {

// The buffer of an exscan may be null on rank 0, which MPICH refuses.
inline void* exscan_result(void* given) noexcept {
  static std::byte none;
  return given != nullptr ? given : &none;
}

// For collectives without counts, other than a mean. Borrows `comm` and `watchdog`. Null: it has counts, or no memory.
std::unique_ptr<backend::PreparedCall> prepare_on(MPI_Comm comm, carrier::Watchdog& watchdog,
                                                  const call::Shape& shape) noexcept;

}  // namespace stretto::modules
