#include <algorithm>
#include <limits>

#include "codec/group_io.hpp"

namespace stretto::codec {
namespace {

// make(sources of a and b, g, m, out, room, tally, words) sets the group's words, or kNoRoom.
template <class Make>
Status write_groups(const char* what, const StreamView& a, const StreamView& b, MutableBytes out, std::size_t* written,
                    Info info, const Options& options, std::size_t group_room, Make make) noexcept {
  const Kernels* kernels = chosen_kernels(options);
  if (!kernels) return Status::unsupported;
  StreamWriter writer(out, info.count, coding_of(options, a.info, b.info));
  if (!writer.has_room_for_index())
    return fail(Status::buffer_too_small, "{}: an output of {} bytes is too small", what, out.size());
  const auto encode = [&](std::uint64_t first, std::uint64_t last, std::uint8_t* p, std::uint8_t* end) {
    PartResult r;
    const FloatEnvironment environment;
    GroupSource sources[2] = {{a, *kernels, 0}, {b, *kernels, 1}};
    GroupSink sink(writer, stored_type(info.type), *kernels, p, end);
    r.status = sink.status();
    for (std::uint64_t g = first; g < last && r.status == Status::ok; ++g) {
      std::size_t words = 0;
      r.group = g;
      r.status = make(sources, g, writer.layout.group_size(g), sink.at(), sink.room(), &r.tally, &words);
      if (r.status == Status::ok) r.status = words == kNoRoom ? no_room(sink.room()) : sink.put(g, words);
    }
    r.end = sink.end();
    return r;
  };
  const auto reserve = [&](std::uint64_t first, std::uint64_t last) { return (last - first) * group_room; };
  const PartResult r = writer.write(options.parallel, encode, reserve);
  if (r.status != Status::ok) return report(r, what, out.size());
  info.exceptions = r.tally.exceptions;
  info.checksum = options.checksum;
  *written = writer.finish(r.end, info);
  return Status::ok;
}

struct Run {
  const StreamView* s;
  std::uint64_t first;
  std::uint64_t count;
};

Status join_group(const Run (&runs)[2], GroupSource* from, std::uint64_t at, int m, const ResultSpec& spec,
                  std::uint8_t* out, std::size_t room, Tally* tally, std::size_t* result) noexcept {
  GroupView views[4];
  int first[4], length[4], sources = 0;
  while (m > 0) {
    const bool second = at >= runs[0].count;
    const Run& run = runs[second];
    const std::uint64_t local = (second ? at - runs[0].count : at) + run.first, g = local / kGroup;
    const auto begin = static_cast<int>(local % kGroup);
    const std::uint64_t stop =
        std::min(run.first + run.count, g * kGroup + static_cast<std::uint64_t>(run.s->layout.group_size(g)));
    const int n = static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(m), stop - local));
    GroupSource& source = from[second];
    if (const Status status = source.read(g); status != Status::ok) return status;
    const std::size_t words = source.words();
    if (sources == 0 && begin == 0 && n == m && n == run.s->layout.group_size(g)) {
      if (!source.view(&views[0])) return Status::corrupt_stream;
      *result = kNoRoom;
      if (4 * words > room) return Status::ok;
      std::memcpy(out, source.data(), 4 * words);
      tally->exceptions += static_cast<std::uint64_t>(views[0].exception_count);
      *result = words;
      return Status::ok;
    }
    if (!source.view(&views[sources])) return Status::corrupt_stream;
    first[sources] = begin;
    length[sources++] = n;
    at += static_cast<std::uint64_t>(n);
    m -= n;
  }
  *result = splice_groups(views, sources, first, length, spec, out, room, tally);
  return Status::ok;
}

std::size_t joined_room(const Info& info) noexcept { return info.count == 0 ? 0 : combine_bound(info.type, kGroup); }

}  // namespace

