/* A collective as a record, for callers that are written once for all collectives: bindings, dispatchers, tests.
 *
 *   stretto_call call = STRETTO_CALL_INIT;
 *   call.collective = STRETTO_ALLREDUCE;
 *   call.sendbuf = mine, call.recvbuf = sum, call.count = n, call.type = STRETTO_F32, call.op = STRETTO_SUM;
 *   stretto_run(&call, comm, NULL);
 *
 * stretto_run(), stretto_irun(), stretto_run_init() and, of stretto_cuda_collectives.h, stretto_run_on_stream() do what
 * the collective's own function does: stretto_allreduce(), stretto_iallreduce(), and so on. Its contract holds. C99. */
#ifndef STRETTO_STRETTO_CALL_H
#define STRETTO_STRETTO_CALL_H

#include "stretto.h"
#include "stretto_nonblocking.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stretto_collective {
  STRETTO_ALLREDUCE = 1,
  STRETTO_REDUCE = 2,
  STRETTO_REDUCE_SCATTER = 3,
  STRETTO_ALLGATHER = 4,
  STRETTO_BCAST = 5,
  STRETTO_GATHER = 6,
  STRETTO_SCATTER = 7,
  STRETTO_ALLTOALL = 8,
  STRETTO_BARRIER = 9,
  STRETTO_ALLREDUCE_MULTI = 10,
  STRETTO_REDUCE_SCATTER_BLOCK = 11,
  STRETTO_ALLGATHERV = 12,
  STRETTO_GATHERV = 13,
  STRETTO_SCATTERV = 14,
  STRETTO_ALLTOALLV = 15,
  STRETTO_SCAN = 16,
  STRETTO_EXSCAN = 17
} stretto_collective;

/* The arguments of a collective's function, under their names there. Fields that it does not have are ignored. */
typedef struct stretto_call {
  size_t size; /* sizeof(stretto_call), set by the initialiser: older callers keep working */
  stretto_collective collective;
  stretto_type type;
  stretto_op op;
  int root;
  size_t count;        /* scatterv: recvcount; gatherv: sendcount */
  const void* sendbuf; /* bcast has recvbuf alone, on every rank */
  void* recvbuf;
  const size_t* sendcounts;         /* alltoallv; scatterv: counts */
  const size_t* sdispls;            /* alltoallv; scatterv: displs */
  const size_t* recvcounts;         /* alltoallv; reduce_scatter, allgatherv and gatherv: counts */
  const size_t* rdispls;            /* alltoallv; allgatherv and gatherv: displs */
  const void* const* contributions; /* allreduce_multi, which has no sendbuf */
  int k;                            /* the number of these */
} stretto_call;

#define STRETTO_CALL_INIT \
  { sizeof(stretto_call), STRETTO_BARRIER, STRETTO_U8, STRETTO_SUM, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0 }

/* The blocking collective. `call` and its arrays are borrowed until the return.
 *  - STRETTO_INVALID_ARGUMENT: the collective is outside the enum; on every rank, with options.check = 0 on this one.
 *  - STRETTO_INVALID_ARGUMENT, on this rank alone, which takes no part: NULL, or a size that is none.
 *  - STRETTO_UNSUPPORTED, on this rank alone: a larger record sets fields that this library does not know. */
STRETTO_API stretto_status stretto_run(const stretto_call* call, stretto_comm comm, const stretto_options* options);

/* Elements from the start of sendbuf and of recvbuf to the last one that the call accesses on this rank, for callers
 * that know the lengths of their buffers. 0 for STRETTO_IN_PLACE and for a buffer that this rank does not have; each
 * array of `contributions` has `count`. Sends nothing, reads no buffer.
 *  - STRETTO_INVALID_ARGUMENT: as stretto_run(), and for an array of counts that is NULL. */
STRETTO_API stretto_status stretto_call_extent(const stretto_call* call, stretto_comm comm, size_t* send, size_t* recv);

/* The nonblocking form: see stretto_nonblocking.h. `call` and its arrays are borrowed until the return, buffers until
 * the request is complete. */
STRETTO_API stretto_status stretto_irun(const stretto_call* call, stretto_comm comm, const stretto_options* options,
                                        stretto_request* request);

/* The persistent form: see stretto_persistent.h. */
STRETTO_API stretto_status stretto_run_init(const stretto_call* call, stretto_comm comm, const stretto_options* options,
                                            stretto_request* request);

#ifdef __cplusplus
}
#endif

#endif
