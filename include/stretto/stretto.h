/* stretto: collective communication with error-bounded compressed payloads. The C API.
 *
 * Reading order: status, types and operations, options and report, communicators, collectives, requests, streams.
 *
 * Rules that hold for every function here:
 *  - It returns a stretto_status. On failure stretto_message() gives, on the same thread, a text that names the
 *    offending values. Nothing aborts, prints, or throws.
 *  - Arguments are checked before anything moves. In a collective, what is wrong on one rank (a null pointer, a count
 *    that differs) is told to all in the agreement exchange, so every rank returns an error and none waits for another.
 *    A rank that fails later and alone, for want of memory, tells the others, who return its status and name it.
 *  - Counts and displacements are in elements, lengths of streams in bytes, times in seconds. count == 0 is legal
 *    everywhere; buffers may then be NULL.
 *  - A buffer passed in is borrowed: until the call returns, or for the i... forms until the request is complete.
 *  - p is the number of ranks, eps the bound for one contribution that a call works with (see stretto_options).
 *  - Distinct communicators may be used by distinct threads at the same time (over MPI this needs
 *    MPI_THREAD_MULTIPLE). One communicator is used by one thread at a time.
 *
 * C99; needs nothing but the two headers below. Communicators over MPI are made with stretto_mpi.h. */
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
  STRETTO_INVALID_ARGUMENT = 1, /* a null pointer, a rank out of range, a value that is no member of its enum */
  STRETTO_INVALID_BOUND = 2,    /* not finite, not positive, or a bound that no grid can hold */
  STRETTO_BUFFER_TOO_SMALL = 3, /* the output does not fit; nothing usable was written */
  STRETTO_CORRUPT_STREAM = 4,   /* bytes that are no stream, or a truncated or altered one */
  STRETTO_INCOMPATIBLE = 5,     /* ranks that called differently, or streams that do not combine */
  STRETTO_OVERFLOW = 6,         /* the exact result does not fit the widest code */
  STRETTO_UNSUPPORTED = 7,      /* a legal request that this operation or this build does not offer */
  STRETTO_OUT_OF_MEMORY =
      8, /* in a collective, of any rank; the communicator is unusable where it came after the agreement */
  STRETTO_TIMEOUT =
      9, /* a wait reached its limit, here or on a rank that then told this one; the communicator is unusable from then on */
  STRETTO_MPI_ERROR = 10, /* the MPI returned an error */
  STRETTO_INTERNAL = 11   /* a broken invariant of stretto itself; please report it */
} stretto_status;

/* The message of this thread's last failure; "" when there was none. Valid until the next failure on this thread. */
STRETTO_API const char* stretto_message(void);

/* The name of a status, e.g. "invalid_bound"; "unknown" for a number that is none. Static storage. */
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

/* Bytes of one element; 0 for a number that is no type. */
STRETTO_API size_t stretto_type_size(stretto_type type);

/* Operations. With a bound: SUM, DIFFERENCE, MIN, MAX and MEAN; the others then give STRETTO_UNSUPPORTED.
 * Logical operations give 0 or 1 of the type; LAND, LOR, LXOR, BAND, BOR and BXOR take integers only. */
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
  STRETTO_MEAN = 11,       /* the sum divided by the number of contributions, once, at the end; floating types only.
                              Values added in their own type may overflow it where their mean would not; streams do not
                              (FUSED, HOMOMORPHIC, and SCOPE_RESULT whatever runs; of F64 the sum must fit it too) */
  STRETTO_DIFFERENCE = 12, /* rank 0's contribution minus those of all other ranks */
  STRETTO_USER = 13        /* the function in stretto_options.user_function; never with a bound */
} stretto_op;

/* A user's operation: inout[i] = in[i] (op) inout[i] for i in [0, count), where `in` stems from the lower ranks.
 * It must be associative, and the same on all ranks; it may be called on any part of the vector, and from the thread
 * that drives the collective only. `context` is stretto_options.user_context. */
typedef void (*stretto_user_function)(const void* in, void* inout, size_t count, stretto_type type, void* context);

/* As `sendbuf`: the rank's contribution is in the receive buffer already (each collective says where). For scatter and
 * scatterv it stands for `recvbuf` at the root, whose block then stays where it is. */
#define STRETTO_IN_PLACE ((void*)(intptr_t)-1)

/* --------------------------------------------------------------------------------- options and report ---- */

typedef enum stretto_bound {
  STRETTO_BOUND_NONE = 0,     /* raw and exact */
  STRETTO_BOUND_ABSOLUTE = 1, /* `bound` is in units of the data */
  STRETTO_BOUND_RELATIVE = 2  /* `bound` is a fraction of max - min over the finite values of all ranks' inputs whose
                                 magnitude is below stretto_options.ignore_above; the others keep it too */
} stretto_bound;

