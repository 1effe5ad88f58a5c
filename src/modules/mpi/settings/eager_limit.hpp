#pragma once

#include <cstddef>

namespace stretto::modules {

// In bytes, between hosts; 0: no limit, or unknown. Longer messages need a rendezvous. Between MPI_Init and
// MPI_Finalize.
std::size_t mpi_eager_limit() noexcept;

}  // namespace stretto::modules
