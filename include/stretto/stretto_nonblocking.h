/* stretto, nonblocking: each collective of stretto.h in a form that starts and returns.
 *
 *   stretto_request request;
 *   stretto_iallreduce(mine, sum, n, STRETTO_F32, STRETTO_SUM, comm, &options, &request);
 *   ... work that leaves mine and sum alone ...
 *   if (stretto_wait(request) != STRETTO_OK) fprintf(stderr, "%s\n", stretto_message());
 *   stretto_request_free(&request);
 *
 * Rules for every form:
 *  - Arguments and contract are those of the blocking form; buffers are borrowed until the request is complete.
 *  - STRETTO_OK means only that *request is valid. stretto_test and stretto_wait return errors, of arguments too, once
 *    all ranks know them.
 *  - Any number of requests may be in flight on a communicator. All ranks start them in the same order, and may wait
 *    for them in any order.
 *  - All requests of a communicator progress inside stretto_test, stretto_wait and its blocking collectives.
 *  - All ranks use the same form, blocking or nonblocking. With check = 1 different forms give STRETTO_INCOMPATIBLE. */
#ifndef STRETTO_STRETTO_NONBLOCKING_H
#define STRETTO_STRETTO_NONBLOCKING_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A started collective. The caller owns it until stretto_request_free(). */
typedef struct stretto_request_s* stretto_request;

/* Make progress without blocking. *done = 1 when complete; this and every later test or wait then return the status of
 * the collective. While *done = 0 the status is STRETTO_OK. */
STRETTO_API stretto_status stretto_test(stretto_request request, int* done);

/* Communication cores: `n` cores (numbers of Linux's CPUs) on which a thread of this process moves what is in flight
 * while the program computes; n = 0: none, and calls move only inside test, wait and blocking collectives, which is the
 * default. The thread sleeps while nothing is in flight. It serves collectives that run in a host's memory (schedule
 * "node", and named trees), over threads, over UCX, and over an MPI with MPI_THREAD_MULTIPLE. Where a tree is split
 * (docs/overlap.md), the call that starts it first does the levels next to the leaves; it waits for other ranks for
 * moments at most. STRETTO_COMM_CORES=14,15 in the environment says the same where this is never called.
 * STRETTO_INVALID_ARGUMENT: cores that are not there, that this process may not use, or that are given twice. */
STRETTO_API stretto_status stretto_comm_cores(const int* cores, int n);

/* Block until complete. The status is that of the collective, or STRETTO_TIMEOUT with a diagnosis of who is missing. */
STRETTO_API stretto_status stretto_wait(stretto_request request);

/* Release a request and set *request to NULL, after waiting where it is not complete. The status is not that of the
 * collective. *request == NULL is legal. */
STRETTO_API stretto_status stretto_request_free(stretto_request* request);

STRETTO_API stretto_status stretto_iallreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                              stretto_op op, stretto_comm comm, const stretto_options* options,
                                              stretto_request* request);
STRETTO_API stretto_status stretto_iallreduce_multi(const void* const* contributions, int k, void* recvbuf,
                                                    size_t count, stretto_type type, stretto_op op, stretto_comm comm,
                                                    const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_ireduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                           stretto_op op, int root, stretto_comm comm, const stretto_options* options,
                                           stretto_request* request);
STRETTO_API stretto_status stretto_ireduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count,
                                                         stretto_type type, stretto_op op, stretto_comm comm,
                                                         const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_ireduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                   stretto_type type, stretto_op op, stretto_comm comm,
                                                   const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_iscan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                         stretto_op op, stretto_comm comm, const stretto_options* options,
                                         stretto_request* request);
STRETTO_API stretto_status stretto_iexscan(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                           stretto_op op, stretto_comm comm, const stretto_options* options,
                                           stretto_request* request);
STRETTO_API stretto_status stretto_iallgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                              stretto_comm comm, const stretto_options* options,
                                              stretto_request* request);
STRETTO_API stretto_status stretto_iallgatherv(const void* sendbuf, void* recvbuf, const size_t* counts,
                                               const size_t* displs, stretto_type type, stretto_comm comm,
                                               const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_ibcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                                          const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_iscatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                            int root, stretto_comm comm, const stretto_options* options,
                                            stretto_request* request);
STRETTO_API stretto_status stretto_iscatterv(const void* sendbuf, const size_t* counts, const size_t* displs,
                                             void* recvbuf, size_t recvcount, stretto_type type, int root,
                                             stretto_comm comm, const stretto_options* options,
                                             stretto_request* request);
STRETTO_API stretto_status stretto_igather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                           int root, stretto_comm comm, const stretto_options* options,
                                           stretto_request* request);
STRETTO_API stretto_status stretto_igatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                            const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                            const stretto_options* options, stretto_request* request);
STRETTO_API stretto_status stretto_ialltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_comm comm, const stretto_options* options,
                                             stretto_request* request);
STRETTO_API stretto_status stretto_ialltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls,
                                              void* recvbuf, const size_t* recvcounts, const size_t* rdispls,
                                              stretto_type type, stretto_comm comm, const stretto_options* options,
                                              stretto_request* request);
STRETTO_API stretto_status stretto_ibarrier(stretto_comm comm, const stretto_options* options,
                                            stretto_request* request);

#ifdef __cplusplus
}
#endif

#endif
