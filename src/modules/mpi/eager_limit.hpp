// The MPI's eager limit between hosts.
#pragma once

#include <cstddef>

namespace stretto::modules {

// The longest eager message in bytes. A longer message needs a rendezvous. Over a single stream (a TCP connection)
// announcement and data each wait behind earlier data, so an exchange in both directions takes nearly twice as long. 0:
// no limit, or unknown. Call between MPI_Init and MPI_Finalize; the MPI is queried once per process.
std::size_t mpi_eager_limit() noexcept;

}  // namespace stretto::modules
