// Pointers and enumerations are checked here, everything else below.
#include <algorithm>
#include <span>

#include "call/enums.hpp"
#include "codec/codec.hpp"
#include "codec/shape/shape.hpp"
#include "stretto/stretto_stream.h"

using namespace stretto;
using call::to_c;

namespace {

codec::Bytes input(const void* p, std::size_t n) { return {static_cast<const std::byte*>(p), n}; }
codec::MutableBytes output(void* p, std::size_t n) { return {static_cast<std::byte*>(p), n}; }

thread_local codec::Parallel sharing;

codec::Options codec_options(unsigned flags = 0) {
  codec::Options o;
  o.parallel = &sharing;
  o.checksum = (flags & STRETTO_CHECKSUM) != 0;
  if (flags & STRETTO_DENSE) o.coding = codec::Coding::dense;
  if (flags & STRETTO_FIXED) o.coding = codec::Coding::fixed;
  return o;
}

// Each check passes an earlier failure on.
Status check_type(stretto_type t) {
  if (call::has_streams(t)) return Status::ok;
  return call::is_type(t) ? fail(Status::unsupported, "type {} has no streams", call::type_name(t))
                          : fail(Status::invalid_argument, "type {} is no stretto_type", int(t));
}

Status check_pointer(Status before, const void* p, const char* what) {
  if (before != Status::ok || p) return before;
  return fail(Status::invalid_argument, "{} is NULL", what);
}

Status check_values(Status before, const void* p, std::size_t count) {
  if (before != Status::ok || p || count == 0) return before;
  return fail(Status::invalid_argument, "values is NULL with count {}", count);
}

Status check_divisor(Status before, std::uint32_t divisor) {
  if (before != Status::ok || divisor) return before;
  return fail(Status::invalid_argument, "divisor is 0");
}

constexpr std::size_t kMostMissing = 1024;

// A caller of another header version passes another size.
Status read_missing(Status before, const stretto_missing* missing, codec::Options* options, double* ignore_above) {
  *ignore_above = codec::kIgnoreAbove;
  if (before != Status::ok || !missing) return before;
  if (missing->size < sizeof *missing)
    return fail(Status::invalid_argument, "missing.size is {}; use STRETTO_MISSING_INIT", missing->size);
  const auto* bytes = reinterpret_cast<const unsigned char*>(missing);
  const std::size_t beyond = std::min(missing->size, kMostMissing);
  if (missing->size > kMostMissing ||
      std::any_of(bytes + sizeof *missing, bytes + beyond, [](unsigned char b) { return b != 0; }))
    return fail(Status::invalid_argument, "missing.size is {}; this library knows the first {} bytes", missing->size,
                sizeof *missing);
  if (missing->count > STRETTO_MARKS_MAX)
    return fail(Status::invalid_argument, "missing.count is {}; at most {}", missing->count, STRETTO_MARKS_MAX);
  if (!missing->marks && missing->count)
    return fail(Status::invalid_argument, "missing.marks is NULL with count {}", missing->count);
  if (!(missing->ignore_above >= 0))
    return fail(Status::invalid_argument, "missing.ignore_above is {}; 0 or more", missing->ignore_above);
  options->marks = {missing->marks, missing->count};
  if (missing->ignore_above > 0) *ignore_above = missing->ignore_above;
  return Status::ok;
}

// Sets *written to 0 unless all succeeds.
template <class Work>
stretto_status writing(Status before, const void* out, std::size_t* written, unsigned flags, Work work) {
  if (written) *written = 0;
  Status s = check_pointer(check_pointer(before, out, "out"), written, "written");
  if (s == Status::ok && (flags & ~(STRETTO_CHECKSUM | STRETTO_DENSE | STRETTO_FIXED)))
    s = fail(Status::invalid_argument, "flags {:#x} has unknown bits", flags);
  if (s == Status::ok && (flags & STRETTO_DENSE) && (flags & STRETTO_FIXED))
    s = fail(Status::invalid_argument, "flags {:#x} asks for dense and for fixed codes", flags);
  if (s == Status::ok) {
    s = work();
    if (s != Status::ok) *written = 0;
  }
  return to_c(s);
}

stretto_status combine(codec::Combine op, const void* a, size_t an, const void* b, size_t bn, void* out,
                       size_t capacity, size_t* written, unsigned flags) {
  return writing(check_pointer(check_pointer(Status::ok, a, "a"), b, "b"), out, written, flags, [&] {
    return codec::combine(op, input(a, an), input(b, bn), output(out, capacity), written, codec_options(flags));
  });
}

}  // namespace

