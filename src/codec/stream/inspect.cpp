#include <algorithm>
#include <bit>
#include <cmath>

#include "codec/group_io.hpp"
#include "codec/shape/view.hpp"
#include "codec/stream/group_places.hpp"

namespace stretto::codec {

static_assert(std::endian::native == std::endian::little, "streams are read and written in place");
static_assert(sizeof(std::size_t) == 8, "offsets and lengths of a stream, up to 2^48 values, are a size_t");

namespace {

constexpr std::uint32_t kMagic = 0x54525453;
constexpr std::uint8_t kFixedVersion = 1, kDenseVersion = 2;

Status corrupt(const char* what, std::uint64_t value) noexcept {
  return fail(Status::corrupt_stream, "stream header: {} is {}", what, value);
}

std::uint32_t stream_checksum(const std::uint8_t* p, std::size_t bytes) noexcept {
  const std::uint8_t zero[4] = {};
  std::uint32_t c = crc32c(0, p, 36);
  c = crc32c(c, zero, 4);
  return crc32c(c, p + 40, bytes - 40);
}

Status read_header(Bytes in, Info* info) noexcept {
  const FloatEnvironment environment;
  if (in.size() < kHeaderBytes)
    return fail(Status::corrupt_stream, "a stream has at least {} bytes, not {}", kHeaderBytes, in.size());
  const auto* p = reinterpret_cast<const std::uint8_t*>(in.data());
  if (load<std::uint32_t>(p) != kMagic)
    return fail(Status::corrupt_stream, "no stream: it starts with {:#010x} instead of \"STRT\"",
                load<std::uint32_t>(p));
  if (p[4] < kFixedVersion || p[4] > shaped::kVersion) return corrupt("version", p[4]);
  if (p[5] < 1 || p[5] > 6) return corrupt("type", p[5]);
  if (p[6] > 1) return corrupt("flags", p[6]);
  if (p[7] != 0) return corrupt("byte 7", p[7]);
  Info i;
  i.type = static_cast<Type>(p[5]);
  i.coding = p[4] == kFixedVersion ? Coding::fixed : Coding::dense;
  i.checksum = p[6] & 1;
  i.count = load<std::uint64_t>(p + 8);
  i.eps = load<double>(p + 16);
  i.width = load<double>(p + 24);
  i.contributions = load<std::uint32_t>(p + 32);
  i.code_bound = load<std::uint64_t>(p + 40);
  i.bytes = load<std::uint64_t>(p + 48);
  i.exceptions = load<std::uint64_t>(p + 56);
  if (i.count > kMaxCount) return corrupt("count", i.count);
  if (i.contributions == 0) return corrupt("contributions", 0);
  if (i.code_bound > std::uint64_t{1} << 63) return corrupt("code bound", i.code_bound);
  if (i.exceptions > i.count) return corrupt("exceptions", i.exceptions);
  if (!i.checksum && load<std::uint32_t>(p + 36))
    return corrupt("checksum without its flag", load<std::uint32_t>(p + 36));
  if (is_integer(i.type)) {
    if (i.eps != 0 || i.width != 1)
      return fail(Status::corrupt_stream, "stream header: integers of eps {} and width {}", i.eps, i.width);
  } else {
    if (!(std::isfinite(i.eps) && i.eps > 0)) return fail(Status::corrupt_stream, "stream header: eps is {}", i.eps);
    if (!(std::isfinite(i.width) && i.width > 0))
      return fail(Status::corrupt_stream, "stream header: width is {}", i.width);
    if (stored_type(i.type) == Type::f32 &&
        !(i.width < 0x1p128 && i.width >= 0x1p-149 && static_cast<double>(static_cast<float>(i.width)) == i.width))
      return fail(Status::corrupt_stream, "stream header: width {} is no float32", i.width);
  }
  const bool is_shaped = p[4] == shaped::kVersion;
  const std::size_t least = is_shaped ? kHeaderBytes + shaped::shape_bytes(1) : Layout(i.count, i.coding).body;
  if (i.bytes < least || i.bytes > in.size())
    return fail(Status::corrupt_stream, "stream header: length is {}, with {} bytes there and {} up to {}", i.bytes,
                in.size(), is_shaped ? "a shape" : "an index", least);
  *info = i;
  return Status::ok;
}

}  // namespace

std::size_t size_of(Type t) noexcept {
  switch (t) {
    case Type::f32:
    case Type::i32: return 4;
    case Type::f64:
    case Type::i64: return 8;
    case Type::f16:
    case Type::bf16: return 2;
  }
  return 0;
}

const char* name(Type t) noexcept {
  switch (t) {
    case Type::f32: return "float32";
    case Type::f64: return "float64";
    case Type::i32: return "int32";
    case Type::i64: return "int64";
    case Type::f16: return "float16";
    case Type::bf16: return "bfloat16";
  }
  return "no type";
}

void write_header(std::uint8_t* p, const Info& i, bool is_shaped) noexcept {
  store(p, kMagic);
  p[4] = is_shaped ? shaped::kVersion : i.coding == Coding::dense ? kDenseVersion : kFixedVersion;
  p[5] = static_cast<std::uint8_t>(i.type);
  p[6] = i.checksum;
  p[7] = 0;
  store(p + 8, i.count);
  store(p + 16, i.eps);
  store(p + 24, i.width);
  store(p + 32, i.contributions);
  store<std::uint32_t>(p + 36, 0);
  store(p + 40, i.code_bound);
  store(p + 48, i.bytes);
  store(p + 56, i.exceptions);
  if (i.checksum) store(p + 36, stream_checksum(p, static_cast<std::size_t>(i.bytes)));
}

Status inspect(Bytes in, Info* info) noexcept {
  if (!info) return fail(Status::invalid_argument, "inspect: info is null");
  return read_header(in, info);
}

Status check_checksum(const Info& info, const std::uint8_t* p) noexcept {
  if (!info.checksum) return Status::ok;
  const auto seen = stream_checksum(p, static_cast<std::size_t>(info.bytes)), stored = load<std::uint32_t>(p + 36);
  if (seen == stored) return Status::ok;
  return fail(Status::corrupt_stream, "stream checksum: stored {:#010x}, computed {:#010x}", stored, seen);
}

Status open_stream(Bytes in, StreamView* view, bool checksum) noexcept {
  if (const Status s = read_header(in, &view->info); s != Status::ok) return s;
  if (shaped::is_shaped(in))
    return fail(
        Status::unsupported,
        "a shaped stream (version 3 of the format) only decompresses; sums and slices are of fixed and dense streams");
  view->layout = Layout(view->info.count, view->info.coding);
  view->base = reinterpret_cast<const std::uint8_t*>(in.data());
  std::uint64_t at = view->layout.body;
  for (std::uint64_t c = 0; c < view->layout.chunks; ++c) {
    if (view->chunk_offset(c) != at)
      return fail(Status::corrupt_stream, "stream index: chunk {} is said to start at {}, not {}", c,
                  view->chunk_offset(c), at);
    if (view->dense(c)) {  // the chunk's reader checks its end
      at = c + 1 < view->layout.chunks ? view->chunk_offset(c + 1) : view->info.bytes;
      if (at < view->chunk_offset(c) || at > view->info.bytes || at % 4)
        return fail(Status::corrupt_stream, "stream index: dense chunk {} is said to be from {} to {} of {} bytes", c,
                    view->chunk_offset(c), at, view->info.bytes);
      continue;
    }
    const std::uint64_t last = std::min((c + 1) * kChunk, view->layout.groups);
    if (view->layout.coding == Coding::dense) {
      at += length_bytes(view->layout.groups - c * kChunk);
      if (at > view->info.bytes) break;
    }
    std::uint64_t words = 0;
    for (std::uint64_t g = c * kChunk; g < last; ++g) words += view->words(g);
    at += 4 * words;
    if (at > view->info.bytes) break;
  }
  if (at != view->info.bytes)
    return fail(Status::corrupt_stream, "stream index: the groups end at {}, the stream at {}", at, view->info.bytes);
  if (checksum) return check_checksum(view->info, view->base);
  return Status::ok;
}

Status validate(Bytes in) noexcept {
  if (shaped::is_shaped(in)) return shaped::validate(in);
  StreamView s;
  if (const Status status = open_stream(in, &s, true); status != Status::ok) return status;
  GroupSource source(s, *find_kernels(Isa::reference), 0);
  Tally tally;
  for (std::uint64_t g = 0; g < s.layout.groups; ++g) {
    GroupView view;
    const Status status = source.read(g);
    if (status == Status::out_of_memory) return fail(status, "validate: no memory for dense chunks");
    if (status != Status::ok || !source.view(&view))
      return fail(Status::corrupt_stream, "validate: group {} of the stream is malformed", g);
    if (source.words() > 0) {
      Codes q;
      read_codes(view, q);
      count(q, view.m, view.lanes, &tally);
    }
    if (tally.bound > s.info.code_bound)
      return fail(Status::corrupt_stream, "validate: a code of magnitude {} in group {}, the header says at most {}",
                  tally.bound, g, s.info.code_bound);
  }
  if (tally.exceptions != s.info.exceptions)
    return fail(Status::corrupt_stream, "validate: {} exceptions, the header says {}", tally.exceptions,
                s.info.exceptions);
  return Status::ok;
}

}  // namespace stretto::codec
