/* stretto on a GPU: collectives of device memory, in the order of a CUDA stream.
 *
 *   stretto_allreduce_on_stream(mine, sum, n, STRETTO_F32, STRETTO_SUM, comm, &options, stream);
 *   ... kernels enqueued on stream from here on read sum ...
 *
 * Buffers of a rank are in the memory of one device, that of the stream. Messages have the bytes of the other forms and
 * results have their bits. So a rank may call stretto_allreduce with memory of its host where another calls
 * stretto_allreduce_on_stream; with options.check = 0 all ranks then force one schedule.
 *
 * The other collectives (stretto.h, stretto_nonblocking.h, stretto_persistent.h) take device memory too, if before the
 * communicator was made a function of stretto_cuda.h had found a device, or CUDA's driver was loaded, or once a
 * function of this file, or stretto_cuda_wait(), was called with the communicator. There the input must be ready when
 * the call is made, and the result is ready when it ends.
 *
 * Rules for every ..._on_stream function:
 *  - The call comes after earlier work on the stream, and before work that is enqueued once it has returned.
 *  - It returns when its last message has moved, and does not wait for the device's remaining work. Messages go
 *    from device to device, or through pinned memory of the host (docs/gpu.md; report.device_carrier).
 *  - The returned status is that of the arguments and of all messages. stretto_cuda_query() tells failures of
 *    the last step on the device.
 *  - A stream that is captured in a graph takes NCCL's own collectives (options.schedule "native", or none, without a
 *    bound), if it is captured on all ranks and an earlier call has found NCCL. Else it gives STRETTO_UNSUPPORTED.
 *  - Types and operations: those of numbers. Within a bound: F32, F64, F16 and BF16.
 *  - A communicator uses one device, the first it is given.
 *
 * C99; does not include CUDA's headers. `stream` is a cudaStream_t, or NULL for the legacy default stream. */
#ifndef STRETTO_STRETTO_CUDA_COLLECTIVES_H
#define STRETTO_STRETTO_CUDA_COLLECTIVES_H

#include "stretto.h"
#include "stretto_call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Any of them by its record: see stretto_call.h. STRETTO_UNSUPPORTED for a barrier. */
STRETTO_API stretto_status stretto_run_on_stream(const stretto_call* call, stretto_comm comm,
                                                 const stretto_options* options, void* stream);

STRETTO_API stretto_status stretto_allreduce_on_stream(const void* sendbuf, void* recvbuf, size_t count,
                                                       stretto_type type, stretto_op op, stretto_comm comm,
                                                       const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_reduce_on_stream(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                    stretto_op op, int root, stretto_comm comm,
                                                    const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_reduce_scatter_block_on_stream(const void* sendbuf, void* recvbuf, size_t count,
                                                                  stretto_type type, stretto_op op, stretto_comm comm,
                                                                  const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_scan_on_stream(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                  stretto_op op, stretto_comm comm, const stretto_options* options,
                                                  void* stream);
STRETTO_API stretto_status stretto_exscan_on_stream(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                    stretto_op op, stretto_comm comm, const stretto_options* options,
                                                    void* stream);
STRETTO_API stretto_status stretto_allgather_on_stream(const void* sendbuf, void* recvbuf, size_t count,
                                                       stretto_type type, stretto_comm comm,
                                                       const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_bcast_on_stream(void* buffer, size_t count, stretto_type type, int root,
                                                   stretto_comm comm, const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_alltoall_on_stream(const void* sendbuf, void* recvbuf, size_t count,
                                                      stretto_type type, stretto_comm comm,
                                                      const stretto_options* options, void* stream);

STRETTO_API stretto_status stretto_scatter_on_stream(const void* sendbuf, void* recvbuf, size_t count,
                                                     stretto_type type, int root, stretto_comm comm,
                                                     const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_gather_on_stream(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                                    int root, stretto_comm comm, const stretto_options* options,
                                                    void* stream);

/* Counts, displacements and contributions are arrays of the host, which the call has read when it returns. */
STRETTO_API stretto_status stretto_allreduce_multi_on_stream(const void* const* contributions, int k, void* recvbuf,
                                                             size_t count, stretto_type type, stretto_op op,
                                                             stretto_comm comm, const stretto_options* options,
                                                             void* stream);
STRETTO_API stretto_status stretto_reduce_scatter_on_stream(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                            stretto_type type, stretto_op op, stretto_comm comm,
                                                            const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_allgatherv_on_stream(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                        const size_t* displs, stretto_type type, stretto_comm comm,
                                                        const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_scatterv_on_stream(const void* sendbuf, const size_t* counts, const size_t* displs,
                                                      void* recvbuf, size_t recvcount, stretto_type type, int root,
                                                      stretto_comm comm, const stretto_options* options, void* stream);
STRETTO_API stretto_status stretto_gatherv_on_stream(const void* sendbuf, size_t sendcount, void* recvbuf,
                                                     const size_t* counts, const size_t* displs, stretto_type type,
                                                     int root, stretto_comm comm, const stretto_options* options,
                                                     void* stream);
STRETTO_API stretto_status stretto_alltoallv_on_stream(const void* sendbuf, const size_t* sendcounts,
                                                       const size_t* sdispls, void* recvbuf, const size_t* recvcounts,
                                                       const size_t* rdispls, stretto_type type, stretto_comm comm,
                                                       const stretto_options* options, void* stream);

/* *done = 1: the device has done all that collectives of `comm` enqueued. The status is then that of their last steps,
 * once: STRETTO_CORRUPT_STREAM, say. STRETTO_INTERNAL: the device was lost. */
STRETTO_API stretto_status stretto_cuda_query(stretto_comm comm, int* done);

/* Memory that collectives of `comm` on vectors of up to `count` values use: of the device, and pinned. An estimate for
 * any schedule of fixed streams, from above, one collective at a time. A vector counts as a whole: p * count for
 * stretto_allgather with `count`. STRETTO_INVALID_ARGUMENT: more than 2^48 values. */
STRETTO_API stretto_status stretto_cuda_need(stretto_comm comm, stretto_type type, size_t count, size_t* device_bytes,
                                             size_t* pinned_bytes);

/* Takes that memory on the current device now. From then on collectives of `comm` allocate none: one that needs more
 * ends in STRETTO_BUFFER_TOO_SMALL on every rank. Without it a communicator takes memory as its calls need more. Not
 * collective. STRETTO_INVALID_ARGUMENT: a collective of `comm` is in flight, or the device still works on one, as
 * stretto_cuda_query() tells. */
STRETTO_API stretto_status stretto_cuda_reserve(stretto_comm comm, size_t device_bytes, size_t pinned_bytes);

#ifdef __cplusplus
}
#endif

#endif
