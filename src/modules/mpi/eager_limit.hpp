#pragma once

#include <cstddef>

namespace stretto::modules {

// The longest eager message between hosts, in bytes; 0: no limit, or unknown. Others need a rendezvous: over one stream
// (a TCP connection) announcement and data each wait behind earlier data, which nearly doubles an exchange in both
// directions. Call between MPI_Init and MPI_Finalize; queried once per process.
std::size_t mpi_eager_limit() noexcept;

}  // namespace stretto::modules