/* What `bound` holds for, in reductions of K contributions (K = p, or the total of stretto_allreduce_multi):
 *  CONTRIBUTION  each contribution is within it: eps = bound, and quantisation moves a sum by K*eps at most, guaranteed.
 *                What adds values in their own type (payloads RAW, RECOMPRESS, CPRP2P and MIXED, and the native
 *                collectives) rounds at each addition beside that, as it does without a bound;
 *  RESULT        the result is within it, guaranteed, all additions included: eps = bound/K for SUM and DIFFERENCE,
 *                eps = bound for the rest. Additions in a type that rounds by u (F32: 2^-24, F64: 2^-53, F16: 2^-11,
 *                BF16: 2^-8) move a sum by about K*K/2*u*max|x|: with PAYLOAD_AUTO they serve only where that is less
 *                than half of the bound, and streams are added in code space where it is not; eps is for what is left. A
 *                payload or schedule that is forced and leaves nothing (or may overflow) gives STRETTO_INVALID_BOUND.
 *                To know max|x| of floating sums of K > 2, and of means, takes a pass over the input and an exchange,
 *                whatever `check`; not with FUSED and HOMOMORPHIC;
 *  RESULT_STATISTICAL_95  the result of SUM, DIFFERENCE and MEAN is within it with probability 95.44 %, *if* the errors
 *                of the contributions are independent and normal with eps = 3 sigma: then K of them stay within
 *                (2/3)*sqrt(K)*eps, so eps = bound/((2/3)*sqrt(K)) for a sum. Not guaranteed: equal inputs have equal
 *                errors, and those of rough data are uniform over the grid (eps = sqrt(3) sigma), where it is 75 %;
 *  RESULT_STATISTICAL_95_UNIFORM  the same for independent uniform errors: eps = bound/((2/sqrt(3))*sqrt(K)). Holds
 *                for 95 % of the elements of rough data, and for more where data are smooth.
 * The statistical scopes are RESULT for K < 3, for MIN and MAX, and for PAYLOAD_RECOMPRESS and CPRP2P; additions take
 * from the bound what they take from RESULT's.
 * Everywhere up to half a unit in the last place of the result, from rounding it to its type; of a MEAN of F64 one
 * unit, since streams round the sum before it is divided. */
typedef enum stretto_scope {
  STRETTO_SCOPE_CONTRIBUTION = 0,
  STRETTO_SCOPE_RESULT = 1,
  STRETTO_SCOPE_RESULT_STATISTICAL_95 = 2,
  STRETTO_SCOPE_RESULT_STATISTICAL_95_UNIFORM = 3
} stretto_scope;

typedef enum stretto_payload {
  STRETTO_PAYLOAD_AUTO = 0,
  STRETTO_PAYLOAD_RAW = 1,         /* values as they are; floating sums round at each addition */
  STRETTO_PAYLOAD_RECOMPRESS = 2,  /* (DOC) decompress, operate, compress at every combination: errors grow */
  STRETTO_PAYLOAD_HOMOMORPHIC = 3, /* every rank's input compressed up front, then stream + stream */
  STRETTO_PAYLOAD_FUSED = 4,       /* raw values added to the incoming stream in one pass: same bits as homomorphic */
  STRETTO_PAYLOAD_CPRP2P = 5,      /* every message compressed by its sender and decompressed by its receiver */
  STRETTO_PAYLOAD_MIXED = 6        /* raw sums inside a host, fused between hosts: needs a schedule of two floors */
} stretto_payload;

#define STRETTO_NAME_MAX 32

