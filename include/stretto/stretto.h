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
 * Beside this header: stretto_nonblocking.h (collectives that return a request), stretto_persistent.h (collectives
 * prepared once), stretto_stream.h (the codec by itself), stretto_mpi.h (communicators over MPI), stretto_store.h
 * (communicators without an MPI), stretto_cuda.h (the codec on a CUDA stream), stretto_cuda_collectives.h (collectives
 * of device memory), stretto.hpp (C++).
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
 * C99; needs nothing but the two headers below. */
#ifndef STRETTO_STRETTO_H
#define STRETTO_STRETTO_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STRETTO_API __attribute__((visibility("default")))
#else
#define STRETTO_API
#endif

#define STRETTO_VERSION_MAJOR 0
#define STRETTO_VERSION_MINOR 1
#define STRETTO_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- status ---- */

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

/* Version of the library that runs, "MAJOR.MINOR.PATCH". Static storage. */
STRETTO_API const char* stretto_version(void);

/* ------------------------------------------------------------------------------- types and operations ---- */

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

/* --------------------------------------------------------------------------------- options and report ---- */

typedef enum stretto_bound {
  STRETTO_BOUND_NONE = 0,     /* exact */
  STRETTO_BOUND_ABSOLUTE = 1, /* `bound` is in units of the data */
  /* `bound` is a fraction of the range, max - min over the finite values of all ranks' inputs. Values of magnitude
   * options.ignore_above and more are left out of the range, but keep the bound. A range of 0 makes the call exact. */
  STRETTO_BOUND_RELATIVE = 2
} stretto_bound;

/* What `bound` holds for in a reduction of K contributions, up to half a unit in the last place of the result. F16 and
 * BF16 are rounded by way of F32, and means of F32 by way of F64: up to 0.5001 units.
 *
 * CONTRIBUTION: eps = bound. Quantisation moves a sum by K*eps at most, guaranteed. With FUSED and HOMOMORPHIC nothing
 * else does. Additions in the values' own type (RAW, RECOMPRESS, CPRP2P, MIXED; "native") add their usual rounding.
 *
 * RESULT: the result is within the bound, all additions included, guaranteed.
 *  - eps = bound/K for SUM and DIFFERENCE, eps = bound for other operations, less the rounding of additions in the
 *    values' own type.
 *  - This rounding is about K*K/2*u*max|x|, with u = 2^-24 (F32), 2^-53 (F64), 2^-11 (F16) or 2^-8 (BF16).
 *  - Where the rounding could be more than half of the bound, PAYLOAD_AUTO adds streams in code space instead.
 *  - A forced payload or schedule that leaves nothing for eps, or that may overflow, gives STRETTO_INVALID_BOUND.
 *  - To learn max|x|, floating sums of K > 2 and means take a pass over the input and an exchange, whatever `check`.
 *    FUSED and HOMOMORPHIC do not; RECOMPRESS, CPRP2P and MIXED do from K = 2 on.
 *
 * RESULT_STATISTICAL_95, RESULT_STATISTICAL_95_UNIFORM: a SUM, DIFFERENCE or MEAN is within the bound with a
 * probability of about 95 %, not guaranteed. Errors must be independent, and normal or uniform. A sum has eps =
 * bound/((2/3)*sqrt(K)) or bound/((2/sqrt(3))*sqrt(K)). docs/semantics.md lists where these scopes act as RESULT. */
typedef enum stretto_scope {
  STRETTO_SCOPE_CONTRIBUTION = 0,
  STRETTO_SCOPE_RESULT = 1,
  STRETTO_SCOPE_RESULT_STATISTICAL_95 = 2,
  STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM = 3
} stretto_scope;

