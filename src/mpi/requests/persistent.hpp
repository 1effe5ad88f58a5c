// If communication cores can move the data, stretto runs each start with a hidden request.
#pragma once

#include <mpi.h>

#include <span>
#include <vector>

#include "mpi/calls/wrapped_call.hpp"
#include "mpi/process/communicators.hpp"

namespace stretto::mpi {

void prepared(const WrappedCall& call, MPI_Request request) noexcept;

bool follows_starts() noexcept;

// `native` starts them if none is stretto's.
int start(std::span<const MPI_Request> requests, Native native) noexcept;

void released(MPI_Request request) noexcept;

// The MPI runs this communicator's calls from now on.
void forget_prepared(const Communicator* c) noexcept;

int persistent_of_ours() noexcept;

bool is_persistent_of_ours(MPI_Request request) noexcept;

// A run or MPI_REQUEST_NULL replaces stretto's requests: MPICH 5 would wait for ever for a request that was never
// started. Empty: unchanged.
std::vector<MPI_Request> passed_of(std::span<const MPI_Request> requests);

// The program has seen the request's completion.
void run_ended(MPI_Request request) noexcept;

}  // namespace stretto::mpi