/* What ran, on this rank. Filled when the collective completes; on failure only `size` keeps its meaning. */
typedef struct stretto_report {
  size_t size;                      /* sizeof(stretto_report), set by the initialiser; the library fills no more */
  char algorithm[STRETTO_NAME_MAX]; /* schedule, e.g. "ring"; "native": the MPI's own collective, "node": that of a
                                       host's shared memory; "agreement": a barrier that needed no more than that */
  char payload[STRETTO_NAME_MAX];   /* "raw", "recompress", "homomorphic", "fused", "cprp2p", "mixed"; of streams that
                                       only move "compress_once" or "cprp2p" */
  uint64_t contributions;           /* K: inputs that went into each element of the result; payload "mixed": hosts,
                                       whose sums are made raw (and rounded as floats are) before they are compressed */
  uint64_t raw_bytes;               /* what this rank would have sent raw with this schedule, and ... */
  uint64_t bytes_sent;              /* ... what it sent, the agreement exchange not counted: see bytes_known */
  double ratio;                     /* raw_bytes / bytes_sent; 1 when nothing was sent, or the bytes are not known */
  double eps;                       /* bound used for each contribution, absolute; 0 when exact */
  double promised_error;            /* |result - exact| <= this for every element, up to half an ulp; 0 when exact.
                                       With a statistical scope, the statistical bound. It covers additions in the type
                                       where the bound is for the result (also where a range of 0 made that call exact);
                                       otherwise quantisation alone: raw sums, 0 here, round as floats do */
  double codec_seconds;             /* spent in the codec by this rank */
  double agree_seconds;             /* from the start until the agreement exchange was complete */
  double seconds;                   /* from the start to completion (not what ends a trial) */
  double predicted_seconds; /* what the model expected of the data's way, the agreement not counted; 0: no opinion */
  double expected_ratio;    /* what the choice was made with: that of a sample of the data, or an assumption; 1: raw */
  uint64_t raw_below;       /* messages of fewer bytes of values than this travelled raw beside streams; 0: none did.
                                       A sum then is compressed once more than it has inputs: promised_error says so */
  int trial; /* 1: this call was one of a trial (below), and others like it may run differently; 0: not */
  /* Why this algorithm: "predicted" (nothing is expected to gain enough over it), "assumed" (the same of "node", but nobody measured this machine: it is
   * taken to need half of the MPI's time on few ranks), "turn of a trial", "winner of a trial", "forced" (by `schedule` or `payload`), "no native
   * collective" (that serves), "raw sums would round too much" (for the bound), "unequal counts", "agreement" (which is a barrier), "unpredicted" (the
   * model had no answer). */
  char reason[STRETTO_NAME_MAX];
  double mpi_seconds; /* what the model expected of the MPI's own collective; 0: no opinion */
  int bytes_known; /* 1: raw_bytes and bytes_sent are this rank's messages (schedules), what it put into shared memory ("node" as
                         streams), or 0 because nothing was to be sent; 0: both are 0 because nobody counted: "native", and "node" with
                         exact values, which are read where they lie, copied by the kernel or through slots */
  uint64_t ignored; /* finite values left out of the range of a relative bound, over all ranks */
  /* The range that the bound is a fraction of, and the same with the values left out (equal to it when ignored is 0).
   * 0 to 0 where no range was wanted, or no value is in it. */
  double range_lo, range_hi;
  double ignored_lo, ignored_hi;
} stretto_report;

#define STRETTO_REPORT_INIT                                                                                         \
  {                                                                                                                 \
    sizeof(stretto_report), "", "", 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, "", 0.0, 0, 0, 0.0, 0.0, \
        0.0, 0.0                                                                                                    \
  }

/* How a collective runs. NULL in place of a stretto_options* means STRETTO_OPTIONS_INIT: exact, everything chosen.
 * The struct itself is copied by the call; what it points at follows the comments. All ranks pass the same values of
 * bound_kind, bound, scope, ignore_above, schedule, payload, segment and reproducible; a difference gives STRETTO_INCOMPATIBLE on every rank. They
 * also pass the same check and trials: where they do not, they wait for different exchanges until the timeout. */
typedef struct stretto_options {
  size_t size;              /* sizeof(stretto_options), set by the initialiser: older callers keep working */
  stretto_bound bound_kind; /* NONE: exact */
  double bound;             /* > 0 and finite, else STRETTO_INVALID_BOUND; ignored when bound_kind is NONE */
  stretto_scope scope;
  const char* schedule; /* NULL: chosen. Otherwise a name of docs/algorithms.md, e.g. "ring"; or "native", the MPI's own
                              collective, or "node", that of the memory which ranks of one host share (as streams only
                              where payload is FUSED or HOMOMORPHIC):
                              STRETTO_UNSUPPORTED where there is none; copied */
  stretto_payload payload; /* AUTO: chosen */
  size_t
      segment; /* bytes of values that travel as one message, 0: chosen. A vector of more than 262,143 segments (fewer
                              where an MPI has few tags) is STRETTO_INVALID_ARGUMENT on every rank before anything moves */
  double timeout; /* seconds until a wait for peers gives STRETTO_TIMEOUT; 0: 300 s; negative: never. Each
                              request before it that a blocking call waits for gets as long. Inside a
                              blocking collective of the MPI's own it has no effect */
  int check;      /* 1: agree on the arguments first (see below); 0: trust them */
  stretto_user_function user_function; /* for STRETTO_USER */
  void* user_context;                  /* borrowed until completion */
  int user_commutes;                   /* 1: contributions may be combined in any order; 0: in rank order */
  stretto_report* report;              /* NULL, or filled at completion; borrowed until then */
  int trials;                          /* 1: close choices are put to the test (see below); 0: prediction alone */
  int reproducible;    /* 1: floating reductions give the same bits wherever the ranks are (see below) */
  double ignore_above; /* values of this magnitude and more are left out of the range of a relative bound; 0: 1e15;
                          INFINITY: none is. NaN or negative: STRETTO_INVALID_ARGUMENT */
} stretto_options;

#define STRETTO_OPTIONS_INIT                                                                                          \
  {                                                                                                                   \
    sizeof(stretto_options), STRETTO_BOUND_NONE, 0.0, STRETTO_SCOPE_CONTRIBUTION, NULL, STRETTO_PAYLOAD_AUTO, 0, 0.0, \
        1, NULL, NULL, 0, NULL, 1, 0, 0.0                                                                             \
  }

