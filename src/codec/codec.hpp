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
// No function prints or throws. None allocates, but that a thread that reads or writes dense streams keeps memory for them (dense/workspace.hpp):
// where the system gives none, the call ends in `out_of_memory`. Status other than ok leaves a message (base/status.hpp), and the content of
// output buffers unspecified. Input and output may not overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/status.hpp"

namespace stretto::codec {

// Element type of the values. f16 and bf16 are widened to float32 when compressed. Decoding rounds the float32 result
// to nearest, which adds half an ulp of the half type to the bound (a finite contribution stays finite). i32 and i64
// are lossless (eps is ignored).
enum class Type : std::uint8_t { f32 = 1, f64 = 2, i32 = 3, i64 = 4, f16 = 5, bf16 = 6 };

// Bytes of one element; 0 for a value that is no Type.
std::size_t size_of(Type t) noexcept;
const char* name(Type t) noexcept;

// Marks that one call takes.
inline constexpr int kMaxMarks = 16;

// Instruction set of the kernels. All give the same bytes; `best` is the fastest this processor has.
enum class Isa : std::uint8_t { best, reference, portable, avx512 };
const char* name(Isa isa) noexcept;
Isa best_isa() noexcept;  // what `best` stands for here

// How streams store their codes (docs/format.md). Fixed: at the speed of memory. Dense: in half to two thirds of the bytes, at a third of the
// speed. Values and sums are the same. `automatic`: what is compressed is fixed, and what is made of streams is dense if one of them is.
enum class Coding : std::uint8_t { automatic, fixed, dense };
const char* name(Coding coding) noexcept;

// Runs task(arg, i) for i in [0, n), any order, possibly concurrently, and returns when all are done.
// The codec cuts long inputs into at most `width` parts. Without one, work is serial.
struct Parallel {
  int width = 1;
  void (*run)(void* self, int n, void (*task)(void* arg, int i), void* arg) = nullptr;
  void* self = nullptr;
};

// An executor of `width` threads, the caller's among them. The others start with each call and have ended when it returns; where the system
// gives none, the caller does their part. To start them allocates.
Parallel threads(int width) noexcept;

struct Options {
  Isa isa = Isa::best;
  double magnitude = 0;                // compress: largest |x| expected; lets the grid carry more values. 0: unknown.
                                       // Ranks that will add their streams must state the same.
  bool checksum = false;               // write a CRC-32C of the whole stream; it is verified when present
  const Parallel* parallel = nullptr;  // borrowed for the call
  // Marks of missing data among floats: compress() keeps them bit for bit, and no other value decodes to one; ranges leave them out. Each is
  // rounded to the type of the values. At most kMaxMarks, borrowed for the call. Integers and add_values() have none.
  std::span<const double> marks{};
  // compress(): finite floats of this magnitude and more are kept bit for bit. Infinity: none is kept for its magnitude.
  double keep_from = std::numeric_limits<double>::infinity();
  // Of the streams that the call writes.
  Coding coding = Coding::automatic;
};

// What a stream's header says, checked for consistency with its length.
struct Info {
  Type type{};
  std::uint64_t count = 0;          // values
  double eps = 0;                   // bound promised for each contribution; 0 for integers
  double width = 0;                 // grid width w: value = code * w
  std::uint32_t contributions = 0;  // how many compressed inputs were summed into it
  std::uint64_t code_bound = 0;     // no code of the stream exceeds this in magnitude
  std::uint64_t exceptions = 0;     // places held verbatim or as exact sums rather than as codes
  std::uint64_t bytes = 0;          // length of the whole stream
  bool checksum = false;
  Coding coding = Coding::fixed;                                    // fixed or dense
  double promised() const noexcept { return eps * contributions; }  // |error| of a sum, before final rounding
};

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// Largest stream that compress() writes for `count` values: for floats raw size plus header, index and a word a group;
// integers, which have no verbatim groups, may grow by some percent.
std::size_t compress_bound(Type t, std::size_t count) noexcept;

// Largest stream that a binary operation (add, subtract, min, max) on streams of this type and count writes, when
// neither operand is itself longer than this. Sums hold verbatim values exactly, so it exceeds compress_bound.
std::size_t combine_bound(Type t, std::size_t count) noexcept;

// Room that nearly always suffices for these two streams, little more than the sum of their sizes: not a bound. Where
// blocks of zeros meet a predictor that does not suit them, or codes widen, a sum may need more and ends in
// `buffer_too_small`. A fixed sum of dense streams needs the other bound.
std::size_t combine_bound(const Info& a, const Info& b) noexcept;

// The bytes that the groups of this fixed stream take, and about how many they would take in dense chunks of a long stream. False if `in` is
// no fixed stream.
bool estimate_dense(Bytes in, double* fixed_bytes, double* dense_bytes) noexcept;

// Smallest and largest of some numbers; lo > hi: there are none.
struct Interval {
  double lo = std::numeric_limits<double>::infinity(), hi = -std::numeric_limits<double>::infinity();
  bool empty() const noexcept { return !(lo <= hi); }
  void merge(const Interval& other) noexcept {
    lo = std::min(lo, other.lo);
    hi = std::max(hi, other.hi);
  }
};

// Smallest and largest finite element but marks, in one pass: lo = +infinity and hi = -infinity if there is none, so that
// several ranks combine theirs by minimum and maximum.
Status value_range(Type t, const void* x, std::size_t count, double* lo, double* hi, const Options& = {}) noexcept;

// The default threshold of value_ranges(): values of 1e15 and more are often fill values (1e20, 9.97e36).
inline constexpr double kIgnoreAbove = 1e15;

// The finite values but marks as a relative bound sees them. Several ranks merge theirs.
struct Ranges {
  Interval all, below;        // of all finite values; of those whose magnitude is below the threshold
  std::uint64_t ignored = 0;  // finite values whose magnitude reaches the threshold
  void merge(const Ranges& other) noexcept {
    all.merge(other.all);
    below.merge(other.below);
    ignored += other.ignored;
  }
};

// One pass, or two where a value reaches `ignore_above` > 0 (infinity: none does). The comparison is exact in every type.
Status value_ranges(Type t, const void* x, std::size_t count, double ignore_above, Ranges* ranges,
                    const Options& = {}) noexcept;

// fraction * (hi - lo), also where the difference is no double; 0 for an empty interval.
double fraction_of(const Interval& range, double fraction) noexcept;

// Compress `count` values at x with absolute bound eps > 0 into out; *written is the stream's length.
// count == 0 gives a stream of the header alone. out.size() >= compress_bound() always suffices.
Status compress(Type t, const void* x, std::size_t count, double eps, MutableBytes out, std::size_t* written,
                const Options& = {}) noexcept;

// Read and check the header of a stream (O(1)): magic, version, field ranges, length against in.size().
// in may be longer than the stream.
Status inspect(Bytes in, Info* info) noexcept;

// Check everything that the format says of a stream: header, index, every group, that no code exceeds the code bound, checksum.
// Takes as long as the scalar code takes to read all codes.
Status validate(Bytes in) noexcept;

// Decode all values to y (count elements of the stream's type). `divisor` > 1 decodes the mean: value / divisor.
Status decompress(Bytes in, void* y, std::size_t count, const Options& = {}, std::uint32_t divisor = 1) noexcept;

// Decode values [first, first + n) only: no groups but those they lie in. Index and checksum are checked as a whole.
Status decompress_slice(Bytes in, std::uint64_t first, std::size_t n, void* y, const Options& = {},
                        std::uint32_t divisor = 1) noexcept;

// out = a + b, a - b, min(a, b), max(a, b). Same type, count and grid width, else `incompatible`.
// Codes widen to 64 bits where 32 do not suffice; `overflow` where 64 do not. combine_bound(type, count of the result) suffices as
// room, here and for all that follow, if compress() and these wrote the operands.
enum class Combine : std::uint8_t { add, subtract, min, max };
Status combine(Combine op, Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

// out = a + compress(x), in one pass: byte for byte what combine(add, a, compress(x, eps of a)) gives.
Status add_values(Bytes a, const void* x, std::size_t count, MutableBytes out, std::size_t* written,
                  const Options& = {}) noexcept;

// out = a * k. Contributions (and so the promised error) scale by |k|. k == 0 is an invalid argument.
Status scale(Bytes a, std::int32_t k, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

// out = values [first, first + n) of a as a stream of its own; codes are carried over, nothing is quantised again.
Status slice(Bytes a, std::uint64_t first, std::size_t n, MutableBytes out, std::size_t* written,
             const Options& = {}) noexcept;

// out = a followed by b (same type, width, contributions).
Status concatenate(Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

}  // namespace stretto::codec
