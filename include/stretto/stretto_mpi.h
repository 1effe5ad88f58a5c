/* stretto over MPI: communicators made from an MPI_Comm. Include this instead of stretto.h where mpi.h is at hand. */
#ifndef STRETTO_STRETTO_MPI_H
#define STRETTO_STRETTO_MPI_H

#include <mpi.h>

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over `parent`: makes a communicator with the same ranks. `parent` is duplicated, so messages never mix, and
 * may be freed at once; *comm is owned by the caller, and freed (collectively) before MPI_Finalize.
 * STRETTO_INVALID_ARGUMENT before MPI_Init, after MPI_Finalize, for MPI_COMM_NULL or a NULL comm; STRETTO_UNSUPPORTED
 * for an intercommunicator. Failure on one rank is failure on all of them, except where it concerns `parent` itself.
 * MPI errors on the duplicate are returned (STRETTO_MPI_ERROR), whatever the error handler of `parent`. */
STRETTO_API stretto_status stretto_comm_create(MPI_Comm parent, stretto_comm* comm);

#ifdef __cplusplus
}
#endif

#endif