/* The agreement exchange (check = 1). Before a collective moves data the ranks combine a signature of their call (a
 * few hundred bytes, ceil(log2 p) messages a rank, two more where p is no power of two). It carries the range for
 * relative bounds, the number of contributions, and each rank's own argument errors. If ranks differ in collective,
 * count, type, operation, root, bound, scope, ignore_above, schedule, payload, segment or reproducible, every rank returns STRETTO_INCOMPATIBLE
 * and the message names the field, both values and a rank for each. Where all ranks share a host's memory,
 * blocking calls first compare one word each there (some hundred nanoseconds), and exchange signatures only where those differ or
 * something is to be learned. check = 0 saves it where nothing else needs it (relative bounds, bounds for the result of
 * floating sums, the first call of a shape with a bound, gatherv, scatterv, alltoallv and stretto_allreduce_multi do):
 * then ranks that differ wait until the timeout, and a rank's own argument error is its own. */

/* Over an MPI, what needs no stream may be left to the MPI's own collective: a call without a bound, or with one that a
 * small vector would not gain from (but for sums that would round beyond a bound for the result). It serves the
 * predefined operations and MEAN, not USER and DIFFERENCE; reductions of F16 and BF16, counts above 2^31 - 1 and stretto_allreduce_multi stay ours. Blocking and
 * started forms do not meet: all ranks use the same one (check = 1 tells them when they do not). */

/* Where all ranks of a communicator over an MPI are on one host and can share memory, blocking calls may run there
 * ("node"): all collectives but allreduce_multi, the v-forms, and reduce_scatter of unequal counts; all operations but
 * DIFFERENCE. With a bound, allreduce, reduce, reduce_scatter of equal counts, allgather and bcast of floating types by
 * SUM, MEAN, MIN and MAX may run there as streams, with the bits that schedules give with payload FUSED. Exact floating
 * sums are in a fixed order, so repeated calls give the same bits. Ranks that call differently with
 * check = 0 get STRETTO_INCOMPATIBLE, and one that waits in vain STRETTO_TIMEOUT; either makes the communicator unusable. Blocking
 * and started forms that met end the use of the memory, and nothing else. STRETTO_NODE=0
 * in the environment of any rank, when a communicator is created, leaves it without. */

/* Reproducible. Without it, floating sums round in the order of whatever way was chosen. With reproducible = 1 exact reductions of floating
 * types, by any operation, and those by USER of any type, are ((x0 + x1) + x2) + ..., element by element, x_r being rank r's contribution (of
 * stretto_allreduce_multi: the sum of its own, in their order): the same bits for every number of hosts, hierarchy, binding, memory, length, segment
 * and profile, in every run, blocking or started. With a bound and PAYLOAD_AUTO floating reductions travel as codes
 * (FUSED), whose sums have the same bits in any order, gain or not. It costs the ways that add otherwise: over several hosts such reductions run by
 * the schedules "chain" and "line", whose first piece takes p - 1 messages, never by the MPI's own collective. A schedule that adds
 * in another order, where values may travel raw, and PAYLOAD_RECOMPRESS, CPRP2P and MIXED give STRETTO_UNSUPPORTED. Integers, and what only
 * moves, run as always (what moves within a bound may be rounded on its way, or not). */

/* Trials. Where schedules of ours compete with the MPI's own collective and the model expects 10 us or more of that
 * one (4 us where a host's memory may be copied in two ways), the blocking calls of a shape (collective, type,
 * operation, root, and about the same bytes and ratio) take turns from the second on: the native collective that is
 * predicted to take least (the MPI's own or the node's), and those that the model likes best, seven at most where a
 * call is expected to take less than a millisecond and three where it takes longer. A turn is one call, or up to
 * eight where one's calls are short, and begins with an agreement, whatever `check`, so that the ranks start
 * together. The first round does not count; from the third on the ranks compare the slowest rank's times in one small
 * exchange a round, and who is clearly slower drops out, that native collective only where its best turn takes 1.4
 * times the least median. After nine rounds, or a second of turns, the one with the least median stays; but that
 * native collective unless another is faster by 5 % (10 % after few rounds, 20 % below 50 us) and was so in three
 * rounds of four, and, unless it leads by far or the second is over, beats it so again in up to eight new rounds of
 * the two (then in all of them but one). Where a host's memory may be copied in two ways, that is asked of a lead over
 * the better of the two, between which 2 % decide. After 16 times as many calls of the shape, and so many that it costs
 * 2 % of their time at most, the native collective (both ways), the one that stayed and the last to drop out are tried
 * again, and ever more seldom while the same one stays. All keep the bound. Not for barriers nor for vectors of up to 1 KiB, whose
 * calls run ahead; not for a user's operation nor for exact reductions of floating point, whose rounding would depend
 * on the winner (but for sums and products of F32 and F64 on two ranks, which are rounded once; which of two NaN they
 * keep may differ), nor for integer sums with a bound; not where schedule, payload or segment are given; not for
 * started forms. report.trial says that a call was one of a trial. With trials = 0 equal calls run alike, and results
 * have the same bits in every run. */

