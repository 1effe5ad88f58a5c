// Nonblocking collectives on communication cores. Their generalised requests complete inside MPI functions on requests,
// and when the communicator is freed.
#pragma once

#include <mpi.h>

#include <atomic>

#include "mpi/calls/decide.hpp"
#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"
#include "mpi/settings/settings.hpp"

namespace stretto::mpi {

// Why the MPI's own form serves this call, or null; equal on every rank. Requires that shape_of() returned null.
// `any_thread`: messages progress without the program's thread. Makes bounded sums in host memory exact, but none with
// devices in reach.
const char* unless_driven(const WrappedCall& call, bool any_thread, Decision* d);

// Precondition: unless_driven() returned null. *request: null on failure.
int start_driven(const WrappedCall& call, const Decision& d, const Settings& settings, MPI_Request* request) noexcept;

extern std::atomic<int> in_flight;

bool is_started(MPI_Request request) noexcept;

void drive() noexcept;

// `on`: null for any communicator. False: some were incomplete after `limit` seconds.
bool finish_all(const Communicator* on, double limit) noexcept;

}  // namespace stretto::mpi
