// Which messages an MPI sends to other hosts without asking first.
#pragma once

#include <cstddef>

namespace stretto::modules {

// The longest message in bytes that travels as soon as it is sent. A longer one is announced, and goes when the receiver has asked for it:
// where announcements and data share one stream (a TCP connection), each waits behind what is queued before it, twice for every message, and
// an exchange in both directions then takes nearly twice as long. 0: no such limit, or it is unknown.
// To be called between MPI_Init and MPI_Finalize; the MPI is queried once a process.
std::size_t mpi_eager_limit() noexcept;

}  // namespace stretto::modules
