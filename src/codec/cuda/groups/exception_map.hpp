// Block b's exceptions are a word in lane b. Exclusive or with the previous bit finds runs, and restores them.
#pragma once

#include "codec/cuda/layout.hpp"

namespace stretto::codec::cuda {

struct MapPlan {
  u32 words;  // of the section up to the values
  u32 run_bytes;
  bool runs;
};

template <class W>
struct Runs {
  typename W::template Lane<u32> ends;
  typename W::template Lane<int> before;
  typename W::template Lane<u32> bytes;
};

template <class W>
STRETTO_DEVICE Runs<W> runs_of(typename W::template Lane<u32> lanes, int m) {
  Runs<W> r;
  const auto previous = W::shuffle(lanes, W::map([](int b) { return b ? b - 1 : 0; }, W::lane()));
  r.ends =
      W::map([=](int b, u32 own, u32 prev) { return (own ^ (own << 1 | (b ? prev >> 31 : 0))) & lanes_below(b, m); },
             W::lane(), lanes, previous);
  const u32 some = W::ballot(W::map([](u32 e) { return e != 0; }, r.ends));
  const auto last = W::map([](int b, u32 e) { return 32 * b + bit_width(e) - 1; }, W::lane(), r.ends);
  const auto source = W::map([=](int b) { return bit_width(some & ((1u << b) - 1)) - 1; }, W::lane());
  const auto shuffled = W::shuffle(last, W::map([](int s) { return s < 0 ? 0 : s; }, source));
  r.before = W::map([](int s, int v) { return s < 0 ? 0 : v; }, source, shuffled);
  r.bytes = W::map(
      [](int b, u32 e, int before) {
        return e ? static_cast<u32>(popcount(e) + (32 * b + trailing_zeros(e) - before) / 255) : 0u;
      },
      W::lane(), r.ends, r.before);
  return r;
}

template <class W>
STRETTO_DEVICE MapPlan measure_map(typename W::template Lane<u32> lanes, int m) {
  MapPlan p;
  p.run_bytes = W::reduce_add(runs_of<W>(lanes, m).bytes);
  const u32 some = W::ballot(W::map([](u32 l) { return l != 0; }, lanes));
  const u32 all = W::ballot(W::map([=](int b, u32 l) { return l != 0 && l == lanes_below(b, m); }, W::lane(), lanes));
  const u32 by_lanes = static_cast<u32>(3 + popcount(some & ~all)), by_runs = words_for(2 + p.run_bytes);
  p.runs = p.run_bytes <= 255 && by_runs <= by_lanes;
  p.words = p.runs ? by_runs : by_lanes;
  return p;
}

template <class W>
STRETTO_DEVICE void write_map(const MapPlan& plan, u32 kind, typename W::template Lane<u32> lanes, int m, u32* out) {
  if (!plan.runs) {
    const u32 some = W::ballot(W::map([](u32 l) { return l != 0; }, lanes));
    const u32 all = W::ballot(W::map([=](int b, u32 l) { return l != 0 && l == lanes_below(b, m); }, W::lane(), lanes));
    W::each(
        [=](int b, u32 l) {
          const u32 partial = some & ~all;
          if (b == 0) out[0] = kind;
          if (b == 1) out[1] = some;
          if (b == 2) out[2] = all;
          if (partial >> b & 1) out[3 + popcount(partial & ((1u << b) - 1))] = l;
        },
        W::lane(), lanes);
    return;
  }
  const Runs<W> r = runs_of<W>(lanes, m);
  const auto end = W::scan_add(r.bytes);
  u8* bytes = reinterpret_cast<u8*>(out);
  const u32 n = plan.run_bytes, total = 4 * plan.words;
  W::each(
      [=](int b, u32 ends, int before, u32 own, u32 last) {
        if (b == 0) {
          bytes[0] = static_cast<u8>(kind | kRunsBit);
          bytes[1] = static_cast<u8>(n);
        }
        if (2 + n + static_cast<u32>(b) < total) bytes[2 + n + static_cast<u32>(b)] = 0;
        u8* p = bytes + 2 + (last - own);
        int start = before;
        for (u32 left = ends; left; left &= left - 1) {
          const int place = 32 * b + trailing_zeros(left);
          int length = place - start;
          for (; length >= 255; length -= 255) *p++ = 255;
          *p++ = static_cast<u8>(length);
          start = place;
        }
      },
      W::lane(), r.ends, r.before, r.bytes, end);
}

STRETTO_DEVICE bool known_kind(u32 kind) {
  return kind <= 15 && (!(kind & kQuietNanBit) || (kind & (kUniformBit | kSumsBit)) == kUniformBit);
}

// `left` words may be read. `scratch`: 32 words.
template <class W>
STRETTO_DEVICE bool parse_map(const u32* p, u32 left, int m, u32* scratch, u32* kind, u32* words,
                              typename W::template Lane<u32>* lanes) {
  if (left < 1) return false;
  const u32 head = p[0];
  *kind = head & 0xff;
  if (!known_kind(*kind)) return false;
  if (!(*kind & kRunsBit)) {
    if (head >> 8 || left < 3) return false;
    const u32 some = p[1], all = p[2], partial = some & ~all;
    *words = static_cast<u32>(3 + popcount(partial));
    if (some == 0 || (all & ~some) || left < *words) return false;
    *lanes = W::map(
        [=](int b) {
          if (!(some >> b & 1)) return 0u;
          return all >> b & 1 ? lanes_below(b, m) : p[3 + popcount(partial & ((1u << b) - 1))];
        },
        W::lane());
    return !W::any(
        W::map([=](int b, u32 l) { return (some >> b & 1) != 0 && (l == 0 || (l & ~lanes_below(b, m)) != 0); },
               W::lane(), *lanes));
  }
  const u32 n = head >> 8 & 0xff;
  *words = words_for(2 + n);
  if (n == 0 || left < *words) return false;
  const u8* bytes = reinterpret_cast<const u8*>(p) + 2;
  const u32 total = 4 * *words - 2;
  W::each([=](int b) { scratch[b] = 0; }, W::lane());
  W::sync();
  u32 at = 0, last = 255;
  auto bad = W::splat(false);
  STRETTO_ROLLED
  for (u32 first = 0; first < total; first += 32) {
    const auto byte = W::map(
        [=](int j) {
          const u32 i = first + static_cast<u32>(j);
          return i < total ? static_cast<u32>(bytes[i]) : 0u;
        },
        W::lane());
    const auto before = W::shuffle(byte, W::map([](int j) { return j ? j - 1 : 0; }, W::lane()));
    const auto sum =
        W::scan_add(W::map([=](int j, u32 v) { return first + static_cast<u32>(j) < n ? v : 0u; }, W::lane(), byte));
    bad = W::map(
        [=](int j, bool was, u32 v, u32 previous, u32 s) {
          const u32 i = first + static_cast<u32>(j);
          if (i >= n) return was || v != 0;
          if (v == 255) return was || i + 1 == n;
          return was || at + s >= static_cast<u32>(m) || (v == 0 && (j ? previous : last) != 255);
        },
        W::lane(), bad, byte, before, sum);
    const auto place = W::map([=](u32 s) { return static_cast<int>((at + s) & (kGroup - 1)); }, sum);
    const auto bit = W::map(
        [=](int j, u32 v, int place_of) {
          const bool ends = first + static_cast<u32>(j) < n && v != 255;
          return ends ? 1u << (place_of & 31) : 0u;
        },
        W::lane(), byte, place);
    W::atomic_or(scratch, W::map([](int place_of) { return place_of >> 5; }, place), bit);
    at += W::broadcast(sum, 31);
    last = W::broadcast(byte, 31);
  }
  if (W::any(bad)) return false;
  W::sync();
  const auto ends = W::map([=](int b) { return scratch[b]; }, W::lane());
  const u32 odd = W::ballot(W::map([](u32 e) { return (popcount(e) & 1) != 0; }, ends));
  *lanes = W::map(
      [=](int b, u32 e) {
        e ^= e << 1;
        e ^= e << 2;
        e ^= e << 4;
        e ^= e << 8;
        e ^= e << 16;
        if (popcount(odd & ((1u << b) - 1)) & 1) e = ~e;
        return e & lanes_below(b, m);
      },
      W::lane(), ends);
  W::sync();
  return true;
}

}  // namespace stretto::codec::cuda
