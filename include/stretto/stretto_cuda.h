/* stretto on a GPU: the codec's operations on device memory, enqueued on a CUDA stream.
 *
 *   stretto_cuda_call call = STRETTO_CUDA_CALL_INIT;
 *   call.stream = stream, call.workspace = workspace, call.workspace_bytes = workspace_bytes, call.result = result;
 *   stretto_compress_on_stream(STRETTO_F32, values, n, 1e-3, out, capacity, &call);
 *   ... later, in stream order, *result holds the status and the length ...
 *
 * The kernels are in a plugin, libstretto_cuda.so, loaded when a function here first needs it, from
 * STRETTO_CUDA_PLUGIN (environment), beside libstretto, or the loader's path. Without plugin or device every function
 * returns STRETTO_UNSUPPORTED, and stretto_message() names the searched places.
 *
 * Rules for every ..._on_stream function:
 *  - It enqueues and returns: one kernel, behind a memset of a part of the workspace. It neither allocates nor waits,
 *    so it may be captured in a CUDA graph.
 *  - The returned status is about the arguments. How the work ended lands in call.result, in stream order.
 *  - Bytes are those of the functions of stretto_stream.h, bit for bit, for every input. A checksum is neither written
 *    nor verified.
 *  - Types: F32, F64, F16 and BF16; others give STRETTO_UNSUPPORTED.
 *  - Streams lie at multiples of 8 bytes, values at multiples of their size (16 bytes is fastest). Input and output do
 *    not overlap.
 *  - The length given for a stream is what may be read of it; the stream itself says how long it is.
 *  - The device can use every pointer (stretto_cuda_memory says so, and can be overridden). host_result must be pinned:
 *    a copy to other memory would wait.
 *
 * C99; does not include CUDA's headers. `stream` is a cudaStream_t, or NULL for the legacy default stream, also in
 * programs compiled for a default stream a thread (give cudaStreamPerThread there). */
#ifndef STRETTO_STRETTO_CUDA_H
#define STRETTO_STRETTO_CUDA_H

#include "stretto.h"
#include "stretto_stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* STRETTO_OK if there are a plugin and a device. */
STRETTO_API stretto_status stretto_cuda_available(void);

typedef enum stretto_memory {
  STRETTO_MEMORY_HOST = 0, /* not known to CUDA */
  STRETTO_MEMORY_DEVICE = 1,
  STRETTO_MEMORY_MANAGED = 2,
  STRETTO_MEMORY_PINNED = 3, /* of the host, and usable by the device */
  STRETTO_MEMORY_DETECT = 4  /* only for stretto_cuda_assume_memory */
} stretto_memory;

/* The kind of memory that p is in, or is assumed to be in. */
STRETTO_API stretto_status stretto_cuda_memory(const void* p, stretto_memory* kind);

/* From now on, in the whole process, every pointer is taken for one of this kind; DETECT asks CUDA again. For memory
 * that CUDA does not know by its address, and to save the question. Needs no plugin. */
STRETTO_API stretto_status stretto_cuda_assume_memory(stretto_memory kind);

/* In device memory, when the work has ended. */
typedef struct stretto_cuda_result {
  /* Length of the stream written; of a range, how many values are left out of it. Else, and on failure, 0. */
  uint64_t bytes;
  uint32_t status; /* a stretto_status: OK, BUFFER_TOO_SMALL, CORRUPT_STREAM, INCOMPATIBLE, OVERFLOW or UNSUPPORTED */
  uint32_t zero;
} stretto_cuda_result;

typedef struct stretto_cuda_call {
  size_t size;            /* sizeof(stretto_cuda_call), set by the initialiser */
  void* stream;           /* cudaStream_t */
  void* workspace;        /* device memory, at a multiple of 16 bytes; its content means nothing, before or after */
  size_t workspace_bytes; /* at least stretto_cuda_workspace() */
  stretto_cuda_result* result;      /* device memory, at a multiple of 8 bytes */
  stretto_cuda_result* host_result; /* NULL, or pinned host memory to which *result is copied in stream order */
} stretto_cuda_call;

#define STRETTO_CUDA_CALL_INIT \
  { sizeof(stretto_cuda_call), NULL, NULL, 0, NULL, NULL }

