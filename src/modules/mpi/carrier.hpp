// Messages as MPI point-to-point on a communicator of our own.
//
// A receive is posted with the bound of what may come and reports what came. Messages longer than `chunk` bytes travel as
// several: full chunks and then one that is shorter (possibly empty), so the receiver knows the end without knowing the
// length; this is how messages above 2^31 bytes pass through MPI's int counts.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "carrier/carrier.hpp"
#include "modules/mpi/duplicates.hpp"

namespace stretto::modules {

struct MpiOptions {
  std::size_t chunk = std::size_t{1} << 30;  // largest MPI message in bytes, 1 .. 2^31 - 1; the same on every rank
};

// Duplicates `comm` (a collective call) and uses only the duplicate, with errors returned. Destroy the carrier
// before MPI_Finalize: destruction frees the duplicate, unless messages that nobody took may be on their way in it.
Status make_mpi_carrier(MPI_Comm comm, const MpiOptions& options, std::unique_ptr<carrier::Carrier>* carrier,
                        Duplicates* ready = nullptr) noexcept;

// The status of an error of the MPI, with its text.
Status translate(int code) noexcept;

// True if a message without a receive has arrived, or the MPI cannot tell.
bool has_arrivals(MPI_Comm comm) noexcept;

}  // namespace stretto::modules
