// Persistent collectives that the program has prepared. Each has the MPI's own request. Where communication cores would move it, its starts
// are stretto's, each with a request of its own that is never seen; where a report is wanted, starts are counted.
#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

// `call`, of the persistent form, has made `request`.
void prepared(const WrappedCall& call, MPI_Request request) noexcept;

// Whether starts concern the library.
bool follows_starts() noexcept;

// `native` starts these requests, of whatever kind, where none is stretto's to start.
int start(std::span<const MPI_Request> requests, Native native) noexcept;

// The program frees the request: the next one may come by its handle.
void released(MPI_Request request) noexcept;

// The communicator goes: what is prepared on it is the MPI's from here on.
void forget_prepared(const Communicator* c) noexcept;

// How many persistent requests are stretto's to run.
int persistent_of_ours() noexcept;

// Whether stretto runs it.
bool is_persistent_of_ours(MPI_Request request) noexcept;

// What the MPI is to see of requests: for a persistent one of stretto's its run, or, while none is under way, MPI_REQUEST_NULL. MPICH 5 would
// wait for ever for its own, which was never started. Empty: all as they are. Throws std::bad_alloc.
std::vector<MPI_Request> seen_of(std::span<const MPI_Request> requests);

// The program has seen it complete.
void run_ended(MPI_Request request) noexcept;

}  // namespace stretto::mpi
