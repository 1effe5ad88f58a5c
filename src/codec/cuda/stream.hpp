// Headers and the index of streams in device memory: read with every check that codec/stream/inspect.cpp makes (but for the
// checksum, which is not verified), and written. A stream begins at a multiple of 8 bytes.
#pragma once

#include "codec/cuda/layout.hpp"

namespace stretto::codec::cuda {

struct Header {
  Type type;
  u32 contributions;
  u64 count, bound, bytes, exceptions;
  double eps, width;
};

// A stream in memory, of which `room` bytes may be read.
struct StreamRef {
  const u8* base;
  u64 room;
};

STRETTO_DEVICE u64 load_u64(const u8* p) { return *reinterpret_cast<const u64*>(p); }
STRETTO_DEVICE bool positive_finite(double v) { return v > 0 && (bits_of(v) >> 52 & 0x7ff) != 0x7ff; }

STRETTO_DEVICE Outcome read_header(const StreamRef& s, Header* h) {
  if (s.room < kHeaderBytes) return Outcome::corrupt_stream;
  const u64 first = load_u64(s.base), fifth = load_u64(s.base + 32);
  const u32 type = static_cast<u32>(first >> 40 & 0xff), flags = static_cast<u32>(first >> 48 & 0xff);
  if (static_cast<u32>(first) != 0x54525453 || (first >> 32 & 0xff) != 1 || type < 1 || type > 6 || flags > 1 ||
      first >> 56)
    return Outcome::corrupt_stream;
  h->type = static_cast<Type>(type);
  h->count = load_u64(s.base + 8);
  h->eps = double_of(load_u64(s.base + 16));
  h->width = double_of(load_u64(s.base + 24));
  h->contributions = static_cast<u32>(fifth);
  h->bound = load_u64(s.base + 40);
  h->bytes = load_u64(s.base + 48);
  h->exceptions = load_u64(s.base + 56);
  if (h->count > kMaxCount || h->contributions == 0 || h->bound > u64{1} << 63 || h->exceptions > h->count ||
      (!flags && fifth >> 32))
    return Outcome::corrupt_stream;
  if (type == 3 || type == 4) return Outcome::unsupported;  // integers
  if (!positive_finite(h->eps) || !positive_finite(h->width)) return Outcome::corrupt_stream;
  if (h->type != Type::f64 &&
      !(h->width < 0x1p128 && h->width >= 0x1p-149 && static_cast<double>(static_cast<float>(h->width)) == h->width))
    return Outcome::corrupt_stream;
  const Layout l = layout_of(h->count);
  if (h->bytes < l.body || h->bytes > s.room || (l.groups == 0 && h->bytes != l.body)) return Outcome::corrupt_stream;
  return Outcome::ok;
}

STRETTO_DEVICE void write_header(const Header& h, u8* p) {
  u64* out = reinterpret_cast<u64*>(p);
  out[0] = u64{0x54525453} | u64{1} << 32 | static_cast<u64>(h.type) << 40;
  out[1] = h.count;
  out[2] = bits_of(h.eps);
  out[3] = bits_of(h.width);
  out[4] = h.contributions;
  out[5] = h.bound;
  out[6] = h.bytes;
  out[7] = h.exceptions;
}

// Where a group lies in a stream whose header has been checked: by its chunk's offset and the lengths before it. The
// chunk is checked against the next one, so that all groups together check the whole index. In two steps, so that what
// is loaded of two streams is on its way at once.
template <class W>
struct Location {
  typename W::template Lane<u32> pair;  // two lengths
  u64 start, next;
};
template <class W>
STRETTO_DEVICE Location<W> load_location(const StreamRef& s, const Header& h, u64 g) {
  const Layout l = layout_of(h.count);
  const u64 c = g / kChunk, from = c * kChunk;
  const u8* lengths = s.base + l.lengths;
  Location<W> r;
  r.pair = W::map(
      [=](int j) {
        const u64 i = from + 2 * static_cast<u64>(j);
        if (i >= l.groups) return 0u;
        const u32 both = *reinterpret_cast<const u32*>(lengths + 2 * i);
        return i + 1 < l.groups ? both : both & 0xffff;
      },
      W::lane());
  r.start = load_u64(s.base + kHeaderBytes + 8 * c);
  r.next = c + 1 < l.chunks ? load_u64(s.base + kHeaderBytes + 8 * (c + 1)) : h.bytes;
  return r;
}
// Whether the index holds where a chunk's groups have `total` words.
template <class W>
STRETTO_DEVICE bool location_holds(const Header& h, u64 g, const Location<W>& r, u32 total) {
  return r.start % 4 == 0 && r.start <= h.bytes && r.next <= h.bytes && r.start + 4 * u64{total} == r.next &&
         (g >= kChunk || r.start == layout_of(h.count).body);
}
template <class W>
STRETTO_DEVICE bool resolve_location(const StreamRef& s, const Header& h, u64 g, const Location<W>& r, const u32** p,
                                     u32* words) {
  const u64 c = g / kChunk;
  const int at = static_cast<int>(g - c * kChunk);
  const u32 total = W::reduce_add(W::map([](u32 v) { return (v & 0xffff) + (v >> 16); }, r.pair));
  const u32 before = W::reduce_add(W::map(
      [=](int j, u32 v) { return (2 * j < at ? v & 0xffff : 0) + (2 * j + 1 < at ? v >> 16 : 0); }, W::lane(), r.pair));
  const u32 own = W::broadcast(r.pair, at / 2);
  *words = at % 2 ? own >> 16 : own & 0xffff;
  *p = reinterpret_cast<const u32*>(s.base + r.start) + before;
  return location_holds(h, g, r, total);
}
template <class W>
STRETTO_DEVICE bool locate(const StreamRef& s, const Header& h, u64 g, const u32** p, u32* words) {
  return resolve_location<W>(s, h, g, load_location<W>(s, h, g), p, words);
}

}  // namespace stretto::codec::cuda