/* Bounds with types and collectives. F32 and F64: |error| as promised in stretto_report. F16 and BF16: the same plus
 * half an ulp of that type. I32 and I64: lossless compression, promised error 0 (the bound must be valid all the
 * same); a sum of streams that does not fit its type gives STRETTO_OVERFLOW, a raw one wraps. A reduction tells that to the ranks
 * that would hold such a sum, or add to it on its way: in reduce_scatter and reduce others may return STRETTO_OK, whose own results
 * are right, and the communicator works on. Other integers: STRETTO_UNSUPPORTED. NaN and
 * infinities travel bit for bit; a sum that meets one is what floating point gives. Collectives that only move data
 * compress once: error <= eps, whatever the scope. */

/* ------------------------------------------------------------------------------------- communicators ---- */

typedef struct stretto_comm_s* stretto_comm;
typedef struct stretto_thread_group_s* stretto_thread_group;

/* Communicators over an MPI_Comm: stretto_comm_create() in stretto_mpi.h. */

/* A group of `ranks` >= 1 threads of this process, to be used as ranks. Called once, by one thread; *group is owned by
 * the caller and outlives its communicators: free it after all of them. */
STRETTO_API stretto_status stretto_thread_group_create(int ranks, stretto_thread_group* group);

/* Free a group; NULL is legal. Every communicator made from it must have been freed. */
STRETTO_API stretto_status stretto_thread_group_free(stretto_thread_group group);

/* Collective over the group: each of its `ranks` threads calls it once, with its own rank in [0, ranks), and it
 * returns when all have. A rank out of range or taken twice gives STRETTO_INVALID_ARGUMENT, and a thread that does
 * not come within 300 s STRETTO_TIMEOUT, on all of them. *comm is owned by the caller. May be repeated for further
 * communicators. */
STRETTO_API stretto_status stretto_comm_create_threads(stretto_thread_group group, int rank, stretto_comm* comm);

/* Free a communicator; NULL is legal. Not collective over threads; collective over MPI (it frees a duplicate).
 * STRETTO_INVALID_ARGUMENT, and nothing happens, while it has a request that was not freed. */
STRETTO_API stretto_status stretto_comm_free(stretto_comm comm);

/* Number of ranks and this rank; -1 for NULL. */
STRETTO_API int stretto_comm_size(stretto_comm comm);
STRETTO_API int stretto_comm_rank(stretto_comm comm);

/* Memory that the other ranks of a host read and write where it is, so that collectives inside the host copy nothing: in the
 * arena of this process, one bounded range without a name in any file system (docs/node.md; STRETTO_ARENA_SIZE), and in
 * ordinary memory where that is full. *buffer is aligned to 64 bytes, its content is unspecified, and it is the caller's until
 * stretto_free(), which takes what stretto_alloc() gave, or NULL. `bytes` 0 is legal. STRETTO_OUT_OF_MEMORY names `bytes`. */
STRETTO_API stretto_status stretto_alloc(size_t bytes, void** buffer);
STRETTO_API stretto_status stretto_free(void* buffer);

/* --------------------------------------------------------------------------------------- collectives ----
 * Common to all: `comm` is not NULL; `type` and `op` are members of their enums; all ranks call the same collectives on
 * a communicator in the same order. Send and receive buffers do not overlap unless STRETTO_IN_PLACE is given.
 * On failure the content of receive buffers is unspecified; send buffers are never written. Results of allreduce with a
 * bound are the same bits on every rank; with PAYLOAD_HOMOMORPHIC and FUSED, those of all reductions are also the same
 * for every schedule, segment and order of ranks. That is for equal options and inputs: the grid of a relative bound
 * also depends on the largest magnitude of the inputs, so an absolute bound of the same eps may give other bits, each
 * result within its bound. Where streams gain nothing, values travel raw unless a payload is forced, or a bound for the
 * result leaves no room for their rounding. */

/* recvbuf[i] = op over all ranks of sendbuf[i], i < count, on every rank.
 * Buffers: `count` elements each; in place: the contribution is in recvbuf.
 * Error: exact without a bound (floating sums round in the order of the schedule); with one, K = p in stretto_scope:
 * SUM and DIFFERENCE p*eps, MEAN, MIN and MAX eps. PAYLOAD_RECOMPRESS and CPRP2P: sums (2p-1)*eps, MEAN that over p. */
STRETTO_API stretto_status stretto_allreduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_op op, stretto_comm comm, const stretto_options* options);