typedef enum stretto_payload {
  STRETTO_PAYLOAD_AUTO = 0,
  STRETTO_PAYLOAD_RAW = 1,         /* values as they are; floating sums round at each addition */
  STRETTO_PAYLOAD_RECOMPRESS = 2,  /* decompress, operate, compress at every combination: errors grow */
  STRETTO_PAYLOAD_HOMOMORPHIC = 3, /* every input compressed first, then stream + stream */
  STRETTO_PAYLOAD_FUSED = 4,       /* raw values added to the incoming stream in one pass; bits of HOMOMORPHIC */
  STRETTO_PAYLOAD_CPRP2P = 5,      /* every message compressed by its sender, decompressed by its receiver */
  STRETTO_PAYLOAD_MIXED = 6,       /* raw sums inside a host, fused between hosts; the schedule groups ranks by host */
  /* FUSED in two kernels, for comparison: on a device the codes of local values are found by a kernel of their own, when
   * a stream meets them, or all of them before the first message. Bytes and bits are FUSED's; the host runs FUSED. */
  STRETTO_PAYLOAD_QUANTISED = 7,
  STRETTO_PAYLOAD_QUANTISED_AHEAD = 8
} stretto_payload;

/* How streams store their codes (docs/format.md). Values, errors and sums have the same bits with either. */
typedef enum stretto_coding {
  STRETTO_CODING_AUTO = 0,
  STRETTO_CODING_FIXED = 1, /* a block of codes in the width of the widest: at the speed of memory */
  STRETTO_CODING_DENSE = 2  /* entropy-coded: half to five sixths of the bytes, at a third of the speed */
} stretto_coding;

#define STRETTO_NAME_MAX 32

/* What ran, on this rank. Filled when the collective completes; on failure only `size` keeps its meaning. */
typedef struct stretto_report {
  size_t size; /* sizeof(stretto_report), set by the initialiser; the library fills no more */
  /* A schedule, e.g. "ring"; "native": the MPI's own collective; "node": that of a host's shared memory; "agreement": a
   * barrier that needed nothing else. */
  char algorithm[STRETTO_NAME_MAX];
  char payload[STRETTO_NAME_MAX]; /* in lower case, as in stretto_payload; "compress_once": streams that only move */
  uint64_t contributions;         /* K; with payload "mixed" the number of hosts, whose raw sums are compressed */
  uint64_t raw_bytes;             /* what this rank would have sent raw with this schedule */
  uint64_t bytes_sent;            /* what this rank sent, without the agreement exchange */
  double ratio;                   /* raw_bytes / bytes_sent; 1 when nothing was sent or bytes are not known */
  double eps;                     /* bound of each contribution, absolute; 0 when exact */
  /* |result - exact| <= promised_error, up to the half unit of stretto_scope; 0 when exact. Under a statistical scope
   * it holds with that scope's probability. Rounding of additions in the values' own type is counted only where the
   * bound is for the result; then also where a range of 0 made the call exact. */
  double promised_error;
  double codec_seconds;     /* of this rank */
  double agree_seconds;     /* from the start to the end of the agreement exchange */
  double seconds;           /* from the start to completion */
  double predicted_seconds; /* by the model, without the agreement; 0: no prediction */
  double expected_ratio;    /* assumed by the choice, or found by a sample of the data; 1: raw */
  /* Messages of fewer bytes of values than this travelled raw, the others as streams; 0: none did. In a floating sum,
   * difference or mean only where options.raw_below asks for it: raw additions round. */
  uint64_t raw_below;
  /* Why this algorithm:
   *  "predicted"             the model expects nothing else to be clearly faster
   *  "assumed"               the same for "node", on a machine that was not measured
   *  "forced"                by `schedule` or `payload`
   *  "no native collective"  serves this call
   *  "raw sums would round too much", "unequal counts"
   *  "agreement"             was all that a barrier needed
   *  "unpredicted"           the model had no answer */
  char reason[STRETTO_NAME_MAX];
  double mpi_seconds; /* the model's prediction for the MPI's own collective; 0: none */
  /* 1: bytes are those of this rank's messages, or of streams that it put into shared memory. 0: nobody counted, both
   * are 0: "native", and "node" with exact values. */
  int bytes_known;
  uint64_t ignored; /* finite values left out of the range of a relative bound, over all ranks */
  /* The range of a relative bound; and the range of all finite values, those left out included. Equal when `ignored` is
   * 0. Both are 0 to 0 where the call needed no range, or no value is in it. */
  double range_lo, range_hi;
  double ignored_lo, ignored_hi;
  /* The profile whose times of messages the predictions took: a name. "built-in": nobody measured messages over this
   * communicator's MPI, or over UCX, on this machine. */
  char profile[STRETTO_NAME_MAX];
  /* |result - exact| <= error_with_rounding for every finite value of this rank's result, with all rounding: that of
   * promised_error, of additions in the values' own type, and of the result to its type. A check by hand finds it kept.
   * 0 where nothing rounds. Infinite where nobody looked at the values: floating reductions without a bound (but
   * minimum and maximum), and what docs/semantics.md lists. Costs a pass over the result of a reduction with a bound, which
   * is left out where `size` ends before this field, or where the caller has set it to a negative number: then it is
   * infinite. */
  double error_with_rounding;
  /* Of a started tree that communication cores drive: levels from its leaves that the caller's core did (S in
   * docs/overlap.md); 0: the cores drove all of it, or there were none. */
  int split;
  /* Of this rank, in which it only waited for messages; in memory of a device: and no codec was at work there, whose time
   * is codec_seconds. Of schedules alone; else 0. */
  double wait_seconds;
  /* What moved messages where a rank's buffers were in memory of a device: "peer", "peer (CUDA IPC)", NCCL and its version,
   * "MPI with device pointers", "UCX with device memory"; "host": through pinned memory. "": no such call, or one rank. */
  char device_carrier[STRETTO_NAME_MAX];
  stretto_coding coding; /* of the streams in this rank's messages; AUTO: there were none */
} stretto_report;

