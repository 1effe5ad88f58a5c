// Reads headers and index, with all checks of codec/stream/inspect.cpp but the checksum. Streams begin at multiples of
// 8 bytes.
#pragma once

#include "codec/cuda/layout.hpp"

namespace stretto::codec::cuda {

struct Header {
  Type type;
  u32 contributions;
  u64 count, bound, bytes, exceptions;
  double eps, width;
};

struct StreamRef {
  const u8* base;
  u64 room;
};

STRETTO_DEVICE u64 load_u64(const u8* p) { return *reinterpret_cast<const u64*>(p); }
STRETTO_DEVICE bool positive_finite(double v) { return v > 0 && (bits_of(v) >> 52 & 0x7ff) != 0x7ff; }

constexpr u32 kFixedVersion = 1, kDenseVersion = 2, kShapedVersion = 3;

// A stream of another version is unsupported.
STRETTO_DEVICE Outcome read_header(const StreamRef& s, Header* h, u32 wanted = kFixedVersion) {
  if (s.room < kHeaderBytes) return Outcome::corrupt_stream;
  const u64 first = load_u64(s.base), fifth = load_u64(s.base + 32);
  const u32 type = static_cast<u32>(first >> 40 & 0xff), flags = static_cast<u32>(first >> 48 & 0xff);
  const u32 version = static_cast<u32>(first >> 32 & 0xff);
  if (static_cast<u32>(first) != 0x54525453 || version < kFixedVersion || version > kShapedVersion || type < 1 ||
      type > 6 || flags > 1 || first >> 56)
    return Outcome::corrupt_stream;
  if (version != wanted) return Outcome::unsupported;
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
  if (type == 3 || type == 4) return Outcome::unsupported;
  if (!positive_finite(h->eps) || !positive_finite(h->width)) return Outcome::corrupt_stream;
  if (h->type != Type::f64 &&
      !(h->width < 0x1p128 && h->width >= 0x1p-149 && static_cast<double>(static_cast<float>(h->width)) == h->width))
    return Outcome::corrupt_stream;
  const Layout l = layout_of(h->count);
  const u64 body = wanted == kDenseVersion ? l.lengths : l.body;
  if (h->bytes < body || h->bytes > s.room || (l.groups == 0 && h->bytes != body)) return Outcome::corrupt_stream;
  return Outcome::ok;
}

STRETTO_DEVICE Outcome read_header_of(const StreamRef& s, Type type, u64 count, Header* h, u32 wanted = kFixedVersion) {
  const Outcome o = read_header(s, h, wanted);
  return o == Outcome::ok && (h->count != count || h->type != type) ? Outcome::incompatible : o;
}

STRETTO_DEVICE void write_header(const Header& h, u8* p, u32 version = kFixedVersion) {
  u64* out = reinterpret_cast<u64*>(p);
  out[0] = u64{0x54525453} | u64{version} << 32 | static_cast<u64>(h.type) << 40;
  out[1] = h.count;
  out[2] = bits_of(h.eps);
  out[3] = bits_of(h.width);
  out[4] = h.contributions;
  out[5] = h.bound;
  out[6] = h.bytes;
  out[7] = h.exceptions;
}

struct Index {
  const u8* base;
  const u32 *offsets, *lengths;
  u64 groups, chunks, bytes, body;
};
STRETTO_DEVICE Index index_of(const StreamRef& s, const Header& h) {
  const Layout l = layout_of(h.count);
  return {s.base,
          reinterpret_cast<const u32*>(s.base + kHeaderBytes),
          reinterpret_cast<const u32*>(s.base + l.lengths),
          l.groups,
          l.chunks,
          h.bytes,
          l.body};
}

// A lane has the lengths of two groups; lanes 0 to 3 have the offsets of this chunk and the next.
template <class W>
struct IndexWords {
  typename W::template Lane<u32> lengths, offsets;
};

template <class W>
STRETTO_DEVICE IndexWords<W> load_index(const Index& x, u64 g) {
  const u64 c = g / kChunk;
  const u32 *offsets = x.offsets + 2 * c, *lengths = x.lengths + c * (kChunk / 2);
  const bool whole = c + 1 < x.chunks;
  const u32 n = whole ? kChunk : static_cast<u32>(x.groups - c * kChunk);
  const int words = whole ? 4 : 2;
  return {W::map([=](int j) { return load_once_if(2 * static_cast<u32>(j) < n, lengths + j); }, W::lane()),
          W::map([=](int j) { return load_once_if(j < words, offsets + j); }, W::lane())};
}

template <class W>
struct Chunk {
  typename W::template Lane<u32> pair;
  u64 start, next;
};
template <class W>
STRETTO_DEVICE Chunk<W> chunk_of(const Index& x, u64 c, const IndexWords<W>& index) {
  const auto offset = [&](int k) {
    return static_cast<u64>(W::broadcast(index.offsets, k + 1)) << 32 | W::broadcast(index.offsets, k);
  };
  Chunk<W> r{index.lengths, offset(0), offset(2)};
  if (c + 1 >= x.chunks) {
    r.next = x.bytes;
    const u32 n = static_cast<u32>(x.groups - c * kChunk);
    r.pair = W::map([=](int j, u32 v) { return 2 * static_cast<u32>(j) + 1 == n ? v & 0xffff : v; }, W::lane(), r.pair);
  }
  return r;
}
STRETTO_DEVICE u32 sum_of_pair(u32 v) { return (v & 0xffff) + (v >> 16); }
// All chunks together check the whole index.
template <class W>
STRETTO_DEVICE bool chunk_holds(const Index& x, u64 c, const Chunk<W>& chunk, u32 total) {
  return chunk.start % 4 == 0 && chunk.start >= x.body && chunk.start <= x.bytes && chunk.next <= x.bytes &&
         chunk.start + 4 * u64{total} == chunk.next && (c != 0 || chunk.start == x.body);
}

template <class W>
STRETTO_DEVICE bool locate(const Index& x, u64 g, const IndexWords<W>& index, const u32** p, u32* words) {
  const u32 at = static_cast<u32>(g) % kChunk;
  const Chunk<W> chunk = chunk_of<W>(x, g / kChunk, index);
  const u32 total = W::reduce_add(W::map([](u32 v) { return sum_of_pair(v); }, chunk.pair));
  const u32 before = W::reduce_add(W::map(
      [=](int j, u32 v) {
        const u32 i = 2 * static_cast<u32>(j);
        return (i < at ? v & 0xffff : 0) + (i + 1 < at ? v >> 16 : 0);
      },
      W::lane(), chunk.pair));
  const u32 own = W::broadcast(chunk.pair, static_cast<int>(at / 2));
  *words = at % 2 ? own >> 16 : own & 0xffff;
  const bool holds = chunk_holds(x, g / kChunk, chunk, total);
  if (holds) *p = reinterpret_cast<const u32*>(x.base + chunk.start) + before;
  return holds;
}
template <class W>
STRETTO_DEVICE bool locate(const StreamRef& s, const Header& h, u64 g, const u32** p, u32* words) {
  const Index x = index_of(s, h);
  return locate<W>(x, g, load_index<W>(x, g), p, words);
}

}  // namespace stretto::codec::cuda
