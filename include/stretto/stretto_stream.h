/* stretto, the codec by itself: numbers to streams within a bound, streams added without decoding (docs/format.md).
 *
 *   size_t capacity = stretto_combine_bound(STRETTO_F32, n), bytes, sum_bytes;
 *   stretto_compress(STRETTO_F32, x, n, 1e-3, stream, capacity, &bytes, STRETTO_CHECKSUM);
 *   stretto_stream_add_values(stream, bytes, y, n, sum, capacity, &sum_bytes, STRETTO_CHECKSUM);
 *   stretto_decompress(sum, sum_bytes, result, n, 1);
 *
 * Each result[i] is within 2e-3 of x[i] + y[i], up to its rounding to F32.
 *
 * Rules for every function, beside those of stretto.h:
 *  - Types: F32, F64, F16, BF16, I32 and I64.
 *  - An input stream lies in `bytes` bytes of any alignment; bytes after its end are legal.
 *  - *written receives the length of the output. On failure it is 0 and the output is unspecified.
 *  - Output never overlaps input.
 *  - Nothing is allocated, but for threads that stretto_use_threads asks for, and for dense streams: a thread that
 *    reads or writes one keeps up to 20 MB until it ends, mostly below 1 MB. Shaped streams take memory for each call,
 *    too. STRETTO_OUT_OF_MEMORY where there is none.
 *  - Any bytes given as a stream yield an error or values, never an access outside the buffers. */
#ifndef STRETTO_STRETTO_STREAM_H
#define STRETTO_STRETTO_STREAM_H

#include "stretto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------------------------- values and streams ---- */

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
  stretto_coding coding;  /* fixed or dense */
} stretto_stream_info;

/* Flags of the functions that write a stream. */
#define STRETTO_CHECKSUM 1u /* store a CRC-32C of the whole stream, verified when the stream is read */
/* The coding of the stream. With neither flag a stream of values is fixed, and a stream made of streams is dense if one
 * of them is. Both give STRETTO_INVALID_ARGUMENT. A fixed stream made of dense streams may need all the room of
 * stretto_combine_bound(). */
#define STRETTO_DENSE 2u
#define STRETTO_FIXED 4u

/* Largest output in bytes for a result of `count` values: of stretto_compress, and of any function that makes a stream
 * from streams. Sums of verbatim values are exact and take more bytes, so the second is larger. 0 for a type without
 * streams or a size beyond size_t. */
STRETTO_API size_t stretto_compress_bound(stretto_type type, size_t count);
STRETTO_API size_t stretto_combine_bound(stretto_type type, size_t count);

/* Compress `count` values with absolute bound eps to `out` of `capacity` bytes; stretto_compress_bound() suffices. Each
 * decoded y has |x - y| <= eps in exact arithmetic (F16 and BF16: before y is rounded to them). NaN, infinities and
 * values that no grid can hold decode bit for bit. Integers are lossless; eps is ignored. count == 0 gives a header.
 * STRETTO_INVALID_BOUND for an eps that is not finite and positive. */
STRETTO_API stretto_status stretto_compress(stretto_type type, const void* values, size_t count, double eps, void* out,
                                            size_t capacity, size_t* written, unsigned flags);

/* ------------------------------------------------------------------------------------- missing data ---- */

#define STRETTO_MARKS_MAX 16

/* Values that mark missing data, such as -9999. Integers, which are lossless, have none. */
typedef struct stretto_missing {
  size_t size;         /* sizeof(stretto_missing), set by the initialiser: older callers keep working */
  const double* marks; /* each is rounded to the type of the values; NULL with count 0 */
  size_t count;        /* at most STRETTO_MARKS_MAX */
  double ignore_above; /* finite values of this magnitude and more are missing data, too. 0: 1e15; INFINITY: none is */
} stretto_missing;

#define STRETTO_MISSING_INIT \
  { sizeof(stretto_missing), NULL, 0, 0 }

/* stretto_compress, where missing data keep their bits and no other value decodes to a mark: as many elements equal a
 * mark after as before. All other values keep the bound. The stream has no list of marks: in sums of streams a mark is
 * a number like any other. `missing` NULL: as stretto_compress. STRETTO_INVALID_ARGUMENT for too many marks, and for
 * ignore_above of NaN or below 0. */
STRETTO_API stretto_status stretto_compress_missing(stretto_type type, const void* values, size_t count, double eps,
                                                    const stretto_missing* missing, void* out, size_t capacity,
                                                    size_t* written, unsigned flags);

/* ------------------------------------------------------------------------- arrays of several axes ---- */

#define STRETTO_AXES_MAX 8

/* stretto_compress_missing of an array in C order, slowest axis first, whose codes are predicted along two of its
 * slower axes, too. A sample of the values chooses the axes, and whether a shaped stream pays; if not, the stream is
 * dense. extents: `axes` numbers; the count of values is their product. stretto_compress_bound() of the count suffices.
 *  - A shaped stream is decoded, inspected and validated like any other. stretto_decompress_slice decodes all of it.
 *    Sums, differences and all else that makes a stream of streams give STRETTO_UNSUPPORTED.
 *  - The bound and missing data are those of stretto_compress_missing. The grid is finer where the values are large
 *    beside eps, so that fewer values are stored verbatim.
 *  - The call allocates about 4 bytes a value, and so does decoding, at times twice as much.
 * STRETTO_INVALID_ARGUMENT: axes outside 1 to STRETTO_AXES_MAX, more than 2^48 values, STRETTO_FIXED as a flag. */
STRETTO_API stretto_status stretto_compress_shaped(stretto_type type, const void* values, const uint64_t* extents,
                                                   int axes, double eps, const stretto_missing* missing, void* out,
                                                   size_t capacity, size_t* written, unsigned flags);

