/* stretto, persistent: each collective of stretto.h in a form that is prepared once and started many times, as
 * MPI_Allreduce_init.
 *
 *   stretto_request request;
 *   stretto_allreduce_init(mine, sum, n, STRETTO_F32, STRETTO_SUM, comm, &options, &request);
 *   for (int step = 0; step < steps; ++step) {
 *     fill(mine);
 *     stretto_start(request);
 *     ... work that leaves mine and sum alone ...
 *     if (stretto_wait(request) != STRETTO_OK) fprintf(stderr, "%s\n", stretto_message());
 *   }
 *   stretto_request_free(&request);
 *
 * Rules for every form, beside those of stretto_nonblocking.h:
 *  - Arguments, options and arrays of counts are read once. Buffers, `options.report` and what `options` points to are
 *    borrowed until the request is freed; between starts the caller may use the buffers.
 *  - What a start does is what the nonblocking form does at that moment. Started and nonblocking collectives meet: all
 *    ranks start in one order.
 *  - Errors of arguments come from the test or wait after each start, once all ranks know them.
 *  - A request that was not started is complete. Preparing sends no message. */
#ifndef STRETTO_STRETTO_PERSISTENT_H
#define STRETTO_STRETTO_PERSISTENT_H

#include "stretto_nonblocking.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts a persistent request. STRETTO_INVALID_ARGUMENT, and nothing is started: it is none, or runs. */
STRETTO_API stretto_status stretto_start(stretto_request request);

STRETTO_API stretto_status stretto_allreduce_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                  stretto_op op, stretto_comm comm, const stretto_options* options,
                                                  stretto_request* request);
STRETTO_API stretto_status stretto_allreduce_multi_init(const void* const* contributions, int k, void* recvbuf,
                                                        size_t count, stretto_type type, stretto_op op,
                                                        stretto_comm comm, const stretto_options* options,
                                                        stretto_request* request);
STRETTO_API stretto_status stretto_reduce_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                               stretto_op op, int root, stretto_comm comm,
                                               const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_reduce_scatter_block_init(const void* sendbuf, void* recvbuf, size_t count,
                                                             stretto_type type, stretto_op op, stretto_comm comm,
                                                             const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_reduce_scatter_init(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                       stretto_type type, stretto_op op, stretto_comm comm,
                                                       const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_scan_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_op op, stretto_comm comm, const stretto_options* options,
                                             stretto_request* request);
STRETTO_API stretto_status stretto_exscan_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                               stretto_op op, stretto_comm comm, const stretto_options* options,
                                               stretto_request* request);
STRETTO_API stretto_status stretto_allgather_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                  stretto_comm comm, const stretto_options* options,
                                                  stretto_request* request);
STRETTO_API stretto_status stretto_allgatherv_init(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                   const size_t* displs, stretto_type type, stretto_comm comm,
                                                   const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_bcast_init(void* buffer, size_t count, stretto_type type, int root,
                                              stretto_comm comm, const stretto_options* options,
                                              stretto_request* request);
STRETTO_API stretto_status stretto_scatter_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                int root, stretto_comm comm, const stretto_options* options,
                                                stretto_request* request);
STRETTO_API stretto_status stretto_scatterv_init(const void* sendbuf, const size_t* counts, const size_t* displs,
                                                 void* recvbuf, size_t recvcount, stretto_type type, int root,
                                                 stretto_comm comm, const stretto_options* options,
                                                 stretto_request* request);
STRETTO_API stretto_status stretto_gather_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                               int root, stretto_comm comm, const stretto_options* options,
                                               stretto_request* request);
STRETTO_API stretto_status stretto_gatherv_init(const void* sendbuf, size_t sendcount, void* recvbuf,
                                                const size_t* counts, const size_t* displs, stretto_type type, int root,
                                                stretto_comm comm, const stretto_options* options,
                                                stretto_request* request);
STRETTO_API stretto_status stretto_alltoall_init(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                 stretto_comm comm, const stretto_options* options,
                                                 stretto_request* request);
STRETTO_API stretto_status stretto_alltoallv_init(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls,
                                                  void* recvbuf, const size_t* recvcounts, const size_t* rdispls,
                                                  stretto_type type, stretto_comm comm, const stretto_options* options,
                                                  stretto_request* request);
STRETTO_API stretto_status stretto_barrier_init(stretto_comm comm, const stretto_options* options,
                                                stretto_request* request);

#ifdef __cplusplus
}
#endif

#endif