extern "C" {

stretto_status stretto_use_threads(int threads) {
  constexpr int most = STRETTO_THREADS_MAX;
  if (threads < 1 || threads > most)
    return to_c(fail(Status::invalid_argument, "threads is {}; 1 to {}", threads, most));
  sharing = threads > 1 ? codec::threads(threads) : codec::Parallel{};
  return STRETTO_OK;
}

size_t stretto_compress_bound(stretto_type type, size_t count) {
  return call::has_streams(type) ? codec::compress_bound(call::codec_type(type), count) : 0;
}

size_t stretto_combine_bound(stretto_type type, size_t count) {
  return call::has_streams(type) ? codec::combine_bound(call::codec_type(type), count) : 0;
}

stretto_status stretto_value_range(stretto_type type, const void* values, size_t count, double* lo, double* hi) {
  const Status s = check_pointer(check_pointer(check_values(check_type(type), values, count), lo, "lo"), hi, "hi");
  if (s != Status::ok) return to_c(s);
  return to_c(codec::value_range(call::codec_type(type), values, count, lo, hi, codec_options()));
}

stretto_status stretto_value_range_below(stretto_type type, const void* values, size_t count, double ignore_above,
                                         double* lo, double* hi, uint64_t* ignored) {
  Status s = check_pointer(check_pointer(check_values(check_type(type), values, count), lo, "lo"), hi, "hi");
  if (s == Status::ok && !(ignore_above >= 0))
    s = fail(Status::invalid_argument, "ignore_above is {}; 0 or more", ignore_above);
  if (s != Status::ok) return to_c(s);
  codec::Ranges found;
  const double above = ignore_above == 0 ? codec::kIgnoreAbove : ignore_above;
  s = codec::value_ranges(call::codec_type(type), values, count, above, &found, codec_options());
  if (s != Status::ok) return to_c(s);
  *lo = found.below.lo;
  *hi = found.below.hi;
  if (ignored) *ignored = found.ignored;
  return STRETTO_OK;
}

stretto_status stretto_compress(stretto_type type, const void* values, size_t count, double eps, void* out,
                                size_t capacity, size_t* written, unsigned flags) {
  return writing(check_values(check_type(type), values, count), out, written, flags, [&] {
    return codec::compress(call::codec_type(type), values, count, eps, output(out, capacity), written,
                           codec_options(flags));
  });
}

stretto_status stretto_compress_missing(stretto_type type, const void* values, size_t count, double eps,
                                        const stretto_missing* missing, void* out, size_t capacity, size_t* written,
                                        unsigned flags) {
  static_assert(STRETTO_MARKS_MAX == codec::kMaxMarks);
  codec::Options options = codec_options(flags);
  double ignore_above = 0;
  const Status s = read_missing(check_values(check_type(type), values, count), missing, &options, &ignore_above);
  if (missing) options.keep_from = ignore_above;
  return writing(s, out, written, flags, [&] {
    return codec::compress(call::codec_type(type), values, count, eps, output(out, capacity), written, options);
  });
}

stretto_status stretto_compress_shaped(stretto_type type, const void* values, const uint64_t* extents, int axes,
                                       double eps, const stretto_missing* missing, void* out, size_t capacity,
                                       size_t* written, unsigned flags) {
  static_assert(STRETTO_AXES_MAX == codec::kMaxAxes);
  codec::Options options = codec_options(flags & STRETTO_CHECKSUM);
  double ignore_above = 0;
  Status s = check_pointer(check_type(type), extents, "extents");
  if (s == Status::ok && (axes < 1 || axes > STRETTO_AXES_MAX))
    s = fail(Status::invalid_argument, "axes is {}; 1 to {}", axes, STRETTO_AXES_MAX);
  if (s == Status::ok && (flags & STRETTO_FIXED))
    s = fail(Status::invalid_argument, "flags {:#x} asks for fixed codes; shaped streams are dense", flags);
  s = read_missing(s, missing, &options, &ignore_above);
  if (missing) options.keep_from = ignore_above;
  return writing(s, out, written, flags, [&] {
    codec::Shape shape;
    shape.axes = axes;
    std::copy_n(extents, axes, shape.extent);
    return codec::compress_shaped(call::codec_type(type), values, shape, eps, output(out, capacity), written, options);
  });
}

stretto_status stretto_stream_shape(const void* stream, size_t bytes, uint64_t* extents, int* axes) {
  codec::Shape shape;
  Status s =
      check_pointer(check_pointer(check_pointer(Status::ok, stream, "stream"), extents, "extents"), axes, "axes");
  if (s == Status::ok) s = codec::inspect_shape(input(stream, bytes), &shape);
  if (s != Status::ok) return to_c(s);
  *axes = shape.axes;
  std::copy_n(shape.extent, shape.axes, extents);
  return STRETTO_OK;
}

stretto_status stretto_value_range_missing(stretto_type type, const void* values, size_t count,
                                           const stretto_missing* missing, double* lo, double* hi, uint64_t* ignored) {
  codec::Options options = codec_options();
  double ignore_above = 0;
  Status s = check_pointer(check_pointer(check_values(check_type(type), values, count), lo, "lo"), hi, "hi");
  s = read_missing(s, missing, &options, &ignore_above);
  if (s != Status::ok) return to_c(s);
  codec::Ranges found;
  s = codec::value_ranges(call::codec_type(type), values, count, ignore_above, &found, options);
  if (s != Status::ok) return to_c(s);
  *lo = found.below.lo;
  *hi = found.below.hi;
  if (ignored) *ignored = found.ignored;
  return STRETTO_OK;
}

stretto_status stretto_decompress(const void* stream, size_t bytes, void* values, size_t count, uint32_t divisor) {
  const Status s = check_divisor(check_values(check_pointer(Status::ok, stream, "stream"), values, count), divisor);
  if (s != Status::ok) return to_c(s);
  return to_c(codec::decompress(input(stream, bytes), values, count, codec_options(), divisor));
}

stretto_status stretto_decompress_slice(const void* stream, size_t bytes, uint64_t first, size_t n, void* values,
                                        uint32_t divisor) {
  const Status s = check_divisor(check_values(check_pointer(Status::ok, stream, "stream"), values, n), divisor);
  if (s != Status::ok) return to_c(s);
  return to_c(codec::decompress_slice(input(stream, bytes), first, n, values, codec_options(), divisor));
}

stretto_status stretto_inspect(const void* stream, size_t bytes, stretto_stream_info* info) {
  codec::Info i;
  Status s = check_pointer(check_pointer(Status::ok, stream, "stream"), info, "info");
  if (s == Status::ok) s = codec::inspect(input(stream, bytes), &i);
  if (s != Status::ok) return to_c(s);
  *info = {static_cast<stretto_type>(int(i.type)),
           i.contributions,
           i.count,
           i.bytes,
           i.code_bound,
           i.eps,
           i.width,
           i.promised(),
           i.checksum,
           to_c(i.coding)};
  return STRETTO_OK;
}

stretto_status stretto_validate(const void* stream, size_t bytes) {
  const Status s = check_pointer(Status::ok, stream, "stream");
  return to_c(s == Status::ok ? codec::validate(input(stream, bytes)) : s);
}

stretto_status stretto_stream_add(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                  size_t capacity, size_t* written, unsigned flags) {
  return combine(codec::Combine::add, a, a_bytes, b, b_bytes, out, capacity, written, flags);
}

stretto_status stretto_stream_subtract(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                       size_t capacity, size_t* written, unsigned flags) {
  return combine(codec::Combine::subtract, a, a_bytes, b, b_bytes, out, capacity, written, flags);
}

stretto_status stretto_stream_min(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                  size_t capacity, size_t* written, unsigned flags) {
  return combine(codec::Combine::min, a, a_bytes, b, b_bytes, out, capacity, written, flags);
}

stretto_status stretto_stream_max(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                  size_t capacity, size_t* written, unsigned flags) {
  return combine(codec::Combine::max, a, a_bytes, b, b_bytes, out, capacity, written, flags);
}

stretto_status stretto_stream_add_values(const void* a, size_t a_bytes, const void* values, size_t count, void* out,
                                         size_t capacity, size_t* written, unsigned flags) {
  return writing(check_values(check_pointer(Status::ok, a, "a"), values, count), out, written, flags, [&] {
    return codec::add_values(input(a, a_bytes), values, count, output(out, capacity), written, codec_options(flags));
  });
}

stretto_status stretto_stream_scale(const void* a, size_t a_bytes, int32_t factor, void* out, size_t capacity,
                                    size_t* written, unsigned flags) {
  return writing(check_pointer(Status::ok, a, "a"), out, written, flags, [&] {
    return codec::scale(input(a, a_bytes), factor, output(out, capacity), written, codec_options(flags));
  });
}

stretto_status stretto_stream_slice(const void* a, size_t a_bytes, uint64_t first, size_t n, void* out, size_t capacity,
                                    size_t* written, unsigned flags) {
  return writing(check_pointer(Status::ok, a, "a"), out, written, flags, [&] {
    return codec::slice(input(a, a_bytes), first, n, output(out, capacity), written, codec_options(flags));
  });
}

stretto_status stretto_stream_concatenate(const void* a, size_t a_bytes, const void* b, size_t b_bytes, void* out,
                                          size_t capacity, size_t* written, unsigned flags) {
  return writing(check_pointer(check_pointer(Status::ok, a, "a"), b, "b"), out, written, flags, [&] {
    return codec::concatenate(input(a, a_bytes), input(b, b_bytes), output(out, capacity), written,
                              codec_options(flags));
  });
}
}