/* The same over any number of contributions a rank: recvbuf[i] = op over all ranks, and over the k arrays of each, of
 * contributions[j][i]. k >= 0 need not be the same on all ranks; a rank with k == 0 adds nothing (SUM and MEAN only, else
 * STRETTO_INVALID_ARGUMENT). Operations: SUM, MEAN, MIN, MAX. K = the sum of k over all ranks, >= 1.
 * Each array holds `count` elements; none may overlap recvbuf. contributions is copied, the arrays are borrowed.
 * Error as stretto_allreduce with K in place of p (PAYLOAD_RECOMPRESS and CPRP2P: sums (K+p-1)*eps). With a bound the
 * local ones are added in code space, at any size, so with PAYLOAD_AUTO, HOMOMORPHIC and FUSED the result is bit for bit the
 * same however the K contributions are shared out among however many ranks. */
STRETTO_API stretto_status stretto_allreduce_multi(const void* const* contributions, int k, void* recvbuf, size_t count,
                                                   stretto_type type, stretto_op op, stretto_comm comm,
                                                   const stretto_options* options);

/* As stretto_allreduce, the result at `root` only. recvbuf: significant at root (may be NULL elsewhere).
 * In place: at root only, the contribution is in recvbuf. */
STRETTO_API stretto_status stretto_reduce(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                          stretto_op op, int root, stretto_comm comm, const stretto_options* options);

/* The vector of p*count elements is reduced, rank r gets elements [r*count, (r+1)*count).
 * sendbuf: p*count; recvbuf: count elements; in place: recvbuf holds p*count, the result lands at its start.
 * Error as stretto_allreduce. */
STRETTO_API stretto_status stretto_reduce_scatter_block(const void* sendbuf, void* recvbuf, size_t count,
                                                        stretto_type type, stretto_op op, stretto_comm comm,
                                                        const stretto_options* options);

/* The same with counts[r] elements for rank r, laid end to end. counts: p entries, the same on all ranks, copied. */
STRETTO_API stretto_status stretto_reduce_scatter(const void* sendbuf, void* recvbuf, const size_t* counts,
                                                  stretto_type type, stretto_op op, stretto_comm comm,
                                                  const stretto_options* options);

/* Block r of recvbuf (count elements at r*count) = sendbuf of rank r, on every rank. In place: a rank's own block is in
 * recvbuf. Error with a bound: eps. */
STRETTO_API stretto_status stretto_allgather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                             stretto_comm comm, const stretto_options* options);

/* The same with counts[r] elements from rank r, placed at recvbuf + displs[r]. Both of p entries, counts the same on
 * all ranks; displs NULL: end to end. Blocks must not overlap. Elements of recvbuf between blocks are not written. */
STRETTO_API stretto_status stretto_allgatherv(const void* sendbuf, void* recvbuf, const size_t* counts,
                                              const size_t* displs, stretto_type type, stretto_comm comm,
                                              const stretto_options* options);

/* buffer (count elements) of root, on every rank. With a bound the root's buffer is left as it is and the others are
 * within eps of it, all of them with the same bits. */
STRETTO_API stretto_status stretto_bcast(void* buffer, size_t count, stretto_type type, int root, stretto_comm comm,
                                         const stretto_options* options);

/* Block r of sendbuf at root (count elements at r*count) to recvbuf of rank r. sendbuf: significant at root.
 * In place: STRETTO_IN_PLACE as recvbuf at root, whose block stays in sendbuf. Error with a bound: eps. */
STRETTO_API stretto_status stretto_scatter(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                           int root, stretto_comm comm, const stretto_options* options);

/* The same with counts[r] elements at sendbuf + displs[r] for rank r; counts, displs (NULL: end to end) and sendbuf are
 * significant at root, recvcount = counts[rank] on every rank, or STRETTO_INCOMPATIBLE on all of them. */
STRETTO_API stretto_status stretto_scatterv(const void* sendbuf, const size_t* counts, const size_t* displs,
                                            void* recvbuf, size_t recvcount, stretto_type type, int root,
                                            stretto_comm comm, const stretto_options* options);

/* sendbuf (count elements) of rank r to block r of recvbuf at root (at r*count). recvbuf: significant at root.
 * In place: STRETTO_IN_PLACE as sendbuf at root, whose block is in recvbuf already. Error with a bound: eps. */
STRETTO_API stretto_status stretto_gather(const void* sendbuf, void* recvbuf, size_t count, stretto_type type, int root,
                                          stretto_comm comm, const stretto_options* options);

/* The same with counts[r] elements from rank r at recvbuf + displs[r]; recvbuf, counts and displs (NULL: end to end)
 * are significant at root, sendcount = counts[rank] on every rank, or STRETTO_INCOMPATIBLE on all of them. */
STRETTO_API stretto_status stretto_gatherv(const void* sendbuf, size_t sendcount, void* recvbuf, const size_t* counts,
                                           const size_t* displs, stretto_type type, int root, stretto_comm comm,
                                           const stretto_options* options);

