/* stretto on a GPU: memory, copies and waits, for programs that call none of CUDA's functions themselves, as the Python
 * package.
 *
 *   void* x = NULL;
 *   stretto_cuda_allocate(STRETTO_MEMORY_DEVICE, n * sizeof(float), &x);
 *   stretto_cuda_copy(x, values, n * sizeof(float), stream);
 *   stretto_allreduce_on_stream(x, y, n, STRETTO_F32, STRETTO_SUM, comm, NULL, stream);
 *   stretto_cuda_copy(sums, y, n * sizeof(float), stream);
 *   stretto_cuda_wait(NULL, stream);
 *
 * Every function returns STRETTO_UNSUPPORTED without plugin or device, and STRETTO_INTERNAL with CUDA's error and its
 * number in stretto_message(). C99; does not include CUDA's headers. `stream` is a cudaStream_t, or NULL for the legacy
 * default stream. */
#ifndef STRETTO_STRETTO_CUDA_MEMORY_H
#define STRETTO_STRETTO_CUDA_MEMORY_H

#include "stretto.h"
#include "stretto_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of memory that p is in, and its device; -1 of memory of the host. Both as stretto_cuda_assume_memory() has
 * it. */
STRETTO_API stretto_status stretto_cuda_locate(const void* p, stretto_memory* kind, int* device);

/* The device that CUDA's calls of this thread use from now on. *before: the device until now; NULL where nobody asks.
 * STRETTO_INVALID_ARGUMENT: there is no device of this number. */
STRETTO_API stretto_status stretto_cuda_use_device(int device, int* before);

/* Memory of the current device, or pinned memory of the host, at a multiple of 256 bytes. The caller owns it.
 * STRETTO_INVALID_ARGUMENT: another kind than DEVICE or PINNED. STRETTO_OUT_OF_MEMORY: there is not so much. */
STRETTO_API stretto_status stretto_cuda_allocate(stretto_memory kind, size_t bytes, void** p);

/* Gives memory of stretto_cuda_allocate() back, of the current device or pinned. Waits for all work of the current
 * device. */
STRETTO_API stretto_status stretto_cuda_release(stretto_memory kind, void* p);

/* Enqueues a copy. A side on the host is pinned, or CUDA may copy at once and wait for the stream. */
STRETTO_API stretto_status stretto_cuda_copy(void* to, const void* from, size_t bytes, void* stream);

/* Returns when the stream has done all that was enqueued there. With a communicator its collectives take memory of
 * devices from then on, also where it was made before CUDA was loaded (stretto_cuda_collectives.h); NULL: no
 * communicator. STRETTO_TIMEOUT: stretto_interrupt_by() ended the wait. STRETTO_UNSUPPORTED: the stream is captured in
 * a graph. */
STRETTO_API stretto_status stretto_cuda_wait(stretto_comm comm, void* stream);

#ifdef __cplusplus
}
#endif

#endif
