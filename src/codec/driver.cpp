#include "codec/driver.hpp"

#include <algorithm>
#include <cstring>

#include "codec/stream/part.hpp"

namespace stretto::codec {

int parts_of(std::uint64_t groups, const Parallel* parallel) noexcept {
  if (!parallel || !parallel->run || parallel->width <= 1 || groups <= kChunk) return 1;
  const auto chunks = chunks_of(groups);
  const auto width = static_cast<std::uint64_t>(std::min(parallel->width, kMaxParts));
  return static_cast<int>(std::min(chunks, width));
}

void share_room(const std::size_t* need, int parts, std::uint8_t* begin, std::uint8_t* end,
                std::uint8_t** start) noexcept {
  constexpr double kMost = 4;
  double total = 0;
  for (int i = 0; i < parts; ++i) total += static_cast<double>(need[i]);
  const auto room = static_cast<std::size_t>(end - begin);
  const double scale = total > 0 ? std::min(kMost, static_cast<double>(room) / total) : 0;
  double before = 0;
  for (int i = 0; i <= parts; ++i) {
    start[i] = begin + std::min(room, static_cast<std::size_t>(scale * before) / 4 * 4);
    if (i < parts) before += static_cast<double>(need[i]);
  }
}

namespace {

// Pieces do not overlap; all threads take equal slices of the total bytes.
void copy_by_all(const Piece* pieces, int count, int slices, const Parallel* parallel) noexcept {
  struct Context {
    const Piece* pieces;
    int count, slices;
    std::size_t bytes = 0;
  } context{pieces, count, slices};
  for (int i = 0; i < count; ++i) context.bytes += pieces[i].bytes;
  const auto slice = [](void* arg, int k) {
    const auto& c = *static_cast<const Context*>(arg);
    const auto parts = static_cast<std::size_t>(c.slices), n = static_cast<std::size_t>(k);
    const std::size_t begin = c.bytes / parts * n, end = n + 1 < parts ? c.bytes / parts * (n + 1) : c.bytes;
    std::size_t at = 0;
    for (int i = 0; i < c.count; at += c.pieces[i++].bytes) {
      const Piece& p = c.pieces[i];
      const std::size_t from = std::max(begin, at), to = std::min(end, at + p.bytes);
      if (from < to) std::memcpy(p.to + (from - at), p.from + (from - at), to - from);
    }
  };
  parallel->run(parallel->self, slices, slice, &context);
}

}  // namespace

void close_up(const Piece* pieces, int count, const Parallel* parallel) noexcept {
  constexpr std::size_t kWorthThreads = 1 << 20;
  if (count == 0) return;
  const Piece& last = pieces[count - 1];
  const auto bytes = static_cast<std::size_t>(last.to + last.bytes - pieces[0].to);
  if (bytes >= kWorthThreads && last.to + last.bytes <= pieces[0].from) {
    copy_by_all(pieces, count, count + 1, parallel);
    return;
  }
  for (const Piece* p = pieces; p != pieces + count; ++p) {
    const auto distance = static_cast<std::size_t>(p->from - p->to);
    if (std::min(distance, p->bytes) < kWorthThreads) {
      std::memmove(p->to, p->from, p->bytes);
      continue;
    }
    // A step of the distance overwrites no pending source.
    for (std::size_t at = 0; at < p->bytes; at += distance) {
      const Piece wave{p->to + at, p->from + at, std::min(distance, p->bytes - at)};
      copy_by_all(&wave, 1, count + 1, parallel);
    }
  }
}

std::size_t add_part(const Kernels& kernels, const std::uint8_t* a, std::size_t a_words, const std::uint8_t* b,
                     std::size_t b_words, int m, Type type, bool negate_b, std::uint8_t* out,
                     std::size_t room) noexcept {
  if (!kernels.add || !add_as_full(a, a_words, b, b_words, m, type)) return kDeclined;
  if (room >= kKernelRoom) return kernels.add(a, a_words, b, b_words, negate_b, out);
  std::uint8_t buffer[kKernelRoom];
  const std::size_t words = kernels.add(a, a_words, b, b_words, negate_b, buffer);
  if (words == kDeclined || 4 * words > room) return kDeclined;
  std::memcpy(out, buffer, 4 * words);
  return words;
}

std::size_t StreamWriter::finish(std::uint8_t* end, Info info) noexcept {
  std::uint64_t at = layout.body;
  if (layout.coding == Coding::dense) {
    for (std::uint64_t c = 0; c < layout.chunks; ++c) {
      const auto entry = load<std::uint64_t>(base + kHeaderBytes + 8 * c);
      store(base + kHeaderBytes + 8 * c, at | (entry & kDenseBit));
      at += entry & ~kDenseBit;
    }
  } else {
    for (std::uint64_t g = 0; g < layout.groups; ++g) {
      if (g % kChunk == 0) store(base + kHeaderBytes + 8 * (g / kChunk), at);
      at += 4 * std::uint64_t{load<std::uint16_t>(base + layout.lengths + 2 * g)};
    }
    for (std::size_t i = layout.lengths + 2 * layout.groups; i < layout.body; ++i) base[i] = 0;
  }
  info.count = layout.count;
  info.coding = layout.coding;
  info.bytes = static_cast<std::uint64_t>(end - base);
  write_header(base, info);
  return static_cast<std::size_t>(info.bytes);
}

const Kernels* chosen_kernels(const Options& options) noexcept {
  const Kernels* k = find_kernels(options.isa);
  if (!k && options.isa > Isa::avx512)
    (void)fail(Status::unsupported, "{} is no instruction set", static_cast<int>(options.isa));
  else if (!k)
    (void)fail(Status::unsupported, "this processor or build has no kernels for {}", name(options.isa));
  return k;
}

Status report(const PartResult& r, const char* what, std::size_t capacity) noexcept {
  switch (r.status) {
    case Status::ok: return Status::ok;
    case Status::buffer_too_small:
      return fail(r.status, "{}: an output of {} bytes is too small (full at group {})", what, capacity, r.group);
    case Status::corrupt_stream: return fail(r.status, "{}: group {} of the stream is malformed", what, r.group);
    case Status::out_of_memory: return fail(r.status, "{}: no memory for dense chunks (at group {})", what, r.group);
    case Status::overflow: return fail(r.status, "{}: the result does not fit at group {}", what, r.group);
    case Status::invalid_argument:
    case Status::invalid_bound:
    case Status::incompatible:
    case Status::unsupported:
    case Status::timeout:
    case Status::mpi_error:
    case Status::internal: break;
  }
  return fail(r.status, "{}: failed at group {}", what, r.group);
}

}  // namespace stretto::codec