/* Block d of rank s's sendbuf becomes block s of rank d's recvbuf; p blocks of count elements in both.
 * In place: the blocks to send are in recvbuf and are replaced. Error with a bound: eps. */
STRETTO_API stretto_status stretto_alltoall(const void* sendbuf, void* recvbuf, size_t count, stretto_type type,
                                            stretto_comm comm, const stretto_options* options);

/* The same with counts of each pair of ranks: sendcounts[d] elements at sendbuf + sdispls[d] go to rank d, recvcounts[s]
 * elements of rank s come to recvbuf + rdispls[s]. All of p entries, copied; displs NULL: end to end. Received blocks must
 * not overlap; elements of recvbuf between them are not written. sendcounts[d] of rank s = recvcounts[s] of rank d, or
 * STRETTO_INCOMPATIBLE on all of them, naming the pair. In place: sendcounts and sdispls are ignored, the blocks to send
 * are in recvbuf and are replaced. Error with a bound: eps. */
STRETTO_API stretto_status stretto_alltoallv(const void* sendbuf, const size_t* sendcounts, const size_t* sdispls,
                                             void* recvbuf, const size_t* recvcounts, const size_t* rdispls,
                                             stretto_type type, stretto_comm comm, const stretto_options* options);

/* Returns when every rank has called it. Options: timeout, schedule and report. */
STRETTO_API stretto_status stretto_barrier(stretto_comm comm, const stretto_options* options);

/* ------------------------------------------------------------------------------ requests (nonblocking) ----
 * Each collective has a form that starts and returns: the same arguments and contract, and a request at the end.
 * STRETTO_OK from it means only that *request is valid; errors of arguments, too, are told by test or wait, when all
 * ranks know them. Any number may be in flight on a communicator; all ranks start them in the same order and may wait for
 * them in any. Progress is made for all of a communicator's requests inside test, wait and its blocking collectives. */

typedef struct stretto_request_s* stretto_request;

/* Make progress without blocking. *done = 1 when complete: then the status is that of the collective (the same at every
 * later test or wait). While *done = 0 the status is STRETTO_OK. */
STRETTO_API stretto_status stretto_test(stretto_request request, int* done);

/* Block until complete; returns the status of the collective, or STRETTO_TIMEOUT with a diagnosis of who is missing. */
STRETTO_API stretto_status stretto_wait(stretto_request request);

/* Release a request and set *request to NULL; waits for it first when it is not complete. The request's own status is
 * told by test and wait, not here. *request == NULL is legal. */
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

/* ------------------------------------------------------------------------------------------- streams ----
 * The codec by itself (format: docs/format.md). Types F32, F64, F16, BF16, I32, I64. Common to all: a stream is `bytes`
 * long at a pointer of any alignment, input longer than its stream is legal; *written receives the length of the output;
 * output never overlaps input; no allocation (but of threads, where stretto_use_threads asks for them); any bytes given as a stream yield an error or values, never an access
 * outside the buffers. On failure *written is 0 and the output unspecified. */

typedef struct stretto_stream_info {
  stretto_type type;
  uint32_t contributions; /* compressed inputs summed into it */
  uint64_t count;         /* values */
  uint64_t bytes;         /* length of the whole stream */
  uint64_t code_bound;    /* no code exceeds it in magnitude */
  double eps;             /* bound of each contribution; 0 for integers */
  double width;           /* grid: value = code * width */
  double promised_error;  /* eps * contributions */
  int checksum;           /* 1: carries a checksum */
} stretto_stream_info;

/* From now on the functions of this section, when this thread calls them, share their work among `threads` threads: this one, and
 * others that each call starts and ends. 1, as it is at first, to STRETTO_THREADS_MAX, else STRETTO_INVALID_ARGUMENT and
 * nothing changes. Results are the same bytes for every number. A thread is started for 65,536 values or more, so shorter inputs
 * are worked on by fewer, or by this one alone; so they are where the system gives no thread. stretto_inspect, stretto_validate
 * and checksums stay with this thread. It says nothing of collectives, which compress on the thread that drives them, nor of
 * other threads of the program. */
#define STRETTO_THREADS_MAX 256
STRETTO_API stretto_status stretto_use_threads(int threads);

/* Flags of the functions that write a stream. */
#define STRETTO_CHECKSUM 1u /* store a CRC-32C of the whole stream, verified when the stream is read */

/* Largest output of stretto_compress, and of any function that makes a stream of streams, by the result's count (sums and
 * multiples keep verbatim values exactly, hence more), in bytes; 0 for a type that has no streams, or where the size does not fit a size_t. */
STRETTO_API size_t stretto_compress_bound(stretto_type type, size_t count);
STRETTO_API size_t stretto_combine_bound(stretto_type type, size_t count);

