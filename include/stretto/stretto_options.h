/* How a collective runs: error bounds, payloads, and the options of every call. C99. */
#ifndef STRETTO_STRETTO_OPTIONS_H
#define STRETTO_STRETTO_OPTIONS_H

#include "stretto_report.h"
#include "stretto_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum stretto_bound {
  STRETTO_BOUND_NONE = 0,     /* exact */
  STRETTO_BOUND_ABSOLUTE = 1, /* `bound` is in units of the data */
  /* `bound` is a fraction of the range, max - min over the finite values of all ranks' inputs. Values of magnitude
   * options.ignore_above and more are left out of the range, but keep the bound. A range of 0 makes the call exact. */
  STRETTO_BOUND_RELATIVE = 2
} stretto_bound;

/* The scope of `bound` in a reduction of K contributions, up to half a unit in the last place of the result. F16 and
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
  STRETTO_PAYLOAD_BFLOAT16 = 7     /* F32 alone: bfloat16 in messages, sums in F32; without a bound, and never chosen */
} stretto_payload;

/* The name of a payload for Python and for commands, e.g. "fused"; NULL for any other number. Static storage. */
STRETTO_API const char* stretto_payload_name(stretto_payload payload);

/* Elements of a vector, and the bound of this part. */
typedef struct stretto_part {
  size_t count;
  double bound; /* > 0 and finite, else STRETTO_INVALID_BOUND */
} stretto_part;

/* How a collective runs. NULL means STRETTO_OPTIONS_INIT: exact, everything chosen. The call copies the struct. All
 * ranks pass equal bound_kind, bound, scope, ignore_above, schedule, payload, segment, raw_below, reproducible, coding
 * and parts (with USER also user_commutes), else every rank returns STRETTO_INCOMPATIBLE. Ranks with different check
 * wait for different exchanges until the timeout, or get STRETTO_INCOMPATIBLE sooner. */
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
   *  - STRETTO_UNSUPPORTED: RECOMPRESS, CPRP2P, MIXED and BFLOAT16; "native", "node" and schedules that group ranks;
   *    reductions with reproducible; stretto_allreduce_multi; memory of a device. */
  size_t raw_below;
  /* Coding of streams in messages. AUTO: the one that the model expects to be faster, fixed where a rank has memory of
   * a device. Streams in a host's shared memory are fixed. No result depends on the coding. */
  stretto_coding coding;
  /* NULL, or no parts: `bound` holds for the whole vector. Otherwise `part_count` parts of it, one after another, each
   * with an absolute bound of its own; copied. All parts travel in one call. bound_kind is ABSOLUTE, and `bound` the
   * largest of the parts' bounds, else STRETTO_INVALID_BOUND. Counts have the sum `count`, else
   * STRETTO_INVALID_ARGUMENT.
   *  - report.eps and report.promised_error are those of `bound`. A part with a smaller bound b has
   *    eps = (report.eps / bound) * b * (1 - 2^-50), or where that is subnormal the next smaller number. A b that
   *    leaves nothing for eps gives STRETTO_INVALID_BOUND before anything moves.
   *  - Taken by ALLREDUCE of floating types with FUSED and HOMOMORPHIC, and with AUTO where reproducible is set.
   *  - STRETTO_UNSUPPORTED: other calls, "native", "node", raw_below, and memory of a device. */
  const stretto_part* parts;
  size_t part_count;
} stretto_options;

#define STRETTO_OPTIONS_INIT                                                                                       \
  {                                                                                                                \
    sizeof(stretto_options), STRETTO_BOUND_NONE, 0.0, STRETTO_SCOPE_RESULT, NULL, STRETTO_PAYLOAD_AUTO, 0, 0.0, 1, \
        NULL, NULL, 0, NULL, 0, 0.0, 0, STRETTO_CODING_AUTO, NULL, 0                                               \
  }

/* check = 1: before data move, ranks compare a word of their call: in a host's memory, else by a few short messages, in
 * which exact values of up to 4 KiB of a blocking allreduce, reduce or bcast travel, too. Where ranks differ, they
 * exchange signatures, and the message names the field, both values and a rank for each.
 *
 * check = 0 leaves the exchange out, except for what needs it: relative bounds, bounds for the result of floating sums,
 * the first call of a shape with a bound (up to 16 KiB the second), gatherv, scatterv, alltoallv,
 * stretto_allreduce_multi, and started calls that run a tree in a host's memory. Messages of ranks that differ do not
 * meet. Such ranks, and those that wait for them, get STRETTO_INCOMPATIBLE, else STRETTO_TIMEOUT after the timeout, and
 * the communicator is unusable. docs/limits.md says what stays unnoticed; "native" compares nothing. Other ranks do not
 * learn of a rank's argument error.
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
 *  - STRETTO_UNSUPPORTED: a forced schedule of another order where values may travel raw; RECOMPRESS, CPRP2P, MIXED
 *    and BFLOAT16.
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
 *  - Collectives that only move data compress once: error <= eps, whatever the scope.
 *
 * PAYLOAD_BFLOAT16: of F32, in SUM, DIFFERENCE, MEAN, MIN, MAX and collectives that only move data. Values are rounded
 * to bfloat16 (to nearest even) for each message; operations are in F32.
 *  - All ranks get equal bits from ALLREDUCE and ALLGATHER: a rank rounds its own block of the result, too. Otherwise
 *    a rank's own data stay exact: the root's of BCAST, the block that a rank gives itself, the result of REDUCE.
 *  - No bound is kept: report.promised_error and error_with_rounding are infinite, eps is 0. docs/semantics.md has the
 *    relative error of each schedule. Magnitudes of 2^128 - 2^119 and more become infinite; NaN stays NaN.
 *  - bound_kind other than NONE gives STRETTO_INVALID_ARGUMENT.
 *  - STRETTO_UNSUPPORTED: other types and operations, SCAN, EXSCAN and stretto_allreduce_multi, reproducible
 *    reductions, "native", "node", raw_below, parts, a coding other than AUTO, and memory of a device. */

#ifdef __cplusplus
}
#endif

#endif