#define STRETTO_REPORT_INIT                                                                                           \
  {                                                                                                                   \
    sizeof(stretto_report), "", "", 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, "", 0.0, 0, 0, 0.0, 0.0, 0.0, \
        0.0, "", 0.0, 0, 0.0, "", STRETTO_CODING_AUTO                                                                 \
  }

/* How a collective runs. NULL means STRETTO_OPTIONS_INIT: exact, everything chosen. The call copies the struct. All
 * ranks pass equal bound_kind, bound, scope, ignore_above, schedule, payload, segment, raw_below, reproducible and coding
 * (with USER also user_commutes), else every rank returns STRETTO_INCOMPATIBLE. Ranks with different check wait for different
 * exchanges until the timeout, or get STRETTO_INCOMPATIBLE sooner. */
typedef struct stretto_options {
  size_t size; /* sizeof(stretto_options), set by the initialiser: older callers keep working */
  stretto_bound bound_kind;
  double bound; /* > 0 and finite, else STRETTO_INVALID_BOUND; ignored when bound_kind is NONE */
  stretto_scope scope;
  /* NULL: chosen. Otherwise copied: a name of docs/algorithms.md, e.g. "ring"; "native", the MPI's own collective; or
   * "node", that of a host's shared memory (as streams only with payload FUSED or HOMOMORPHIC). STRETTO_UNSUPPORTED
   * where there is none. */
  const char* schedule;
  stretto_payload payload;
  /* Bytes of values in one message; 0: chosen. More than 262,143 segments (fewer where an MPI has few tags) give
   * STRETTO_INVALID_ARGUMENT on every rank before anything moves. */
  size_t segment;
  /* Seconds until a wait for peers gives STRETTO_TIMEOUT; 0: 300 s; negative: never. A blocking call first waits for
   * earlier requests, each of which gets as long. A blocking collective of the MPI's own cannot return: after a
   * positive timeout it ends the program by a message and MPI_Abort; otherwise it has no limit. */
  double timeout;
  int check; /* 1: the ranks agree on the arguments first (below); 0: they are trusted */
  stretto_user_function user_function;
  void* user_context;     /* borrowed until completion */
  int user_commutes;      /* 1: contributions may be combined in any order; 0: in rank order */
  stretto_report* report; /* NULL, or filled at completion; borrowed until then */
  int reproducible;       /* 1: floating reductions give the same bits wherever the ranks are (below) */
  /* Values of this magnitude and more are left out of a relative bound's range. 0: 1e15; INFINITY: none is. NaN or a
   * negative number gives STRETTO_INVALID_ARGUMENT. */
  double ignore_above;
  /* Bytes; 0: chosen. Otherwise messages of fewer bytes of values travel raw beside streams, and meet by additions in
   * the values' own type. Taken with AUTO, FUSED and HOMOMORPHIC, by schedules whose messages differ in length, such as
   * "rabenseifner".
   *  - A sum then has eps = bound/(K+1) under SCOPE_RESULT, less the rounding of the raw additions: a raw sum is
   *    compressed again. Under SCOPE_CONTRIBUTION the sum is within (K+1)*bound and this rounding.
   *  - The bits of a sum depend on the schedule, also with FUSED and HOMOMORPHIC.
   *  - AUTO adds streams alone where the rounding could be more than half of the bound. FUSED and HOMOMORPHIC give
   *    STRETTO_INVALID_BOUND where it leaves nothing for eps.
   *  - STRETTO_UNSUPPORTED: RECOMPRESS, CPRP2P and MIXED; "native", "node" and schedules that group ranks; reductions
   *    with reproducible; stretto_allreduce_multi; memory of a device. */
  size_t raw_below;
  /* Of streams in messages. AUTO: the coding that the model expects to be faster. Streams in a host's shared memory, in
   * memory of a device, and beside it are fixed; DENSE gives STRETTO_UNSUPPORTED for memory of a device. No result
   * depends on the coding. */
  stretto_coding coding;
} stretto_options;

