// Nonblocking collectives that communication cores run. The program's request is a generalised request of the MPI, so
// every function accepts it. It completes inside MPI functions on requests, and when its communicator is freed.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi/calls/decide.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

// The reason why the MPI's own form serves this call, or null; equal on every rank. Precondition: shape_of() returned
// null. `any_thread`: messages, too, progress without the program's thread. Sums in host memory become exact, despite a
// bound; with devices in reach none does.
const char* unless_driven(const WrappedCall& call, bool any_thread, Decision* d);

// Starts a call for which unless_driven() returned null. *request: null on failure.
int start_driven(const WrappedCall& call, const Decision& d, const Settings& settings, MPI_Request* request) noexcept;

// Number of these requests that are not complete.
extern std::atomic<int> in_flight;

// True if the request belongs to one of them.
bool is_started(MPI_Request request) noexcept;

// Completes the requests whose data have moved.
void drive() noexcept;

// Waits for all on a communicator; null: on every one. False: some did not complete within `limit` seconds.
bool finish_all(const Communicator* on, double limit) noexcept;

}  // namespace stretto::mpi
