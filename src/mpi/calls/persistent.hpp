// Persistent collectives that the program has prepared: where a report is wanted, their starts are counted.
#pragma once

#include <mpi.h>

#include <span>

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

// `call`, of the persistent form, has made `request`.
void prepared(const WrappedCall& call, MPI_Request request) noexcept;

// Whether starts are counted.
bool counts_starts() noexcept;

// `native` starts these requests, of whatever kind.
int start(std::span<const MPI_Request> requests, Native native) noexcept;

// The program frees the request: the next one may come by its handle.
void released(MPI_Request request) noexcept;

}  // namespace stretto::mpi
