#pragma once

#include <cstddef>

namespace stretto::modules {

// Bytes of the longest eager message between hosts; 0: no limit, or unknown. Others need a rendezvous: over a TCP
// connection announcement and data each wait behind earlier data, which nearly doubles an exchange in both directions.
// Call between MPI_Init and MPI_Finalize.
std::size_t mpi_eager_limit() noexcept;

}  // namespace stretto::modules