Status scale(Bytes a, std::int32_t k, MutableBytes out, std::size_t* written, const Options& options) noexcept {
  if (!written) return fail(Status::invalid_argument, "scale: written is null");
  if (k == 0) return fail(Status::invalid_argument, "scale: the factor is 0");
  StreamView s;
  if (const Status status = open_stream(a, &s, true); status != Status::ok) return status;
  Info info = s.info;
  const std::uint64_t by = k < 0 ? 0 - static_cast<std::uint64_t>(std::int64_t{k}) : static_cast<std::uint64_t>(k);
  if (info.code_bound > kCodeLimit / by)
    return fail(Status::overflow, "scale: codes up to {} times {} exceed 64 bits", info.code_bound, k);
  if (info.contributions > std::numeric_limits<std::uint32_t>::max() / by)
    return fail(Status::overflow, "scale: {} contributions times {} exceed 2^32 - 1", info.contributions, k);
  info.code_bound *= by;
  info.contributions = static_cast<std::uint32_t>(info.contributions * by);
  const ResultSpec spec{stored_type(info.type), info.width, info.code_bound > kNarrowLimit};
  const auto make = [&](GroupSource* from, std::uint64_t g, int, std::uint8_t* p, std::size_t room, Tally* tally,
                        std::size_t* words) {
    GroupView view;
    if (const Status status = from[0].read(g); status != Status::ok) return status;
    if (!from[0].view(&view)) return Status::corrupt_stream;
    *words = scale_group(view, k, spec, p, room, tally);
    return Status::ok;
  };
  return write_groups("scale", s, s, out, written, info, options, combine_bound(info.type, kGroup), make);
}

Status slice(Bytes a, std::uint64_t first, std::size_t n, MutableBytes out, std::size_t* written,
             const Options& options) noexcept {
  if (!written) return fail(Status::invalid_argument, "slice: written is null");
  StreamView s;
  if (const Status status = open_stream(a, &s, true); status != Status::ok) return status;
  if (first > s.info.count || n > s.info.count - first)
    return fail(Status::invalid_argument, "slice: {} values from {} on of a stream of {}", n, first, s.info.count);
  Info info = s.info;
  info.count = n;
  const Run runs[2] = {{&s, first, n}, {&s, 0, 0}};
  const ResultSpec spec{stored_type(info.type), info.width, false};
  const auto make = [&](GroupSource* from, std::uint64_t g, int m, std::uint8_t* p, std::size_t room, Tally* tally,
                        std::size_t* words) {
    return join_group(runs, from, g * kGroup, m, spec, p, room, tally, words);
  };
  return write_groups("slice", s, s, out, written, info, options, joined_room(info), make);
}

Status concatenate(Bytes a, Bytes b, MutableBytes out, std::size_t* written, const Options& options) noexcept {
  if (!written) return fail(Status::invalid_argument, "concatenate: written is null");
  const FloatEnvironment environment;
  StreamView sa, sb;
  if (const Status status = open_stream(a, &sa, true); status != Status::ok) return status;
  if (const Status status = open_stream(b, &sb, true); status != Status::ok) return status;
  const Info &ia = sa.info, &ib = sb.info;
  if (ia.type != ib.type)
    return fail(Status::incompatible, "concatenate: streams of {} and {}", name(ia.type), name(ib.type));
  if (ia.width != ib.width)
    return fail(Status::incompatible,
                "concatenate: streams of grid width {} and {}; streams of one absolute bound have one grid, those of a "
                "relative bound one each",
                ia.width, ib.width);
  if (ia.contributions != ib.contributions)
    return fail(Status::incompatible, "concatenate: streams of {} and {} contributions", ia.contributions,
                ib.contributions);
  if (ia.count + ib.count > kMaxCount)
    return fail(Status::invalid_argument, "concatenate: {} and {} values exceed 2^48", ia.count, ib.count);
  Info info = ia;
  info.count += ib.count;
  info.eps = std::max(ia.eps, ib.eps);
  info.code_bound = std::max(ia.code_bound, ib.code_bound);
  const Run runs[2] = {{&sa, 0, ia.count}, {&sb, 0, ib.count}};
  const ResultSpec spec{stored_type(info.type), info.width, false};
  const auto make = [&](GroupSource* from, std::uint64_t g, int m, std::uint8_t* p, std::size_t room, Tally* tally,
                        std::size_t* words) {
    return join_group(runs, from, g * kGroup, m, spec, p, room, tally, words);
  };
  return write_groups("concatenate", sa, sb, out, written, info, options, joined_room(info), make);
}

}  // namespace stretto::codec
