/* Statuses, element types and operations, which the other headers of stretto share. C99. */
#ifndef STRETTO_STRETTO_TYPES_H
#define STRETTO_STRETTO_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STRETTO_API __attribute__((visibility("default")))
#else
#define STRETTO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stretto_status {
  STRETTO_OK = 0,
  STRETTO_INVALID_ARGUMENT = 1, /* a null pointer, a rank out of range, a value outside its enum */
  STRETTO_INVALID_BOUND = 2,    /* not finite, not positive, or a bound that no grid can hold */
  STRETTO_BUFFER_TOO_SMALL = 3, /* the output does not fit; nothing usable was written */
  STRETTO_CORRUPT_STREAM = 4,   /* bytes that are no stream, or a truncated or altered stream */
  STRETTO_INCOMPATIBLE = 5,     /* ranks that called differently, or streams that do not combine */
  STRETTO_OVERFLOW = 6,         /* the exact result does not fit the widest code */
  STRETTO_UNSUPPORTED = 7,      /* a legal request that this operation or this build does not offer */
  /* On any rank of a collective. The communicator is unusable afterwards if the ranks had agreed already (`check`). */
  STRETTO_OUT_OF_MEMORY = 8,
  /* A wait reached its limit, here or on a rank that told this one. The communicator is unusable from then on. */
  STRETTO_TIMEOUT = 9,
  STRETTO_MPI_ERROR = 10, /* the MPI, or UCX, returned an error; a rank that has ended */
  STRETTO_INTERNAL = 11   /* a broken invariant of stretto itself; please report it */
} stretto_status;

/* The message of this thread's last failure, "" if there was none. Valid until the thread's next failure. */
STRETTO_API const char* stretto_message(void);

/* The name of a status, e.g. "invalid_bound"; "unknown" for any other number. Static storage. */
STRETTO_API const char* stretto_status_name(stretto_status status);

typedef enum stretto_type {
  STRETTO_F32 = 1,
  STRETTO_F64 = 2,
  STRETTO_I32 = 3,
  STRETTO_I64 = 4,
  STRETTO_F16 = 5,  /* IEEE binary16 */
  STRETTO_BF16 = 6, /* the upper half of a binary32 */
  STRETTO_I8 = 7,
  STRETTO_U8 = 8,
  STRETTO_I16 = 9,
  STRETTO_U16 = 10,
  STRETTO_U32 = 11,
  STRETTO_U64 = 12
} stretto_type;

/* Bytes of one element; 0 for a number outside the enum. */
STRETTO_API size_t stretto_type_size(stretto_type type);

/* With a bound: SUM, DIFFERENCE, MIN, MAX and MEAN; the others give STRETTO_UNSUPPORTED. Logical operations give 0 or 1
 * of the type. LAND, LOR, LXOR, BAND, BOR and BXOR take integers only. */
typedef enum stretto_op {
  STRETTO_SUM = 1,
  STRETTO_PROD = 2,
  STRETTO_MIN = 3,
  STRETTO_MAX = 4,
  STRETTO_LAND = 5,
  STRETTO_LOR = 6,
  STRETTO_LXOR = 7,
  STRETTO_BAND = 8,
  STRETTO_BOR = 9,
  STRETTO_BXOR = 10,
  /* The sum divided by K, once, at the end; floating types only. A sum in the values' own type may overflow although
   * the mean fits. Payloads FUSED and HOMOMORPHIC, and SCOPE_RESULT with any payload, avoid that. A sum of F64 must fit
   * F64 in any case. */
  STRETTO_MEAN = 11,
  STRETTO_DIFFERENCE = 12, /* rank 0's contribution minus those of all other ranks */
  STRETTO_USER = 13        /* stretto_options.user_function; never with a bound */
} stretto_op;

/* A user's operation: inout[i] = in[i] (op) inout[i] for i in [0, count), where `in` comes from lower ranks. The
 * function is associative and the same on all ranks. It may be called on any part of the vector, by the thread that
 * drives the collective only. `context` is stretto_options.user_context. */
typedef void (*stretto_user_function)(const void* in, void* inout, size_t count, stretto_type type, void* context);

/* As `sendbuf`: the rank's contribution is in the receive buffer (each collective says where). As `recvbuf` of scatter
 * and scatterv at the root: the root's block stays where it is. */
#define STRETTO_IN_PLACE ((void*)(intptr_t)-1)

/* How streams store their codes (docs/format.md). Values, errors and sums have the same bits with either. */
typedef enum stretto_coding {
  STRETTO_CODING_AUTO = 0,
  STRETTO_CODING_FIXED = 1, /* a block of codes in the width of the widest: at the speed of memory */
  STRETTO_CODING_DENSE = 2  /* entropy-coded: half to five sixths of the bytes, at a third of the speed */
} stretto_coding;

#ifdef __cplusplus
}
#endif

#endif
