// Messages travel as chunks of `chunk` bytes and a shorter, possibly empty, last one: MPI's counts are ints.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "carrier/carrier.hpp"
#include "modules/mpi/duplicates.hpp"

namespace stretto::modules {

struct MpiOptions {
  std::size_t chunk = std::size_t{1} << 30;  // bytes of the largest MPI message, 1 .. 2^31 - 1; equal on all ranks
};

// Duplicates `comm` collectively, with errors returned. Destroy before MPI_Finalize: frees the duplicate, unless
// messages without a receive may be in flight.
Status make_mpi_carrier(MPI_Comm comm, const MpiOptions& options, std::unique_ptr<carrier::Carrier>* carrier,
                        Duplicates* ready = nullptr) noexcept;

// On `comm` itself, whose other use sends no messages. *freeable stays true without a carrier, is false while there is
// one, and then tells whether messages without a receive cannot be in flight. Null: the carrier frees `comm`.
Status make_mpi_carrier_on(MPI_Comm comm, const MpiOptions& options, bool* freeable,
                           std::unique_ptr<carrier::Carrier>* carrier) noexcept;

// The message is the MPI's text.
Status translate(int code) noexcept;

// True also if the MPI cannot tell. Looks long, since a first probe may only make progress and miss a message: peers
// that gave up sent alarms even where no call used `comm`.
bool has_arrivals(MPI_Comm comm) noexcept;

}  // namespace stretto::modules
