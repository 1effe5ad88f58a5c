// Persistent collectives of the program. Each has the MPI's own request. If communication cores can move the data,
// stretto runs the starts, each with a hidden request of its own. With a report, starts are counted.
#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// Call after `call`, of the persistent form, made `request`.
void prepared(const WrappedCall& call, MPI_Request request) noexcept;

// True if the library handles or counts starts.
bool follows_starts() noexcept;

// Starts these requests of any kind; `native` starts them if none is stretto's.
int start(std::span<const MPI_Request> requests, Native native) noexcept;

// Call when the program frees the request: a new request may reuse its handle.
void released(MPI_Request request) noexcept;

// Call when the communicator goes: the MPI runs its persistent collectives from now on.
void forget_prepared(const Communicator* c) noexcept;

// Number of persistent requests that stretto runs.
int persistent_of_ours() noexcept;

// True if stretto runs the request.
bool is_persistent_of_ours(MPI_Request request) noexcept;

// The requests to pass to the MPI: for a persistent request of stretto's, its current run, or MPI_REQUEST_NULL. MPICH 5
// would wait for ever for a request that was never started. Empty: all are unchanged. Throws std::bad_alloc.
std::vector<MPI_Request> passed_of(std::span<const MPI_Request> requests);

// Call when the program has seen its completion.
void run_ended(MPI_Request request) noexcept;

}  // namespace stretto::mpi