typedef enum stretto_cuda_operation {
  STRETTO_CUDA_COMPRESS = 0,
  STRETTO_CUDA_DECOMPRESS = 1,
  STRETTO_CUDA_ADD = 2,
  STRETTO_CUDA_SUBTRACT = 3,
  STRETTO_CUDA_MIN = 4,
  STRETTO_CUDA_MAX = 5,
  STRETTO_CUDA_ADD_VALUES = 6,
  STRETTO_CUDA_ADD_CODES = 7,
  STRETTO_CUDA_QUANTISE = 8,
  STRETTO_CUDA_RANGE = 9,
  STRETTO_CUDA_TO_DENSE = 10,
  STRETTO_CUDA_TO_FIXED = 11
} stretto_cuda_operation;

/* Bytes of workspace for an operation on `count` values (2^48 at most), on the current device. */
STRETTO_API stretto_status stretto_cuda_workspace(stretto_cuda_operation operation, stretto_type type, size_t count,
                                                  size_t* bytes);

/* stretto_compress; a capacity of stretto_compress_bound() suffices. */
STRETTO_API stretto_status stretto_compress_on_stream(stretto_type type, const void* values, size_t count, double eps,
                                                      void* out, size_t capacity, const stretto_cuda_call* call);

/* stretto_decompress; `type` and `count` are the stream's, else INCOMPATIBLE in the result. divisor >= 1. */
STRETTO_API stretto_status stretto_decompress_on_stream(stretto_type type, const void* stream, size_t bytes,
                                                        void* values, size_t count, uint32_t divisor,
                                                        const stretto_cuda_call* call);

/* stretto_stream_add, _subtract, _min or _max, as `operation` says; a capacity of stretto_combine_bound() suffices. */
STRETTO_API stretto_status stretto_combine_on_stream(stretto_cuda_operation operation, stretto_type type, const void* a,
                                                     size_t a_bytes, const void* b, size_t b_bytes, size_t count,
                                                     void* out, size_t capacity, const stretto_cuda_call* call);

/* stretto_stream_add_values: out = a + compress(values), in one pass. */
STRETTO_API stretto_status stretto_add_values_on_stream(stretto_type type, const void* a, size_t a_bytes,
                                                        const void* values, size_t count, void* out, size_t capacity,
                                                        const stretto_cuda_call* call);

/* stretto_add_values_on_stream() in two kernels. The first finds the codes of values for bound eps: int32 each (int64
 * for F64), the smallest integer for values that have none. The second adds them, and `values` without a code, to a
 * stream of the same eps. It gives the bytes of stretto_add_values_on_stream. */
STRETTO_API stretto_status stretto_quantise_on_stream(stretto_type type, const void* values, size_t count, double eps,
                                                      void* codes, const stretto_cuda_call* call);
STRETTO_API stretto_status stretto_add_codes_on_stream(stretto_type type, const void* a, size_t a_bytes,
                                                       const void* codes, const void* values, size_t count, void* out,
                                                       size_t capacity, const stretto_cuda_call* call);

/* The groups of a stream in the other coding: a dense stream of a fixed one (`coding` STRETTO_CODING_DENSE, workspace
 * of STRETTO_CUDA_TO_DENSE), or a fixed stream of a dense one (STRETTO_CODING_FIXED, STRETTO_CUDA_TO_FIXED). The bytes
 * are those of stretto_stream_slice of all values with STRETTO_DENSE or STRETTO_FIXED. Values and sums stay the same.
 * All other functions here take fixed streams alone.
 *  - In the result: UNSUPPORTED if the stream has the coding that is asked for, INCOMPATIBLE if it has another type or
 *    count.
 *  - A dense stream takes no more bytes than the fixed one; for a fixed stream stretto_combine_bound() suffices.
 *  - Words of `out` are changed by atomic operations of the device. */
STRETTO_API stretto_status stretto_recode_on_stream(stretto_type type, stretto_coding coding, const void* stream,
                                                    size_t bytes, size_t count, void* out, size_t capacity,
                                                    const stretto_cuda_call* call);

/* stretto_value_range: range[0] is the smallest and range[1] the largest finite value; +inf and -inf if none is. */
STRETTO_API stretto_status stretto_value_range_on_stream(stretto_type type, const void* values, size_t count,
                                                         double* range, const stretto_cuda_call* call);

/* stretto_value_range_below: the range of the finite values whose magnitude is below ignore_above (0: 1e15), without
 * fill values (1e20). result->bytes says how many finite values are left out. One pass. ignore_above of NaN or below 0
 * gives STRETTO_INVALID_ARGUMENT. */
STRETTO_API stretto_status stretto_value_range_below_on_stream(stretto_type type, const void* values, size_t count,
                                                               double ignore_above, double* range,
                                                               const stretto_cuda_call* call);

#ifdef __cplusplus
}
#endif

#endif
