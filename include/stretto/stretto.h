/* stretto: collective communication with error-bounded compressed payloads. The C API.
 *
 *   #include <stretto/stretto_mpi.h>
 *
 *   stretto_comm comm;
 *   stretto_comm_create(MPI_COMM_WORLD, &comm);
 *
 *   stretto_options options = STRETTO_OPTIONS_INIT;
 *   options.bound_kind = STRETTO_BOUND_RELATIVE;
 *   options.bound = 1e-4;
 *   if (stretto_allreduce(mine, sum, n, STRETTO_F32, STRETTO_SUM, comm, &options) != STRETTO_OK)
 *     fprintf(stderr, "%s\n", stretto_message());
 *   stretto_comm_free(comm);
 *
 * The sum is within 1e-4 of the range of all ranks' floats. options.scope can bound each rank's part instead, and the
 * sum by p times that. NULL options: exact.
 *
 * This header brings stretto_types.h (statuses, types, operations), stretto_options.h (bounds, payloads, how a call
 * runs) and stretto_report.h (figures of a call). Beside it: stretto_nonblocking.h (collectives that return a request),
 * stretto_persistent.h (collectives prepared once), stretto_call.h (any collective as a record), stretto_stream.h (the
 * codec by itself), stretto_mpi.h (communicators over MPI), stretto_store.h (communicators without an MPI),
 * stretto_cuda.h (the codec on a CUDA stream), stretto_cuda_collectives.h (collectives of device memory), stretto.hpp
 * (C++).
 *
 * Rules for every function:
 *  - It returns a stretto_status. On failure stretto_message() names the offending values. Nothing aborts, prints or
 *    throws.
 *  - Arguments are checked before data move. A wrong argument on one rank of a collective is an error on every rank; no
 *    rank waits in vain. A rank that later runs out of memory tells the others, which return its status and name it.
 *  - Counts and displacements are in elements, lengths of streams in bytes, times in seconds.
 *  - count == 0 is legal everywhere; buffers may then be NULL.
 *  - A buffer is borrowed until the call returns, or until the request of a nonblocking call is complete.
 *  - A communicator belongs to the process that made it. In a forked child its functions return STRETTO_UNSUPPORTED.
 *  - Distinct communicators may be used by distinct threads at once (over MPI: with MPI_THREAD_MULTIPLE). One
 *    communicator is used by one thread at a time.
 *
 * Symbols: p is the number of ranks. K is the number of contributions to an element: p, or the number of all arrays in
 * stretto_allreduce_multi. eps is the bound for one contribution.
 *
 * Words: a stream is a compressed vector, of integer codes. A code stands for a point of a grid, code * width.
 * Quantisation rounds values to this grid. Sums in code space add codes, exactly. docs/semantics.md has more.
 *
 * C99; needs nothing but <stddef.h> and <stdint.h>. */
#ifndef STRETTO_STRETTO_H
#define STRETTO_STRETTO_H

#include "stretto_options.h"
#include "stretto_report.h"
#include "stretto_types.h"

#define STRETTO_VERSION_MAJOR 0
#define STRETTO_VERSION_MINOR 1
#define STRETTO_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library that runs, "MAJOR.MINOR.PATCH". Static storage. */
STRETTO_API const char* stretto_version(void);

/* ------------------------------------------------------------------------------------- communicators ---- */

/* stretto_comm_create() in stretto_mpi.h makes a communicator over an MPI_Comm. The functions below make communicators
 * whose ranks are threads. */
typedef struct stretto_comm_s* stretto_comm;
typedef struct stretto_thread_group_s* stretto_thread_group;

/* A group of `ranks` >= 1 threads of this process, to be used as ranks. One thread calls it, once. The caller owns
 * *group, and frees it after all communicators made from it. */
STRETTO_API stretto_status stretto_thread_group_create(int ranks, stretto_thread_group* group);

/* Free a group whose communicators have all been freed; NULL is legal. */
STRETTO_API stretto_status stretto_thread_group_free(stretto_thread_group group);

/* Collective over the group: each of its `ranks` threads calls it with its own rank in [0, ranks), and it returns when
 * all have called. All threads get STRETTO_INVALID_ARGUMENT where a rank is out of range or taken twice, and
 * STRETTO_TIMEOUT where a thread does not call within 300 s. The caller owns *comm. May be repeated for further
 * communicators. */
STRETTO_API stretto_status stretto_comm_create_threads(stretto_thread_group group, int rank, stretto_comm* comm);

/* The binary interfaces of MPIs. */
typedef enum stretto_mpi {
  STRETTO_MPI_LOADED = 0,  /* that of the MPI in this process */
  STRETTO_MPI_OPENMPI = 1, /* Open MPI */
  STRETTO_MPI_MPICH = 2,   /* MPICH, and its kin: Intel MPI, MVAPICH, Cray */
  STRETTO_MPI_STANDARD = 3 /* the standard one of MPI 5 */
} stretto_mpi;

