// Nonblocking collectives that stretto runs, while communication cores move them. The program's request is a generalised one of the MPI, so
// that it goes to every function that takes requests. It completes inside such functions, and where its communicator is freed.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi/calls/decide.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

// The reason why the MPI's own form serves this call, or null. The same on every rank. Precondition: shape_of() gave
// none. `any_thread`: messages, too, move without the program's thread. A sum that moves in a host's memory is exact,
// whatever bound it had; where devices are in reach, none does.
const char* unless_driven(const WrappedCall& call, bool any_thread, Decision* d);

// Starts a call that unless_driven() left. *request: null where it fails.
int start_driven(const WrappedCall& call, const Decision& d, const Settings& settings, MPI_Request* request) noexcept;

// How many are not yet complete, as far as the program's requests tell.
extern std::atomic<int> in_flight;

// Whether a request is one of them.
bool is_started(MPI_Request request) noexcept;

// Completes the requests of those whose data have moved.
void drive() noexcept;

// Waits for all on a communicator; null: on every one. False: some did not complete within `limit` seconds.
bool finish_all(const Communicator* on, double limit) noexcept;

}  // namespace stretto::mpi
