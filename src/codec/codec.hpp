// Values <-> streams of error-bounded codes, and arithmetic on streams.
//
// A stream holds `count` values as integer codes on a grid of width w <= 2*eps (docs/format.md). Promises for every
// input, tested in tests/codec:
//   bound    a decoded value y of a newly compressed x has |x - y| <= eps in exact arithmetic, or equals x bit for bit;
//   sums     codes add exactly: p summed contributions are within p*eps plus half an ulp of the result. Bytes do not
//            depend on order or grouping. Sums from p*eps below the largest number on may decode to infinity;
//   safety   any bytes given as a stream yield an error or values; nothing outside the buffers is touched.
// Functions neither print nor throw. Only dense streams allocate (dense/workspace.hpp). A status other than ok leaves a
// message (base/status.hpp) and unspecified output. Input and output may not overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/status.hpp"

namespace stretto::codec {

// Halves are widened to float32; decoding rounds to nearest, which adds half an ulp of the half to the bound, and keeps
// finite contributions finite. Integers are lossless (eps is ignored).
enum class Type : std::uint8_t { f32 = 1, f64 = 2, i32 = 3, i64 = 4, f16 = 5, bf16 = 6 };

// Bytes of an element; 0 for an invalid Type.
std::size_t size_of(Type t) noexcept;
const char* name(Type t) noexcept;

inline constexpr int kMaxMarks = 16;

// All instruction sets produce the same bytes.
enum class Isa : std::uint8_t { best, reference, portable, avx512 };
const char* name(Isa isa) noexcept;
Isa best_isa() noexcept;

// Dense: half to five sixths of the bytes, a third of the speed. `automatic`: compress writes fixed; operations write
// dense if an operand is dense.
enum class Coding : std::uint8_t { automatic, fixed, dense };
const char* name(Coding coding) noexcept;

// Runs task(arg, i) for i in [0, n), in any order, possibly concurrently. Long inputs are cut into at most `width`
// parts. Without an executor work is serial.
struct Parallel {
  int width = 1;
  void (*run)(void* self, int n, void (*task)(void* arg, int i), void* arg) = nullptr;
  void* self = nullptr;
};

// `width` threads for one call, including the caller, which runs the parts of threads that cannot be started.
// Allocates.
Parallel threads(int width) noexcept;

struct Options {
  Isa isa = Isa::best;
  // Largest expected |x|, so that the grid can carry larger values. 0: unknown. Equal for streams to be added.
  double magnitude = 0;
  bool checksum = false;               // a CRC-32C, which readers verify
  const Parallel* parallel = nullptr;  // borrowed
  // Marks of missing data among floats, rounded to the values' type; at most kMaxMarks, borrowed. compress() keeps them
  // bit for bit, and no other value decodes to a mark. Ranges exclude them. Integers and add_values() ignore them.
  std::span<const double> marks{};
  // compress(): keeps finite floats of at least this magnitude bit for bit.
  double keep_from = std::numeric_limits<double>::infinity();
  Coding coding = Coding::automatic;
  // The coding whose costs choose the order of prediction. automatic: the stream's.
  Coding orders = Coding::automatic;
};

struct Info {
  Type type{};
  std::uint64_t count = 0;
  double eps = 0;    // bound of each contribution; 0 for integers
  double width = 0;  // grid width: value = code * width
  std::uint32_t contributions = 0;
  std::uint64_t code_bound = 0;
  std::uint64_t exceptions = 0;  // values held verbatim or as exact sums
  std::uint64_t bytes = 0;
  bool checksum = false;
  Coding coding = Coding::fixed;
  double promised() const noexcept { return eps * contributions; }  // error of a sum before its final rounding
};

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// Largest stream that compress() writes. Floats: raw size plus header, index and a word per group. Integers may grow by
// some percent.
std::size_t compress_bound(Type t, std::size_t count) noexcept;

// For a binary operation on streams of at most compress_bound() bytes. Sums hold verbatim values exactly, hence more.
std::size_t combine_bound(Type t, std::size_t count) noexcept;

// Room that nearly always suffices: little more than both sizes. A sum may fail with `buffer_too_small` if zero blocks
// get an unsuitable predictor, or codes widen. A fixed sum of dense streams needs the bound above.
std::size_t combine_bound(const Info& a, const Info& b) noexcept;

// Bytes of a fixed stream's groups, and estimated in dense chunks: those of a dense stream if the groups have its
// orders. False: no fixed stream.
bool estimate_dense(Bytes in, double* fixed_bytes, double* dense_bytes) noexcept;

struct Interval {
  double lo = std::numeric_limits<double>::infinity(), hi = -std::numeric_limits<double>::infinity();
  bool empty() const noexcept { return !(lo <= hi); }
  void merge(const Interval& other) noexcept {
    lo = std::min(lo, other.lo);
    hi = std::max(hi, other.hi);
  }
};

// Interval of the finite elements but marks. Without any it is empty, so that ranks can merge theirs.
Status value_range(Type t, const void* x, std::size_t count, double* lo, double* hi, const Options& = {}) noexcept;

// Values of 1e15 and more are often fill values (1e20, 9.97e36).
inline constexpr double kIgnoreAbove = 1e15;

struct Ranges {
  Interval all, below;
  std::uint64_t ignored = 0;  // values of magnitudes from the threshold on
  void merge(const Ranges& other) noexcept {
    all.merge(other.all);
    below.merge(other.below);
    ignored += other.ignored;
  }
};

// `ignore_above` > 0; infinity ignores none. The comparison is exact in every type.
Status value_ranges(Type t, const void* x, std::size_t count, double ignore_above, Ranges* ranges,
                    const Options& = {}) noexcept;

// fraction * (hi - lo), also if the difference overflows; 0 for an empty interval.
double fraction_of(const Interval& range, double fraction) noexcept;

// eps > 0 is absolute. count == 0 gives a header alone. compress_bound() is enough room.
Status compress(Type t, const void* x, std::size_t count, double eps, MutableBytes out, std::size_t* written,
                const Options& = {}) noexcept;

// Checks the header (O(1)): magic, version, field ranges, length against in.size(), which may exceed the stream's.
Status inspect(Bytes in, Info* info) noexcept;

// Checks everything that the format prescribes, at the scalar decoder's speed.
Status validate(Bytes in) noexcept;

// `divisor` > 1 gives means.
Status decompress(Bytes in, void* y, std::size_t count, const Options& = {}, std::uint32_t divisor = 1) noexcept;

// From the groups of values [first, first + n) alone. Checks the whole index and checksum.
Status decompress_slice(Bytes in, std::uint64_t first, std::size_t n, void* y, const Options& = {},
                        std::uint32_t divisor = 1) noexcept;

// `incompatible` unless type, count and grid width are equal. Codes widen to 64 bits if necessary; `overflow` beyond.
// For operands written by this library, combine_bound(type, count of the result) is enough room, here and below.
enum class Combine : std::uint8_t { add, subtract, min, max };
Status combine(Combine op, Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

// out = a + compress(x) in one pass: the bytes of combine(add, a, compress(x, eps of a)).
Status add_values(Bytes a, const void* x, std::size_t count, MutableBytes out, std::size_t* written,
                  const Options& = {}) noexcept;

// Contributions, and so the promised error, scale by |k|. k == 0: invalid argument.
Status scale(Bytes a, std::int32_t k, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

// Codes are copied, not quantised again.
Status slice(Bytes a, std::uint64_t first, std::size_t n, MutableBytes out, std::size_t* written,
             const Options& = {}) noexcept;

// `incompatible` unless type, grid width and contributions are equal.
Status concatenate(Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& = {}) noexcept;

}  // namespace stretto::codec