/* stretto_comm_create() of stretto_mpi.h for callers that have no mpi.h: collective over the MPI_Comm that lies at
 * `mpi_comm`. `compiled_for` is the interface that it comes from. The module for the MPI in this process is
 * loaded from stretto/ beside this library, or from the directory in the environment's STRETTO_MODULES. Further:
 *  - STRETTO_UNSUPPORTED where no MPI is loaded, no module fits it, or `compiled_for` is another's. */
STRETTO_API stretto_status stretto_comm_create_from(const void* mpi_comm, stretto_mpi compiled_for, stretto_comm* comm);

/* Ends waits before their limit, as for a user's Ctrl-C: from now on this thread's waits in collectives call
 * interrupted(context) about 20 times a second. Nonzero ends the wait as a limit does: STRETTO_TIMEOUT, here and on
 * ranks that wait for this one. The function calls nothing of stretto. NULL: waits end at their limits, which is the
 * default. The making of a communicator asks where ranks meet in a store. A blocking collective inside the MPI
 * ("native") does not ask. */
typedef int (*stretto_interrupt)(void* context);
STRETTO_API stretto_status stretto_interrupt_by(stretto_interrupt interrupted, void* context);

/* Nonzero: this thread works beside others that want the cores. From now on its waits for messages of other hosts over
 * UCX sleep at once, where they would poll for up to 0.3 ms first. 0, the default: as STRETTO_WAIT says, which also
 * overrides this with "spin". No result depends on it. */
STRETTO_API stretto_status stretto_wait_in_background(int background);

/* Free a communicator; NULL is legal. Collective over MPI (it frees a duplicate), not over threads. While the
 * communicator has a request that was not freed, nothing happens and the status is STRETTO_INVALID_ARGUMENT. */
STRETTO_API stretto_status stretto_comm_free(stretto_comm comm);

/* Number of ranks and this rank; -1 for NULL. */
STRETTO_API int stretto_comm_size(stretto_comm comm);
STRETTO_API int stretto_comm_rank(stretto_comm comm);

/* Memory that other ranks of the host read and write in place, so that collectives inside the host need not copy it. It
 * lies in this process's arena (STRETTO_ARENA_SIZE; docs/node.md), and in ordinary memory where the arena is full.
 * *buffer is aligned to 64 bytes, with unspecified content, and is the caller's until stretto_free(). stretto_free()
 * takes buffers of stretto_alloc() only, or NULL. `bytes` 0 is legal. The message of STRETTO_OUT_OF_MEMORY names the
 * bytes. */
STRETTO_API stretto_status stretto_alloc(size_t bytes, void** buffer);
STRETTO_API stretto_status stretto_free(void* buffer);

/* --------------------------------------------------------------------------------------- collectives ----
 * Common to all:
 *  - `comm` is not NULL; `type` and `op` are members of their enums.
 *  - All ranks call the same collectives on a communicator in the same order.
 *  - Send and receive buffers do not overlap, but for STRETTO_IN_PLACE. Send buffers are never written. On failure the
 *    content of receive buffers is unspecified.
 *  - Arrays of counts and displacements have p entries and are copied; displacements NULL: blocks lie end to end.
 *    Blocks do not overlap; elements of recvbuf between them are not written.
 *
 * With a bound, allreduce gives every rank the same bits. With HOMOMORPHIC and FUSED and equal options and inputs, all
 * reductions give the same bits for every schedule, segment and order of ranks. A relative bound's grid also depends on
 * the largest magnitude: an absolute bound of the same eps may give other bits. Where streams gain nothing, values
 * travel raw, unless a payload is forced or raw additions would break a bound for the result. */

/* recvbuf[i] = op over all ranks of sendbuf[i], i < count, on every rank.
 * Buffers: `count` elements each; in place: the contribution is in recvbuf.
 * Error: exact without a bound (floating sums round in the schedule's order). With a bound, K = p in stretto_scope:
 * SUM and DIFFERENCE p*eps; MEAN, MIN and MAX eps. RECOMPRESS and CPRP2P: sums (2p-1)*eps, MEAN (2p-1)/p*eps. */
STRETTO_API stretto_status stretto_allreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_op op, stretto_comm comm, const stretto_options* options);

/* recvbuf[i] = op over all ranks, and over the k arrays of each, of contributions[j][i]. Operations: SUM, MEAN, MIN,
 * MAX. k >= 0 may differ between ranks, K >= 1 in total; a rank with k == 0 adds nothing, in SUM and MEAN only (else
 * STRETTO_INVALID_ARGUMENT). Each array holds `count` elements and does not overlap recvbuf; `contributions` is copied,
 * the arrays are borrowed.
 * Error: as stretto_allreduce with K in place of p (RECOMPRESS and CPRP2P: sums (K+p-1)*eps).
 * Bits: with a bound, a rank's own arrays are added in code space at any size. With AUTO, HOMOMORPHIC and FUSED the
 * result has the same bits however the K contributions are shared out among however many ranks. */
STRETTO_API stretto_status stretto_allreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                                   stretto_type type, stretto_op op, stretto_comm comm,
                                                   const stretto_options* options);