/* Range of the finite values in one pass; *lo = +inf and *hi = -inf when there is none. Combine over parts by min and max. */
STRETTO_API stretto_status stretto_value_range(stretto_type type, const void* values, size_t count, double* lo,
                                               double* hi);

/* Range of the finite values whose magnitude is below ignore_above (0: 1e15), as STRETTO_BOUND_RELATIVE takes it: one pass,
 * or two where a value reaches ignore_above. *ignored is the number of finite values that do; it may be NULL. *lo = +inf and
 * *hi = -inf when no value is in the range. ignore_above of NaN or below 0 gives STRETTO_INVALID_ARGUMENT. Combine over parts
 * by min, max and sum. */
STRETTO_API stretto_status stretto_value_range_below(stretto_type type, const void* values, size_t count,
                                                     double ignore_above, double* lo, double* hi, uint64_t* ignored);

/* Compress `count` values with absolute bound eps > 0 (integers: lossless, eps is ignored) to out of `capacity`
 * bytes; stretto_compress_bound() always suffices. Each decoded y has |x - y| <= eps in exact arithmetic (F16 and BF16:
 * before y is rounded to them), or is x bit for bit (NaN, Inf, values that the grid cannot carry). count == 0 gives a header. STRETTO_INVALID_BOUND for an eps
 * that is not finite and positive. */
STRETTO_API stretto_status stretto_compress(stretto_type type, const void* values, size_t count, double eps, void* out,
                                            size_t capacity, size_t* written, unsigned flags);

/* Decode all values. count must be the stream's (STRETTO_INVALID_ARGUMENT otherwise). divisor >= 1: each value
 * divided by it (mean of a sum). */
STRETTO_API stretto_status stretto_decompress(const void* stream, size_t bytes, void* values, size_t count,
                                              uint32_t divisor);

/* Decode values [first, first + n) only, from the groups of 1,024 that they lie in. The index (2 bytes a group) is checked
 * as a whole, and so is the checksum of a stream that has one. */
STRETTO_API stretto_status stretto_decompress_slice(const void* stream, size_t bytes, uint64_t first, size_t n,
                                                    void* values, uint32_t divisor);

/* Read and check the header: O(1). / Check all that the format says, the code bound and the checksum too: reads every code. */
STRETTO_API stretto_status stretto_inspect(const void* stream, size_t bytes, stretto_stream_info* info);
STRETTO_API stretto_status stretto_validate(const void* stream, size_t bytes);

/* out = a + b, a - b, min(a, b), max(a, b), element by element, in code space: no further error, so sums of K
 * compressed inputs are within K*eps whatever the order and grouping, which the bytes do not depend on either (within K*eps
 * of the largest number a sum may decode to infinity). Same
 * type, count and grid width, else STRETTO_INCOMPATIBLE. Codes widen to 64 bits when they must; STRETTO_OVERFLOW
 * beyond. stretto_combine_bound() suffices as capacity. */
STRETTO_API stretto_status stretto_stream_add(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                              size_t capacity, size_t* written, unsigned flags);
STRETTO_API stretto_status stretto_stream_subtract(const void* a, size_t a_bytes, const void* b, size_t b_bytes,
                                                   void* out, size_t capacity, size_t* written, unsigned flags);
STRETTO_API stretto_status stretto_stream_min(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                              size_t capacity, size_t* written, unsigned flags);
STRETTO_API stretto_status stretto_stream_max(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                              size_t capacity, size_t* written, unsigned flags);

/* out = a + compress(values), in one pass, byte for byte what the two calls would give. values: the stream's type and
 * count. Promised error grows by the stream's eps. stretto_combine_bound() suffices. */
STRETTO_API stretto_status stretto_stream_add_values(const void* a, size_t a_bytes, const void* values, size_t count,
                                                     void* out, size_t capacity, size_t* written, unsigned flags);

/* out = a * factor, factor != 0; contributions, and with them the promised error, grow by |factor|. The result of a stream of
 * verbatim values may exceed stretto_compress_bound(); stretto_combine_bound() suffices. */
STRETTO_API stretto_status stretto_stream_scale(const void* a, size_t a_bytes, int32_t factor, void* out,
                                                size_t capacity, size_t* written, unsigned flags);

/* out = values [first, first + n) of a as a stream of its own; no further error. stretto_combine_bound() of n suffices. */
STRETTO_API stretto_status stretto_stream_slice(const void* a, size_t a_bytes, uint64_t first, size_t n, void* out,
                                                size_t capacity, size_t* written, unsigned flags);

/* out = the values of a followed by those of b; same type, width and contributions, else STRETTO_INCOMPATIBLE.
 * stretto_combine_bound() of both counts together suffices. */
STRETTO_API stretto_status stretto_stream_concatenate(const void* a, size_t a_bytes, const void* b, size_t b_bytes,
                                                      void* out, size_t capacity, size_t* written, unsigned flags);

#ifdef __cplusplus
}
#endif

#endif
