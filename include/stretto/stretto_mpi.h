/* stretto over MPI: communicators made from an MPI_Comm. Includes mpi.h and stretto.h. */
#ifndef STRETTO_STRETTO_MPI_H
#define STRETTO_STRETTO_MPI_H

#include <mpi.h>

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective over `parent`: makes a communicator with the same ranks. `parent` is duplicated, so messages never mix; it
 * may be freed at once. The caller owns *comm, and frees it (collectively) before MPI_Finalize.
 *  - STRETTO_INVALID_ARGUMENT before MPI_Init, after MPI_Finalize, for MPI_COMM_NULL or a NULL comm.
 *  - STRETTO_UNSUPPORTED for an intercommunicator, and where stretto has no module for the MPI that is loaded.
 *  - STRETTO_MPI_ERROR for MPI errors on the duplicate, whatever the error handler of `parent`.
 * Failure on one rank is failure on all, except where it concerns `parent` itself.
 * Where the environment has STRETTO_TIMEOUT=SECONDS and a rank does not come for so long, a message and MPI_Abort end
 * the program. */
static inline stretto_status stretto_comm_create(MPI_Comm parent, stretto_comm* comm) {
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION > 0
  return stretto_comm_create_from(&parent, STRETTO_MPI_STANDARD, comm);
#elif defined(OPEN_MPI)
  return stretto_comm_create_from(&parent, STRETTO_MPI_OPENMPI, comm);
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION)
  return stretto_comm_create_from(&parent, STRETTO_MPI_MPICH, comm);
#else
  return stretto_comm_create_from(&parent, STRETTO_MPI_LOADED, comm);
#endif
}

#ifdef __cplusplus
}
#endif

#endif
