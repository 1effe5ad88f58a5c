// The codec: numbers <-> streams of error-bounded codes, and arithmetic on streams.
//
// A stream holds `count` values as integer codes on a grid of width w <= 2*eps (docs/format.md).
// The promises, for every input, tested in tests/codec:
//   bound    each decoded value y of a freshly compressed x has |x - y| <= eps in exact arithmetic, or is x bit for
//            bit (NaN payloads included);
//   sums     adding streams adds codes exactly: p summed contributions are within p*eps, plus half a unit in
//            the last place of the result. The resulting bytes do not depend on order or grouping. A sum within
//            p*eps of the largest number may decode to infinity, as a sum beyond it does;
//   safety   any bytes given as a stream yield an error or values; nothing outside the buffers is touched.
// No function prints or throws. None allocates, except that a thread that reads or writes dense streams keeps memory
// for them (dense/workspace.hpp); without memory the call fails with `out_of_memory`. A status other than ok leaves a
// message (base/status.hpp), and the content of output buffers unspecified. Input and output may not overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/status.hpp"

namespace stretto::codec {

// Element type of the values. f16 and bf16 are widened to float32 before compression. Decoding rounds the float32
// result to nearest, which adds half an ulp of the half type to the bound (finite contributions stay finite). i32 and
// i64 are lossless (eps is ignored).
enum class Type : std::uint8_t { f32 = 1, f64 = 2, i32 = 3, i64 = 4, f16 = 5, bf16 = 6 };

// Bytes of one element; 0 for an invalid Type.
std::size_t size_of(Type t) noexcept;
const char* name(Type t) noexcept;

// Largest number of marks per call.
inline constexpr int kMaxMarks = 16;

// Instruction set of the kernels. All produce the same bytes; `best` is the fastest on this processor.
enum class Isa : std::uint8_t { best, reference, portable, avx512 };
const char* name(Isa isa) noexcept;
Isa best_isa() noexcept;  // the Isa that `best` selects

// Coding of a stream's codes (docs/format.md). Fixed: at the speed of memory. Dense: half to five sixths of the bytes,
// at a third of the speed. Values and sums are equal. `automatic`: compress writes fixed streams; operations on streams
// write dense if an operand is dense.
enum class Coding : std::uint8_t { automatic, fixed, dense };
const char* name(Coding coding) noexcept;

// Runs task(arg, i) for i in [0, n), in any order, possibly concurrently, and returns when all are done. The codec cuts
// long inputs into at most `width` parts. Without an executor work is serial.
struct Parallel {
  int width = 1;
  void (*run)(void* self, int n, void (*task)(void* arg, int i), void* arg) = nullptr;
  void* self = nullptr;
};

// An executor of `width` threads including the caller. The other threads live for one call; the caller does the part of
// a thread that cannot be started. Starting threads allocates.
Parallel threads(int width) noexcept;

struct Options {
  Isa isa = Isa::best;
  // compress: largest expected |x|, which lets the grid carry more values. 0: unknown. Ranks whose streams will be
  // added must give the same value.
  double magnitude = 0;
  bool checksum = false;               // write a CRC-32C of the whole stream; readers verify it
  const Parallel* parallel = nullptr;  // borrowed for the call
  // Marks of missing data among floats. compress() keeps them bit for bit, and no other value decodes to a mark; ranges
  // exclude them. Each is rounded to the values' type. At most kMaxMarks, borrowed for the call. Ignored for integers
  // and add_values().
  std::span<const double> marks{};
  // compress(): finite floats of at least this magnitude are kept bit for bit. Infinity: none.
  double keep_from = std::numeric_limits<double>::infinity();
  // Coding of the streams that the call writes.
  Coding coding = Coding::automatic;
};

// Fields of a stream's header, checked for consistency with its length.
struct Info {
  Type type{};
  std::uint64_t count = 0;          // values
  double eps = 0;                   // bound promised for each contribution; 0 for integers
  double width = 0;                 // grid width w: value = code * w
  std::uint32_t contributions = 0;  // number of compressed inputs in the sum
  std::uint64_t code_bound = 0;     // upper bound of the magnitude of all codes
  std::uint64_t exceptions = 0;     // values held verbatim or as exact sums instead of codes
  std::uint64_t bytes = 0;          // length of the whole stream
  bool checksum = false;
  Coding coding = Coding::fixed;                                    // fixed or dense
  double promised() const noexcept { return eps * contributions; }  // |error| of a sum, before final rounding
};

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// Largest stream that compress() writes for `count` values. Floats: raw size plus header, index and a word per group.
// Integers have no verbatim groups, and may grow by some percent.
std::size_t compress_bound(Type t, std::size_t count) noexcept;

// Largest result of a binary operation (add, subtract, min, max) on streams of this type and count, if neither operand
// exceeds this size. Sums hold verbatim values exactly, so it exceeds compress_bound.
std::size_t combine_bound(Type t, std::size_t count) noexcept;

// Room that nearly always suffices for these two streams, little more than the sum of their sizes; not a bound. A sum
// may need more, and fail with `buffer_too_small`, if blocks of zeros get an unsuitable predictor, or codes widen. A
// fixed sum of dense streams needs the other bound.
std::size_t combine_bound(const Info& a, const Info& b) noexcept;

// The bytes that the groups of this fixed stream take, and about how many they would take in dense chunks of a long stream. False if `in` is
// no fixed stream.
bool estimate_dense(Bytes in, double* fixed_bytes, double* dense_bytes) noexcept;

// Smallest and largest number of a set; lo > hi: the set is empty.
struct Interval {
  double lo = std::numeric_limits<double>::infinity(), hi = -std::numeric_limits<double>::infinity();
  bool empty() const noexcept { return !(lo <= hi); }
  void merge(const Interval& other) noexcept {
    lo = std::min(lo, other.lo);
    hi = std::max(hi, other.hi);
  }
};

// Smallest and largest finite element, excluding marks, in one pass. Without any: lo = +infinity and hi = -infinity, so
// that ranks can combine theirs by minimum and maximum.
Status value_range(Type t, const void* x, std::size_t count, double* lo, double* hi, const Options& = {}) noexcept;

// Default threshold of value_ranges(): values of 1e15 and more are often fill values (1e20, 9.97e36).
inline constexpr double kIgnoreAbove = 1e15;

// Ranges of the finite values, excluding marks, for a relative bound. Ranks merge theirs.
struct Ranges {
  Interval all, below;        // of all finite values; of those whose magnitude is below the threshold
  std::uint64_t ignored = 0;  // finite values whose magnitude reaches the threshold
  void merge(const Ranges& other) noexcept {
    all.merge(other.all);
    below.merge(other.below);
    ignored += other.ignored;
  }
};

// `ignore_above` > 0 (infinity: no value reaches it). The comparison is exact in every type.
Status value_ranges(Type t, const void* x, std::size_t count, double ignore_above, Ranges* ranges,
                    const Options& = {}) noexcept;

// fraction * (hi - lo), also if the difference overflows a double; 0 for an empty interval.
double fraction_of(const Interval& range, double fraction) noexcept;

// Compresses `count` values at x with absolute bound eps > 0 into out; *written is the stream's length. count == 0
// gives a stream of the header alone. compress_bound() is always enough room.
Status compress(Type t, const void* x, std::size_t count, double eps, MutableBytes out, std::size_t* written,
                const Options& = {}) noexcept;

// Reads and checks the header of a stream (O(1)): magic, version, field ranges, length against in.size(). `in` may be
// longer than the stream.
Status inspect(Bytes in, Info* info) noexcept;

// Checks everything that the format prescribes: header, index, every group, the code bound, checksum. Takes as long as
// the scalar decoder.
Status validate(Bytes in) noexcept;

// Decodes all values to y (count elements of the stream's type). `divisor` > 1 decodes the mean: value / divisor.
Status decompress(Bytes in, void* y, std::size_t count, const Options& = {}, std::uint32_t divisor = 1) noexcept;

// Decodes only values [first, first + n), reading only the groups that contain them. Index and checksum are checked as
// a whole.
Status decompress_slice(Bytes in, std::uint64_t first, std::size_t n, void* y, const Options& = {},
                        std::uint32_t divisor = 1) noexcept;

// out = a + b, a - b, min(a, b), max(a, b). Same type, count and grid width, else `incompatible`. Codes widen to 64
// bits if 32 do not suffice; `overflow` if 64 do not. combine_bound(type, count of the result) is enough room, here and
// for all functions below, if the operands were written by functions of this header.
enum class Combine : std::uint8_t { add, subtract, min, max };
Status combine(Combine op, Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

// out = a + compress(x), in one pass: byte for byte equal to combine(add, a, compress(x, eps of a)).
Status add_values(Bytes a, const void* x, std::size_t count, MutableBytes out, std::size_t* written,
                  const Options& = {}) noexcept;

// out = a * k. Contributions (and so the promised error) scale by |k|. k == 0 is an invalid argument.
Status scale(Bytes a, std::int32_t k, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

// out = values [first, first + n) of a as a stream of its own. Codes are copied, not quantised again.
Status slice(Bytes a, std::uint64_t first, std::size_t n, MutableBytes out, std::size_t* written,
             const Options& = {}) noexcept;

// out = a followed by b (same type, width, contributions).
Status concatenate(Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

}  // namespace stretto::codec
