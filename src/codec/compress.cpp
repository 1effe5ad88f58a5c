#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include "codec/group_encoder.hpp"
#include "codec/group_io.hpp"
#include "codec/numbers/values.hpp"

namespace stretto::codec {
namespace {

std::size_t largest_group(Type t, int m) noexcept {
  const int value = value_bytes(t);
  if (!is_integer(t)) return 4 + static_cast<std::size_t>(m) * static_cast<std::size_t>(value);
  // Word, base, slope, 32 full planes per block (64 for wide differences), widths.
  return 4 + 16 + 32 + static_cast<std::size_t>(kBlocks) * kBlock / 8 * (value == 4 ? 34 : 64);
}

std::size_t last_group_room(Type t, const Layout& layout) noexcept {
  return largest_group(t, is_integer(t) ? kGroup : layout.group_size(layout.groups - 1));
}

Status check_input(const char* what, const void* x, std::size_t count, const void* written) noexcept {
  if (!written) return fail(Status::invalid_argument, "{}: written is null", what);
  if (!x && count) return fail(Status::invalid_argument, "{}: x is null with count {}", what, count);
  if (count > kMaxCount) return fail(Status::invalid_argument, "{}: count {} exceeds 2^48", what, count);
  return Status::ok;
}

template <class T>
Status compress_as(Type t, const void* x, std::size_t count, Info info, MutableBytes out, std::size_t* written,
                   const Kernels& kernels, const Options& options) noexcept {
  StreamWriter writer(out, count, coding_of(options));
  if (!writer.has_room_for_index())
    return fail(Status::buffer_too_small, "compress: an output of {} bytes is too small for {} values", out.size(),
                count);
  const GroupEncoder<T> encoder(info, kernels, orders_of(options, writer.layout.coding));
  const MarksFor<T> marks(t, encoder.grid, options);
  const auto encode = [&](std::uint64_t first, std::uint64_t last, std::uint8_t* p, std::uint8_t* end) {
    PartResult r;
    const FloatEnvironment environment;
    GroupSink sink(writer, stored_type(t), kernels, p, end);
    r.status = sink.status();
    T buffer[kGroup];
    for (std::uint64_t g = first; g < last && r.status == Status::ok; ++g) {
      const int m = writer.layout.group_size(g);
      const T* v = group_values<T>(t, x, g * kGroup, m, buffer);
      const std::size_t words = marks.encode(encoder, v, m, sink.at(), sink.room(), &r.tally);
      r.group = g;
      r.status = words == kNoRoom ? Status::buffer_too_small : sink.put(g, words);
    }
    r.end = sink.end();
    return r;
  };
  const auto reserve = [&](std::uint64_t first, std::uint64_t last) {
    const std::uint64_t full = last - first - (first < last && last == writer.layout.groups);
    return full * largest_group(t, kGroup) + (full < last - first ? last_group_room(t, writer.layout) : 0);
  };
  const PartResult r = writer.write(options.parallel, encode, reserve);
  if (r.status != Status::ok) return report(r, "compress", out.size());
  info.code_bound = r.tally.bound;
  info.exceptions = r.tally.exceptions;
  *written = writer.finish(r.end, info);
  return Status::ok;
}

bool lacks_room(Status s) noexcept { return s == Status::buffer_too_small || s == Status::overflow; }

template <class T>
Status add_values_as(const StreamView& a, const void* x, MutableBytes out, std::size_t* written, const Kernels& kernels,
                     const Options& options) noexcept {
  StreamWriter writer(out, a.info.count, coding_of(options, a.info, a.info));
  if (!writer.has_room_for_index())
    return fail(Status::buffer_too_small, "add_values: an output of {} bytes is too small", out.size());
  const GroupEncoder<T> encoder(a.info, kernels, orders_of(options, writer.layout.coding));
  const Type t = a.info.type;
  // x's code bound, known at the end, decides between wide and narrow groups. Narrow is nearly always right.
  ResultSpec spec{stored_type(t), a.info.width, a.info.code_bound > kNarrowLimit};
  const auto pass = [&] {
    const auto encode = [&](std::uint64_t first, std::uint64_t last, std::uint8_t* p, std::uint8_t* end) {
      PartResult r;
      const FloatEnvironment environment;
      T buffer[kGroup];
      std::uint8_t compressed[kKernelRoom];
      ReadableGroup readable_a;
      GroupSource source(a, kernels, 0);
      GroupSink sink(writer, spec.type, kernels, p, end);
      r.status = sink.status();
      if (r.status != Status::ok) return r;
      Tally own, sums, fast;
      for (std::uint64_t g = first; g < last; ++g) {
        const int m = writer.layout.group_size(g);
        const T* v = group_values<T>(t, x, g * kGroup, m, buffer);
        if (r.status != Status::ok) {
          encoder.encode(v, m, compressed, sizeof compressed, &own);
          continue;
        }
        r.status = source.read(g);
        r.group = g;
        if (r.status != Status::ok) break;
        const std::uint8_t* const ga = source.data();
        const std::size_t words_a = source.words(), room = sink.room();
        std::uint8_t* const to = sink.at();
        prefetch_read(ga, 4 * words_a);
        const bool full = m == kGroup && room >= kKernelRoom;
        const std::uint8_t* const readable = full ? readable_a.at(ga, words_a, source.readable_end()) : nullptr;
        std::size_t words = kDeclined, n = 0;
        const auto fused = spec.wide ? nullptr : value_kernels<T>(encoder.kernels).add_values;
        if (fused && readable) words = fused(readable, words_a, v, encoder.grid, to, room, &fast);
        if (words == kDeclined) {
          n = encoder.encode(v, m, compressed, sizeof compressed, &own);
          const auto add = spec.wide ? encoder.kernels.add_wide : encoder.kernels.add;
          const bool in_steps = spec.wide || std::is_integral_v<T>;
          if (in_steps && add && readable) words = add(readable, words_a, compressed, n, false, to);
          if (m < kGroup && !spec.wide)
            if (const std::uint8_t* const ra = readable_a.at(ga, words_a, source.readable_end()))
              words = add_part(encoder.kernels, ra, words_a, compressed, n, m, spec.type, false, to, room);
        }
        if (words == kDeclined) {
          GroupView va, vb;
          if (!parse_group(compressed, n, m, spec.type, &vb)) {
            r.status = Status::internal;
          } else if (!parse_group(ga, words_a, m, spec.type, &va)) {
            r.status = Status::corrupt_stream;
          } else {
            words = add_groups(va, vb, false, spec, to, room, &sums);
            if (words == kNoRoom) r.status = no_room(room);
          }
        }
        if (r.status == Status::ok) r.status = sink.put(g, words);
        if (r.status != Status::ok && (spec.wide || !lacks_room(r.status))) break;
      }
      r.end = sink.end();
      r.tally.bound = std::max(own.bound, fast.bound);
      r.tally.exceptions = sums.exceptions + fast.exceptions;
      return r;
    };
    const auto reserve = [&](std::uint64_t first, std::uint64_t last) {
      return likely_bytes(a, first, last) + (last - first) * (largest_group(t, kGroup) + kCombineSlack);
    };
    return writer.write(options.parallel, encode, reserve);
  };
  PartResult r = pass();
  // The bases of narrow groups may not suit the sums, and need more room than wide groups.
  const bool ended = r.status == Status::ok || lacks_room(r.status);
  if (ended && !spec.wide && a.info.code_bound + r.tally.bound > kNarrowLimit) {
    spec.wide = true;
    r = pass();
  }
  if (r.status != Status::ok) return report(r, "add_values", out.size());
  Info info = a.info;
  if (r.tally.bound > kCodeLimit || info.code_bound > kCodeLimit - r.tally.bound)
    return fail(Status::overflow, "add_values: codes up to {} and {} add up beyond 64 bits", info.code_bound,
                r.tally.bound);
  if (info.contributions == std::numeric_limits<std::uint32_t>::max())
    return fail(Status::overflow, "add_values: the stream holds 2^32 - 1 contributions already");
  info.code_bound += r.tally.bound;
  info.contributions += 1;
  info.exceptions = r.tally.exceptions;
  info.checksum = options.checksum;
  *written = writer.finish(r.end, info);
  return Status::ok;
}

}  // namespace

std::size_t compress_bound(Type t, std::size_t count) noexcept {
  if (size_of(t) == 0 || count > kMaxCount) return 0;
  const Layout layout(count);
  if (layout.groups == 0) return layout.body;
  return layout.body + (layout.groups - 1) * largest_group(t, kGroup) + last_group_room(t, layout);
}

Status check_compress(Type t, const void* x, std::size_t count, double eps, const std::size_t* written,
                      const Options& options) noexcept {
  if (size_of(t) == 0) return fail(Status::invalid_argument, "compress: {} is no type", static_cast<int>(t));
  if (const Status s = check_input("compress", x, count, written); s != Status::ok) return s;
  const FloatEnvironment environment;
  if (!is_integer(t) && !(std::isfinite(eps) && eps > 0))
    return fail(Status::invalid_bound, "compress: the bound {} is not a positive finite number", eps);
  if (options.marks.size() > kMaxMarks)
    return fail(Status::invalid_argument, "compress: {} marks; at most {}", options.marks.size(), kMaxMarks);
  if (!(options.keep_from > 0))
    return fail(Status::invalid_argument, "compress: keep_from {} is not positive", options.keep_from);
  if (!(options.magnitude >= 0)) return fail(Status::invalid_argument, "compress: magnitude is {}", options.magnitude);
  return Status::ok;
}

Status compress(Type t, const void* x, std::size_t count, double eps, MutableBytes out, std::size_t* written,
                const Options& options) noexcept {
  if (const Status s = check_compress(t, x, count, eps, written, options); s != Status::ok) return s;
  const FloatEnvironment environment;  // also for the grid
  const Kernels* kernels = chosen_kernels(options);
  if (!kernels) return Status::unsupported;
  Info info;
  info.type = t;
  info.eps = is_integer(t) ? 0 : eps;
  info.width = grid_width(t, eps, options.magnitude);
  info.contributions = 1;
  info.checksum = options.checksum;
  return with_stored_type(t, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return compress_as<T>(t, x, count, info, out, written, *kernels, options);
  });
}

Status add_values(Bytes a, const void* x, std::size_t count, MutableBytes out, std::size_t* written,
                  const Options& options) noexcept {
  if (const Status s = check_input("add_values", x, count, written); s != Status::ok) return s;
  StreamView view;
  if (const Status s = open_stream(a, &view, true); s != Status::ok) return s;
  if (view.info.count != count)
    return fail(Status::incompatible, "add_values: a stream of {} values and {} values", view.info.count, count);
  const Kernels* kernels = chosen_kernels(options);
  if (!kernels) return Status::unsupported;
  const FloatEnvironment environment;
  return with_stored_type(view.info.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    return add_values_as<T>(view, x, out, written, *kernels, options);
  });
}

}  // namespace stretto::codec
