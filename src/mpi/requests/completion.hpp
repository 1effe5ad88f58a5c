// While stretto's collectives are in flight, waits poll, and the MPI's own requests progress.
#pragma once

#include <mpi.h>

#include "mpi/calls/wrapped_call.hpp"

namespace stretto::mpi {

bool has_own_requests() noexcept;

int wait(MPI_Request* request, MPI_Status* status) noexcept;
int waitall(int n, MPI_Request* requests, MPI_Status* statuses) noexcept;
int waitany(int n, MPI_Request* requests, int* index, MPI_Status* status) noexcept;
int waitsome(int n, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) noexcept;
int test(MPI_Request* request, int* flag, MPI_Status* status) noexcept;
int testall(int n, MPI_Request* requests, int* flag, MPI_Status* statuses) noexcept;
int testany(int n, MPI_Request* requests, int* index, int* flag, MPI_Status* status) noexcept;
int testsome(int n, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) noexcept;
int request_get_status(MPI_Request request, int* flag, MPI_Status* status) noexcept;
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 50000000
int request_is_complete(MPI_Request request) noexcept;
#endif
#ifdef STRETTO_ASKS_SEVERAL
int request_get_status_all(int n, const MPI_Request* requests, int* flag, MPI_Status* statuses) noexcept;
int request_get_status_any(int n, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) noexcept;
int request_get_status_some(int n, const MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) noexcept;
#endif

// Waits for a request of stretto's that the program frees.
void before_freed(MPI_Request request) noexcept;

}  // namespace stretto::mpi
