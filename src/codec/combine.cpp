#include <algorithm>
#include <limits>

#include "codec/group_io.hpp"
#include "codec/numbers/exact.hpp"

namespace stretto::codec {
namespace {

std::size_t exact_sum_room(Type t) noexcept {
  if (is_integer(t)) return 0;
  return value_bytes(t) == 8 ? ExactSum<double>::kMaxBytes : ExactSum<float>::kMaxBytes;
}

constexpr std::size_t kWidestCodes = 4 + 16 + 32 + kBlocks * 4 * 64;
constexpr std::size_t kExceptionMap = 12 + 4 * kBlocks;

const char* op_name(Combine op) noexcept {
  switch (op) {
    case Combine::add: return "add";
    case Combine::subtract: return "subtract";
    case Combine::min: return "min";
    case Combine::max: return "max";
  }
  return "combine";
}

Status check_pair(Combine op, const Info& a, const Info& b) noexcept {
  const char* what = op_name(op);
  if (a.type != b.type) return fail(Status::incompatible, "{}: streams of {} and {}", what, name(a.type), name(b.type));
  if (a.count != b.count) return fail(Status::incompatible, "{}: streams of {} and {} values", what, a.count, b.count);
  if (a.width != b.width)
    return fail(Status::incompatible,
                "{}: streams of grid width {} and {} (bounds {} and {}); streams of one absolute bound "
                "have one grid, those of a relative bound one each",
                what, a.width, b.width, a.eps, b.eps);
  return Status::ok;
}

Status result_info(Combine op, const Info& a, const Info& b, Info* info) noexcept {
  *info = a;
  info->eps = std::max(a.eps, b.eps);
  if (op == Combine::min || op == Combine::max) {
    info->code_bound = std::max(a.code_bound, b.code_bound);
    info->contributions = std::max(a.contributions, b.contributions);
    return Status::ok;
  }
  if (a.code_bound > kCodeLimit || b.code_bound > kCodeLimit - a.code_bound)
    return fail(Status::overflow, "{}: codes up to {} and {} add up beyond 64 bits", op_name(op), a.code_bound,
                b.code_bound);
  if (b.contributions > std::numeric_limits<std::uint32_t>::max() - a.contributions)
    return fail(Status::overflow, "{}: {} and {} contributions add up beyond 2^32 - 1", op_name(op), a.contributions,
                b.contributions);
  info->code_bound += b.code_bound;
  info->contributions += b.contributions;
  return Status::ok;
}

std::size_t add_filled(const Kernels& kernels, const ResultSpec& spec, const std::uint8_t* a, std::size_t words_a,
                       const std::uint8_t* b, std::size_t words_b, bool negate_b, std::uint8_t* out, std::size_t room,
                       Tally* tally) noexcept {
  const auto kernel = spec.type == Type::f64 ? kernels.f64.add_filled : kernels.f32.add_filled;
  if (!kernel || is_integer(spec.type)) return kDeclined;
  return kernel(a, words_a, b, words_b, negate_b, spec.width, out, room, tally);
}

PartResult combine_part(Combine op, const StreamView& a, const StreamView& b, const ResultSpec& spec,
                        const Kernels& kernels, StreamWriter& writer, std::uint64_t first, std::uint64_t last,
                        std::uint8_t* begin, std::uint8_t* end) noexcept {
  PartResult r;
  const FloatEnvironment environment;
  const bool sum = op == Combine::add || op == Combine::subtract;
  ReadableGroup readable_a, readable_b;
  GroupSource source_a(a, kernels, 0), source_b(b, kernels, 1);
  GroupSink sink(writer, spec.type, kernels, begin, end);
  r.status = sink.status();
  for (std::uint64_t g = first; g < last && r.status == Status::ok; ++g) {
    const int m = writer.layout.group_size(g);
    r.group = g;
    if ((r.status = source_a.read(g)) != Status::ok || (r.status = source_b.read(g)) != Status::ok) break;
    const std::uint8_t *const ga = source_a.data(), *const gb = source_b.data();
    const std::size_t wa = source_a.words(), wb = source_b.words(), room = sink.room();
    std::uint8_t* const p = sink.at();
    prefetch_read(ga, 4 * wa);
    prefetch_read(gb, 4 * wb);
    std::size_t words = kDeclined;
    const auto add = spec.wide ? kernels.add_wide : kernels.add;
    if (add && sum && m == kGroup && room >= kKernelRoom) {
      const std::uint8_t *ra = readable_a.at(ga, wa, source_a.readable_end()),
                         *rb = readable_b.at(gb, wb, source_b.readable_end());
      if (ra && rb) {
        words = add(ra, wa, rb, wb, op == Combine::subtract, p);
        if (words == kDeclined && !spec.wide && (a.info.exceptions || b.info.exceptions))
          words = add_filled(kernels, spec, ra, wa, rb, wb, op == Combine::subtract, p, room, &r.tally);
      }
    }
    if (sum && m < kGroup && !spec.wide) {
      const std::uint8_t *ra = readable_a.at(ga, wa, source_a.readable_end()),
                         *rb = readable_b.at(gb, wb, source_b.readable_end());
      if (ra && rb) words = add_part(kernels, ra, wa, rb, wb, m, spec.type, op == Combine::subtract, p, room);
    }
    if (words == kDeclined) {
      GroupView va, vb;
      if (!parse_group(ga, wa, m, spec.type, &va) || !parse_group(gb, wb, m, spec.type, &vb)) {
        r.status = Status::corrupt_stream;
        return r;
      }
      words = sum ? add_groups(va, vb, op == Combine::subtract, spec, p, room, &r.tally)
                  : select_groups(va, vb, op == Combine::max, spec, p, room, &r.tally);
      if (words == kNoRoom) {
        r.status = no_room(room);
        return r;
      }
    }
    r.status = sink.put(g, words);
  }
  r.end = sink.end();
  return r;
}

}  // namespace

std::size_t combine_bound(Type t, std::size_t count) noexcept {
  if (size_of(t) == 0 || count > kMaxCount) return 0;
  const Layout layout(count);
  const std::size_t group = kWidestCodes + kExceptionMap + kGroup * exact_sum_room(t);
  return layout.body + layout.groups * std::min(group, 4 * kMaxGroupWords);
}

std::size_t combine_bound(const Info& a, const Info& b) noexcept {
  const Layout layout(a.count);
  const std::uint64_t both = a.exceptions + b.exceptions;
  const std::size_t sum =
      a.bytes + b.bytes + layout.groups * kCombineSlack +
      (both ? std::min<std::uint64_t>(both, layout.groups) * kExceptionMap + both * exact_sum_room(a.type) : 0) +
      kKernelRoom;
  return std::min(sum, combine_bound(a.type, a.count) + kKernelRoom);
}

Status combine(Combine op, Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& options) noexcept {
  if (!written) return fail(Status::invalid_argument, "{}: written is null", op_name(op));
  const FloatEnvironment environment;
  StreamView va, vb;
  if (const Status s = open_stream(a, &va, true); s != Status::ok) return s;
  if (const Status s = open_stream(b, &vb, true); s != Status::ok) return s;
  if (const Status s = check_pair(op, va.info, vb.info); s != Status::ok) return s;
  Info info;
  if (const Status s = result_info(op, va.info, vb.info, &info); s != Status::ok) return s;
  info.checksum = options.checksum;
  const Kernels* kernels = chosen_kernels(options);
  if (!kernels) return Status::unsupported;
  StreamWriter writer(out, info.count, coding_of(options, va.info, vb.info));
  if (!writer.has_room_for_index())
    return fail(Status::buffer_too_small, "{}: an output of {} bytes is too small", op_name(op), out.size());
  const ResultSpec spec{stored_type(info.type), info.width, info.code_bound > kNarrowLimit};
  const auto encode = [&](std::uint64_t first, std::uint64_t last, std::uint8_t* p, std::uint8_t* end) {
    return combine_part(op, va, vb, spec, *kernels, writer, first, last, p, end);
  };
  // Excludes the kernels' room: other groups' slack provides it.
  const auto reserve = [&](std::uint64_t first, std::uint64_t last) {
    return likely_bytes(va, first, last) + likely_bytes(vb, first, last) + (last - first) * kCombineSlack;
  };
  const PartResult r = writer.write(options.parallel, encode, reserve);
  if (r.status != Status::ok) return report(r, op_name(op), out.size());
  info.exceptions = r.tally.exceptions;
  *written = writer.finish(r.end, info);
  return Status::ok;
}

}  // namespace stretto::codec