/* stretto_allreduce with the result at `root` only. recvbuf: significant at root. In place: at root only, the
 * contribution is in recvbuf. */
STRETTO_API stretto_status stretto_reduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                          stretto_op op, int root, stretto_comm comm, const stretto_options* options);

/* The vector of p*count elements is reduced; rank r gets elements [r*count, (r+1)*count). sendbuf: p*count elements,
 * recvbuf: count. In place: recvbuf holds p*count, the result lands at its start.
 * Error: as stretto_allreduce. */
STRETTO_API stretto_status stretto_reduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count,
                                                        stretto_type type, stretto_op op, stretto_comm comm,
                                                        const stretto_options* options);

/* Blocks of counts[r] elements for rank r, laid end to end; counts are the same on all ranks. */
STRETTO_API stretto_status stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                  stretto_type type, stretto_op op, stretto_comm comm,
                                                  const stretto_options* options);

/* recvbuf[i] on rank r = op over ranks 0 to r of sendbuf[i], i < count, in the order of ranks.
 * Buffers: `count` elements each; in place: the contribution is in recvbuf. Operations: all but MEAN and DIFFERENCE.
 * Values travel as they are, with a bound too; forced payloads other than RAW give STRETTO_UNSUPPORTED.
 * Error: exact (floating sums round in the schedule's order). */
STRETTO_API stretto_status stretto_scan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                        stretto_op op, stretto_comm comm, const stretto_options* options);

/* stretto_scan over ranks 0 to r-1. recvbuf of rank 0 is not written, and may be NULL unless it holds the contribution,
 * in place. */
STRETTO_API stretto_status stretto_exscan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                          stretto_op op, stretto_comm comm, const stretto_options* options);

/* Block r of recvbuf (count elements at r*count) = sendbuf of rank r, on every rank. In place: a rank's own block is in
 * recvbuf. */
STRETTO_API stretto_status stretto_allgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_comm comm, const stretto_options* options);

/* Allgather of counts[r] elements from rank r, at recvbuf + displs[r]; counts are the same on all ranks. */
STRETTO_API stretto_status stretto_allgatherv(const void* sendbuf, void* recvbuf, const size_t* counts,
                                              const size_t* displs, stretto_type type, stretto_comm comm,
                                              const stretto_options* options);

/* buffer (count elements) of root, on every rank. With a bound the root's buffer is left as it is; the others are
 * within eps of it, all with the same bits. */
STRETTO_API stretto_status stretto_bcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                                         const stretto_options* options);

/* Block r of sendbuf at root (count elements at r*count) to recvbuf of rank r. sendbuf: significant at root.
 * In place: STRETTO_IN_PLACE as recvbuf at root, whose block stays in sendbuf. */
STRETTO_API stretto_status stretto_scatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                           int root, stretto_comm comm, const stretto_options* options);

/* Scatter of counts[r] elements at sendbuf + displs[r] to rank r. counts, displs and sendbuf: significant at root.
 * recvcount = counts[rank] on every rank, or STRETTO_INCOMPATIBLE on all. */
STRETTO_API stretto_status stretto_scatterv(const void* sendbuf, const size_t* counts, const size_t* displs,
                                            void* recvbuf, size_t recvcount, stretto_type type, int root,
                                            stretto_comm comm, const stretto_options* options);

/* sendbuf (count elements) of rank r to block r of recvbuf at root (at r*count). recvbuf: significant at root.
 * In place: STRETTO_IN_PLACE as sendbuf at root, whose block is in recvbuf already. */
STRETTO_API stretto_status stretto_gather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                          stretto_comm comm, const stretto_options* options);

/* Gather of counts[r] elements from rank r at recvbuf + displs[r]. recvbuf, counts and displs: significant at root.
 * sendcount = counts[rank] on every rank, or STRETTO_INCOMPATIBLE on all. */
STRETTO_API stretto_status stretto_gatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                           const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                           const stretto_options* options);

/* Block d of rank s's sendbuf becomes block s of rank d's recvbuf; p blocks of count elements in both.
 * In place: the blocks to send are in recvbuf and are replaced. */
STRETTO_API stretto_status stretto_alltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                            stretto_comm comm, const stretto_options* options);

/* Alltoall with counts of each pair of ranks: sendcounts[d] elements at sendbuf + sdispls[d] go to rank d,
 * recvcounts[s] elements of rank s come to recvbuf + rdispls[s]. sendcounts[d] of rank s = recvcounts[s] of rank d, or
 * STRETTO_INCOMPATIBLE on all, naming the pair. In place: sendcounts and sdispls are ignored; the blocks to send are in
 * recvbuf and are replaced. */
STRETTO_API stretto_status stretto_alltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls,
                                             void* recvbuf, const size_t* recvcounts, const size_t* rdispls,
                                             stretto_type type, stretto_comm comm, const stretto_options* options);

/* Returns when every rank has called it. Options: timeout, schedule and report. */
STRETTO_API stretto_status stretto_barrier(stretto_comm comm, const stretto_options* options);

#ifdef __cplusplus
}
#endif

#endif