/* The extents of a shaped stream, and how many there are: 0 for any other stream, whose extents are not written. */
STRETTO_API stretto_status stretto_stream_shape(const void* stream, size_t bytes, uint64_t extents[STRETTO_AXES_MAX],
                                                int* axes);

/* The range of the finite values that are not missing data. *ignored counts the values that reach ignore_above; it may
 * be NULL. `missing` NULL: as stretto_value_range_below with 0. Combine parts by min, max and sum. */
STRETTO_API stretto_status stretto_value_range_missing(stretto_type type, const void* values, size_t count,
                                                       const stretto_missing* missing, double* lo, double* hi,
                                                       uint64_t* ignored);

/* ---------------------------------------------------------------------------------------- decoding ---- */

/* Decode all values. `count` is the stream's, else STRETTO_INVALID_ARGUMENT. Each value is divided by `divisor` >= 1
 * (the mean of a sum). */
STRETTO_API stretto_status stretto_decompress(const void* stream, size_t bytes, void* values, size_t count,
                                              uint32_t divisor);

/* Decode values [first, first + n) alone, from the groups of 1,024 that they lie in. The index (2 bytes a group) and
 * the checksum, where there is one, are checked as a whole. */
STRETTO_API stretto_status stretto_decompress_slice(const void* stream, size_t bytes, uint64_t first, size_t n,
                                                    void* values, uint32_t divisor);

/* Read and check the header, in O(1). */
STRETTO_API stretto_status stretto_inspect(const void* stream, size_t bytes, stretto_stream_info* info);

/* Check every rule of the format, code bound and checksum included; reads every code. */
STRETTO_API stretto_status stretto_validate(const void* stream, size_t bytes);

/* ---------------------------------------------------------------------------------- sums and the like ----
 * The capacity that suffices is stretto_combine_bound() of the result's count. */

/* out = a + b, a - b, min(a, b) or max(a, b), element by element in code space, without further error. Sums of K
 * compressed inputs are within K*eps. Their bytes do not depend on order and grouping. Within K*eps of the type's
 * largest number a sum may decode to infinity. Same type, count and grid width, else STRETTO_INCOMPATIBLE.
 * Codes widen to 64 bits where needed; STRETTO_OVERFLOW beyond. */
STRETTO_API stretto_status stretto_stream_add(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                              size_t capacity, size_t* written, unsigned flags);
STRETTO_API stretto_status stretto_stream_subtract(const void* a, size_t a_bytes, const void* b, size_t b_bytes,
                                                   void* out, size_t capacity, size_t* written, unsigned flags);
STRETTO_API stretto_status stretto_stream_min(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                              size_t capacity, size_t* written, unsigned flags);
STRETTO_API stretto_status stretto_stream_max(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                              size_t capacity, size_t* written, unsigned flags);

/* out = a + compress(values) in one pass, with the same bytes as the two calls. `values` have the stream's type
 * and count. The promised error grows by the stream's eps. */
STRETTO_API stretto_status stretto_stream_add_values(const void* a, size_t a_bytes, const void* values, size_t count,
                                                     void* out, size_t capacity, size_t* written, unsigned flags);

/* out = a * factor, factor != 0. Contributions, and with them the promised error, grow by |factor|. */
STRETTO_API stretto_status stretto_stream_scale(const void* a, size_t a_bytes, int32_t factor, void* out,
                                                size_t capacity, size_t* written, unsigned flags);

/* out = values [first, first + n) of a as a stream of its own, without further error. */
STRETTO_API stretto_status stretto_stream_slice(const void* a, size_t a_bytes, uint64_t first, size_t n, void* out,
                                                size_t capacity, size_t* written, unsigned flags);

/* out = the values of a followed by those of b. Same type, width and contributions, else STRETTO_INCOMPATIBLE. */
STRETTO_API stretto_status stretto_stream_concatenate(const void* a, size_t a_bytes, const void* b, size_t b_bytes,
                                                      void* out, size_t capacity, size_t* written, unsigned flags);

/* ----------------------------------------------------------------------------------- range of values ---- */

/* Range of the finite values in one pass; *lo = +inf and *hi = -inf where there is none. Combine parts by min, max. */
STRETTO_API stretto_status stretto_value_range(stretto_type type, const void* values, size_t count, double* lo,
                                               double* hi);

/* The range of the finite values whose magnitude is below ignore_above (0: 1e15), as STRETTO_BOUND_RELATIVE takes it.
 * One pass, or two where a value reaches ignore_above. *ignored counts the finite values that do; it may be NULL.
 * Combine parts by min, max and sum. ignore_above of NaN or below 0 gives STRETTO_INVALID_ARGUMENT. */
STRETTO_API stretto_status stretto_value_range_below(stretto_type type, const void* values, size_t count,
                                                     double ignore_above, double* lo, double* hi, uint64_t* ignored);

/* --------------------------------------------------------------------------------- threads of the codec ---- */

#define STRETTO_THREADS_MAX 256

/* From now on this thread's calls of this header's functions share their work among `threads` threads: this one, and
 * others that each call starts and ends. 1 (the default) to STRETTO_THREADS_MAX, else STRETTO_INVALID_ARGUMENT and
 * nothing changes. The bytes are the same for every number of threads. A thread takes 65,536 values or more, so short
 * inputs use fewer threads. Calls also use fewer where the system starts no more. stretto_inspect, stretto_validate and
 * checksums stay on this thread. Collectives, and the program's other threads, are not affected. */
STRETTO_API stretto_status stretto_use_threads(int threads);

#ifdef __cplusplus
}
#endif

#endif