#define STRETTO_OPTIONS_INIT                                                                                       \
  {                                                                                                                \
    sizeof(stretto_options), STRETTO_BOUND_NONE, 0.0, STRETTO_SCOPE_RESULT, NULL, STRETTO_PAYLOAD_AUTO, 0, 0.0, 1, \
        NULL, NULL, 0, NULL, 0, 0.0, 0, STRETTO_CODING_AUTO                                                        \
  }

/* check = 1: before data move, ranks agree by exchanging a signature of their call. The exchange takes ceil(log2 p)
 * messages of a few hundred bytes a rank, up to two more where p is no power of two. In a host's memory one word is
 * compared first. Where ranks differ, the message names the field, both values and a rank for each.
 *
 * check = 0 leaves the exchange out, except for what needs it: relative bounds, bounds for the result of floating sums,
 * the first call of a shape with a bound, gatherv, scatterv, alltoallv and stretto_allreduce_multi. Messages of ranks
 * that differ do not meet. Such ranks, and those that wait for them, get STRETTO_INCOMPATIBLE, else STRETTO_TIMEOUT
 * after the timeout, and the communicator is unusable. docs/limits.md says what stays unnoticed; "native" compares
 * nothing. Other ranks do not learn of a rank's argument error.
 *
 * "native" and "node": docs/semantics.md lists the calls that they serve. Exact floating sums of "node" have a fixed
 * order; its streams have the bits of FUSED. STRETTO_NODE=0 in any rank's environment leaves new communicators without
 * "node".
 *
 * reproducible = 1: exact reductions of floating types, and those by USER, are ((x0 + x1) + x2) + ..., element by
 * element. x_r is rank r's contribution (of stretto_allreduce_multi: the sum of its own, in their order).
 *  - The bits are the same for every number of hosts, hierarchy, binding, memory, length, segment and profile, in every
 *    run, blocking or started. Floating reductions with a bound and PAYLOAD_AUTO run as FUSED, gain or not.
 *  - Over several hosts only schedules "chain" and "line" add in this order, never "native"; they pass each piece
 *    through all ranks, one after another.
 *  - STRETTO_UNSUPPORTED: a forced schedule of another order where values may travel raw; RECOMPRESS, CPRP2P and MIXED.
 *  - Integers, and collectives that only move data, run as always. Moved data with a bound may travel raw in one run
 *    and compressed in another.
 *
 * Types with a bound:
 *  - F32, F64, F16, BF16: |error| <= report.promised_error, up to the half unit of stretto_scope. F32 and F64 that
 *    move, their minimum and their maximum take no half unit.
 *  - I32, I64: lossless, but the bound must be valid. A sum of streams that does not fit its type gives
 *    STRETTO_OVERFLOW on ranks that would hold the sum or add to it. Other ranks may return STRETTO_OK and right
 *    results. The communicator stays usable. A raw sum wraps.
 *  - Other integers: STRETTO_UNSUPPORTED.
 *  - NaN and infinities travel bit for bit; a sum that meets one is what floating point gives.
 *  - Collectives that only move data compress once: error <= eps, whatever the scope. */

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
  STRETTO_MPI_LOADED = 0,  /* that of the MPI in this process, whichever it is */
  STRETTO_MPI_OPENMPI = 1, /* Open MPI */
  STRETTO_MPI_MPICH = 2,   /* MPICH, and its kin: Intel MPI, MVAPICH, Cray */
  STRETTO_MPI_STANDARD = 3 /* the standard one of MPI 5 */
} stretto_mpi;

