/* Figures of a collective: bytes, times, errors, and the reason of each choice. C99. */
#ifndef STRETTO_STRETTO_REPORT_H
#define STRETTO_STRETTO_REPORT_H

#include "stretto_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRETTO_NAME_MAX 32

/* Figures of this rank. Filled when the collective completes; on failure only `size` keeps its meaning. */
typedef struct stretto_report {
  size_t size; /* sizeof(stretto_report), set by the initialiser; the library fills no more */
  /* A schedule, e.g. "ring"; "native": the MPI's own collective; "node": that of a host's shared memory; "agreement": a
   * barrier that needed nothing else. */
  char algorithm[STRETTO_NAME_MAX];
  char payload[STRETTO_NAME_MAX]; /* in lower case, as in stretto_payload; "compress_once": streams that only move */
  uint64_t contributions;         /* K; with payload "mixed" the number of hosts, whose raw sums are compressed */
  uint64_t raw_bytes;             /* bytes of this rank's messages as raw values */
  uint64_t bytes_sent;            /* bytes that this rank sent, without the agreement */
  double ratio;                   /* raw_bytes / bytes_sent; 1 when nothing was sent or bytes are not known */
  double eps;                     /* bound of each contribution, absolute; 0 when exact, and with BFLOAT16 */
  /* |result - exact| <= promised_error, up to the half unit of stretto_scope; 0 when exact; infinite with BFLOAT16.
   * Under a statistical scope it holds with that scope's probability. Rounding of additions in the values' own type is
   * counted only where the bound is for the result; then also where a range of 0 made the call exact. */
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
   *  "agreement"             was all that a barrier needed, or its messages had the values
   *  "unpredicted"           the model had no answer */
  char reason[STRETTO_NAME_MAX];
  double mpi_seconds; /* the model's prediction for the MPI's own collective; 0: none */
  /* 1: bytes are those of this rank's messages, or of streams that it put into shared memory. 0: nobody counted, both
   * are 0: "native", and exact values in shared memory. */
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
   * minimum and maximum), and what docs/semantics.md lists. Costs a pass over the result of a reduction with a bound,
   * which is left out where `size` ends before this field, or where the caller has set it to a negative number: then it
   * is infinite. */
  double error_with_rounding;
  /* Levels next to the leaves that the caller's core did of a started tree that communication cores drive (S in
   * docs/overlap.md); 0: the cores drove all of it, or there were none. */
  int split;
  /* Time in which this rank only waited for messages; in memory of a device: and no codec was at work there, whose
   * time is codec_seconds. Schedules alone have it; else 0. */
  double wait_seconds;
  /* The carrier of messages where a rank's buffers were in memory of a device: "peer", "peer (CUDA IPC)", NCCL and its
   * version, "MPI with device pointers", "UCX with device memory"; "host": through pinned memory. "": no such call, or
   * one rank. */
  char device_carrier[STRETTO_NAME_MAX];
  stretto_coding coding; /* of the streams in this rank's messages; AUTO: there were none */
} stretto_report;

#define STRETTO_REPORT_INIT                                                                                           \
  {                                                                                                                   \
    sizeof(stretto_report), "", "", 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, "", 0.0, 0, 0, 0.0, 0.0, 0.0, \
        0.0, "", 0.0, 0, 0.0, "", STRETTO_CODING_AUTO                                                                 \
  }

#ifdef __cplusplus
}
#endif

#endif
