/* stretto without an MPI: communicators of processes that meet in a store, over UCX. Includes stretto.h.
 *
 * A store is what the ranks share before they are connected: keys with values. torch's TCPStore, a PMIx client and a
 * directory on a shared file system are such. Ranks of one host then use its memory, as under an MPI. */
#ifndef STRETTO_STRETTO_STORE_H
#define STRETTO_STRETTO_STORE_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A store of the caller. Its functions get `context`, and are called by one thread at a time, only while a communicator
 * is made. A status other than those named fails the creation. */
typedef struct stretto_store {
  size_t size; /* sizeof(stretto_store) */
  void* context;
  /* Sets or replaces the value of a key, a text of letters, digits, '/', '-' and '_', as a whole. */
  stretto_status (*set)(void* context, const char* key, const void* value, size_t bytes);
  /* Waits up to `seconds` for a key; 0 looks once. *bytes: the value's length. STRETTO_TIMEOUT: it is not there;
   * STRETTO_BUFFER_TOO_SMALL: it is longer than `capacity`, and nothing need be written. */
  stretto_status (*get)(void* context, const char* key, double seconds, void* value, size_t capacity, size_t* bytes);
  /* Removes a key; one that is not there is no failure. */
  stretto_status (*remove)(void* context, const char* key);
} stretto_store;

typedef struct stretto_store_options {
  size_t size;            /* sizeof(stretto_store_options) */
  const char* name;       /* of the communicator in the store, the same on every rank; no two at a time share one */
  double timeout;         /* seconds from this rank's call within which all ranks must have come; > 0 */
  const char* transports; /* as UCX_TLS has them, such as "tcp"; NULL: UCX chooses */
} stretto_store_options;
#define STRETTO_STORE_OPTIONS_INIT \
  { sizeof(stretto_store_options), "stretto", 300.0, NULL }

/* Collective over `ranks` processes, each with its own rank in [0, ranks), ranks <= 16384: makes a communicator. The
 * store is not used any more when it returns, and holds no key of it. `options` may be NULL. The caller owns *comm, and
 * frees it collectively. Failures, the same on all ranks that could be told:
 *  - STRETTO_TIMEOUT: ranks did not come within options.timeout; the message names them.
 *  - STRETTO_INVALID_ARGUMENT: rank, ranks, store or options are none, or two processes have one rank. One that is
 *    noticed when the others have met already is refused alone.
 *  - STRETTO_INCOMPATIBLE: the ranks differ in `ranks` or in the version of stretto.
 *  - STRETTO_UNSUPPORTED: there is no module for UCX, no UCX, or none of its transports serves.
 * Keys that an earlier program left are told from those of this one. STRETTO_CONNECTIONS in the environment, 1 to 8, is
 * the number of connections to each other rank (docs/carriers.md). */
STRETTO_API stretto_status stretto_comm_create_store(const stretto_store* store, int rank, int ranks,
                                                     const stretto_store_options* options, stretto_comm* comm);

/* The same with rank, ranks and store from the environment:
 *  - STRETTO_STORE: file:///DIRECTORY, a directory that all ranks see. It is made if it is not there.
 *  - STRETTO_RANK and STRETTO_SIZE; else the first pair of which both are there: RANK and WORLD_SIZE (torchrun),
 *    OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE, PMI_RANK and PMI_SIZE, SLURM_PROCID and SLURM_STEP_NUM_TASKS or
 *    SLURM_NTASKS.
 *  - STRETTO_NAME, if it is there, is options.name.
 *  - STRETTO_TIMEOUT, if it is there and options is NULL, is options.timeout.
 * STRETTO_INVALID_ARGUMENT names what is missing or cannot be read. */
STRETTO_API stretto_status stretto_comm_create_environment(const stretto_store_options* options, stretto_comm* comm);

#ifdef __cplusplus
}
#endif

#endif