/* What stretto_comm_create() of stretto_mpi.h calls, for callers that have no mpi.h: collective over the MPI_Comm that
 * lies at `mpi_comm`. `compiled_for` is the interface that it comes from. The module for the MPI in this process is
 * loaded from stretto/ beside this library, or from the directory in the environment's STRETTO_MODULES. Further:
 *  - STRETTO_UNSUPPORTED where no MPI is loaded, no module fits it, or `compiled_for` is another's. */
STRETTO_API stretto_status stretto_comm_create_from(const void* mpi_comm, stretto_mpi compiled_for, stretto_comm* comm);

/* What may end waits before their limit, such as a user's Ctrl-C: from now on this thread's waits in collectives call
 * interrupted(context) about 20 times a second. Nonzero ends the wait as a limit does: STRETTO_TIMEOUT, here and on
 * ranks that wait for this one. The function calls nothing of stretto. NULL: waits end at their limits, which is the
 * default. The making of a communicator asks where ranks meet in a store. A blocking collective inside the MPI
 * ("native") does not ask. */
typedef int (*stretto_interrupt)(void* context);
STRETTO_API stretto_status stretto_interrupt_by(stretto_interrupt interrupted, void* context);

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

/* The same with counts[r] elements for rank r, laid end to end; counts are the same on all ranks. */
STRETTO_API stretto_status stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                  stretto_type type, stretto_op op, stretto_comm comm,
                                                  const stretto_options* options);

/* Block r of recvbuf (count elements at r*count) = sendbuf of rank r, on every rank. In place: a rank's own block is in
 * recvbuf. */
STRETTO_API stretto_status stretto_allgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_comm comm, const stretto_options* options);

/* The same with counts[r] elements from rank r, at recvbuf + displs[r]; counts are the same on all ranks. */
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

/* The same with counts[r] elements at sendbuf + displs[r] for rank r. counts, displs and sendbuf: significant at root.
 * recvcount = counts[rank] on every rank, or STRETTO_INCOMPATIBLE on all. */
STRETTO_API stretto_status stretto_scatterv(const void* sendbuf, const size_t* counts, const size_t* displs,
                                            void* recvbuf, size_t recvcount, stretto_type type, int root,
                                            stretto_comm comm, const stretto_options* options);

/* sendbuf (count elements) of rank r to block r of recvbuf at root (at r*count). recvbuf: significant at root.
 * In place: STRETTO_IN_PLACE as sendbuf at root, whose block is in recvbuf already. */
STRETTO_API stretto_status stretto_gather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                          stretto_comm comm, const stretto_options* options);

/* The same with counts[r] elements from rank r at recvbuf + displs[r]. recvbuf, counts and displs: significant at root.
 * sendcount = counts[rank] on every rank, or STRETTO_INCOMPATIBLE on all. */
STRETTO_API stretto_status stretto_gatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                           const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                           const stretto_options* options);

/* Block d of rank s's sendbuf becomes block s of rank d's recvbuf; p blocks of count elements in both.
 * In place: the blocks to send are in recvbuf and are replaced. */
STRETTO_API stretto_status stretto_alltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                            stretto_comm comm, const stretto_options* options);

/* The same with counts of each pair of ranks: sendcounts[d] elements at sendbuf + sdispls[d] go to rank d,
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
