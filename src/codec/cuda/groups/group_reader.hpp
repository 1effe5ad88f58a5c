// A group parsed by a warp: lane b holds block b's part. For any bytes, all parts are checked to lie inside the group's
// words.
#pragma once

#include "codec/cuda/groups/accumulator.hpp"
#include "codec/cuda/groups/exception_map.hpp"
#include "codec/cuda/groups/transpose.hpp"

namespace stretto::codec::cuda {

template <class W>
struct Group {
  int m;
  Predictor predictor;
  bool wide : 1, verbatim : 1, exceptions : 1, uniform : 1, sums : 1, quiet : 1;
  u32 most;
  u32 count;
  i64 base, slope;
  const u32* planes;
  const u32* values;
  const u16* sum_at;  // non-uniform sums: starts, in words from `values`
  typename W::template Lane<u32> width, offset, lanes;
};

template <class W>
STRETTO_DEVICE void empty_group(int m, Group<W>* g) {
  g->m = m;
  g->predictor = Predictor::none_unsigned;
  g->wide = g->verbatim = g->exceptions = g->uniform = g->sums = g->quiet = false;
  g->most = g->count = 0;
  g->base = g->slope = 0;
  g->planes = g->values = nullptr;
  g->sum_at = nullptr;
  g->width = g->offset = g->lanes = W::splat(u32{0});
}

STRETTO_DEVICE i64 load_i64(const u32* p) { return static_cast<i64>(static_cast<u64>(p[1]) << 32 | p[0]); }

template <class W, class T>
STRETTO_DEVICE bool find_sums(const u32* p, u32 left, u32 n, u16* at, u32* words) {
  u32 offset = 0;
  STRETTO_ROLLED
  for (u32 k = 0; k < n; ++k) {
    const u32 size = exact_sum_words<T>(p + offset, left - offset);
    if (size == 0) return false;
    W::each(
        [=](int j) {
          if (j == 0) at[k] = static_cast<u16>(offset);
        },
        W::lane());
    offset += size;
  }
  *words = offset;
  W::sync();
  return true;
}

// From the end; true if the planes fill the remaining words exactly.
template <class W>
STRETTO_DEVICE bool parse_widths(const u32* p, u32 left, Form form, Group<W>* g) {
  const u32 limit = g->wide ? 64 : 32;
  const bool nibbles = form == Form::nibbles || form == Form::masked_nibbles;
  u32 mask = ~0u;
  if (form == Form::masked_nibbles || form == Form::masked_bytes) {
    if (left < 1) return false;
    mask = p[--left];
    if (mask == 0) return false;
  }
  const u32 n = static_cast<u32>(popcount(mask)), words = words_for(nibbles ? (n + 1) / 2 : n);
  if (left < words) return false;
  left -= words;
  const u32* widths = p + left;
  g->width = W::map(
      [=](int b) {
        if (!(mask >> b & 1)) return 0u;
        const u32 k = static_cast<u32>(popcount(mask & ((1u << b) - 1)));
        return nibbles ? widths[k / 8] >> (k % 8 * 4) & 15 : widths[k / 4] >> (k % 4 * 8) & 255;
      },
      W::lane());
  const bool is_unsigned = g->predictor == Predictor::none_unsigned;
  g->most = W::reduce_max(g->width);
  if (g->most > limit || (is_unsigned && g->most == limit)) return false;
  const auto end = W::scan_add(g->width);
  g->offset = W::map([](u32 e, u32 w) { return e - w; }, end, g->width);
  g->planes = p;
  return W::broadcast(end, 31) == left;
}

// `scratch`: 32 words; `sum_at`: room for kGroup.
template <class W, class T>
STRETTO_DEVICE bool parse_group(const u32* p, u32 words, int m, u32* scratch, u16* sum_at, Group<W>* g) {
  constexpr u32 value = sizeof(T) / 4;
  empty_group(m, g);
  if (words == 0) return true;
  const u32 word = p[0];
  u32 at = 1;
  const u32 form = word >> 4 & 7;
  if (form == static_cast<u32>(Form::verbatim)) {
    if (word != kVerbatimWord || words - 1 != static_cast<u32>(m) * value) return false;
    g->verbatim = g->exceptions = true;
    g->lanes = W::map([=](int b) { return lanes_below(b, m); }, W::lane());
    g->count = static_cast<u32>(m);
    g->values = p + 1;
    return true;
  }
  if (form > static_cast<u32>(Form::masked_bytes)) return false;
  g->predictor = static_cast<Predictor>(word & 3);
  g->wide = word & kWideBit;
  const bool is_short = word & kShortBaseBit, has_base = g->predictor >= Predictor::first;
  if (is_short) {
    if (!has_base || g->wide) return false;
    g->base = static_cast<i32>(word) >> 8;
  } else if (word >> 8) {
    return false;
  }
  const u32 code = g->wide ? 2 : 1;
  if (has_base && !is_short) {
    if (words - at < code) return false;
    g->base = g->wide ? load_i64(p + at) : i64{static_cast<i32>(p[at])};
    at += code;
  }
  if (g->predictor == Predictor::second) {
    if (words - at < code) return false;
    g->slope = g->wide ? load_i64(p + at) : i64{static_cast<i32>(p[at])};
    at += code;
  }
  if (word & kExceptionsBit) {
    u32 kind = 0, taken = 0;
    if (!parse_map<W>(p + at, words - at, m, scratch, &kind, &taken, &g->lanes)) return false;
    at += taken;
    g->count = W::reduce_add(W::map([](u32 l) { return static_cast<u32>(popcount(l)); }, g->lanes));
    g->exceptions = true;
    g->uniform = kind & kUniformBit;
    g->sums = kind & kSumsBit;
    g->quiet = kind & kQuietNanBit;
    g->values = p + at;
    const u32 n = g->uniform ? 1 : g->count;
    if (g->sums) {
      g->sum_at = sum_at;
      if (!find_sums<W, T>(p + at, words - at, n, sum_at, &taken)) return false;
    } else {
      taken = g->quiet ? 0 : n * value;
      if (words - at < taken) return false;
    }
    at += taken;
  }
  if (form == static_cast<u32>(Form::zero)) return at == words;
  return parse_widths<W>(p + at, words - at, static_cast<Form>(form), g);
}

STRETTO_DEVICE u32 extended(u32 v, u32 w, bool is_unsigned) {
  if (w == 0) return 0;
  const u32 up = v << (32 - w);
  return is_unsigned ? up >> (32 - w) : static_cast<u32>(static_cast<i32>(up) >> (32 - w));
}

template <class W, int P, class F>
STRETTO_DEVICE void each_narrow_block_of(const Group<W>& g, F f) {
  constexpr int bits = 32 / P;
  const bool is_unsigned = g.predictor == Predictor::none_unsigned;
  const u32* planes = g.planes;
  // Lane r takes plane r % bits of the (r / bits)-th of P blocks.
  const auto load = [&](int first) {
    const auto block = W::map([=](int r) { return first + r / bits; }, W::lane());
    return W::map(
        [=](int r, u32 w, u32 at) {
          const u32 i = static_cast<u32>(r % bits);
          return i < w ? planes[at + i] : 0u;
        },
        W::lane(), W::shuffle(g.width, block), W::shuffle(g.offset, block));
  };
  auto next = load(0);
  STRETTO_ROLLED
  for (int first = 0; first < kBlocks; first += P) {
    const auto v = transpose<W>(next);
    if (first + P < kBlocks) next = load(first + P);
    STRETTO_UNROLL
    for (int c = 0; c < P; ++c) {
      const u32 w = W::broadcast(g.width, first + c);
      f(first + c, W::map([=](u32 x) { return extended(x >> (bits * c), w, is_unsigned); }, v));
    }
  }
}

template <class W, class F>
STRETTO_DEVICE void each_narrow_block(const Group<W>& g, F f) {
  if (g.most == 0) {
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b) f(b, W::splat(u32{0}));
  } else if (g.most <= 8) {
    each_narrow_block_of<W, 4>(g, f);
  } else if (g.most <= 16) {
    each_narrow_block_of<W, 2>(g, f);
  } else {
    each_narrow_block_of<W, 1>(g, f);
  }
}

template <class W, class F>
STRETTO_DEVICE void each_block(const Group<W>& g, F f) {
  const bool is_unsigned = g.predictor == Predictor::none_unsigned;
  const u32* planes = g.planes;
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b) {
    const u32 w = W::broadcast(g.width, b), at = W::broadcast(g.offset, b);
    const auto half = [&](u32 from) {
      if (w <= from) return W::splat(u32{0});
      return transpose<W>(W::map(
          [=](int r) {
            const u32 i = from + static_cast<u32>(r);
            return i < w ? planes[at + i] : 0u;
          },
          W::lane()));
    };
    const auto low = half(0);
    const auto high = half(32);
    f(b, W::map(
             [=](u32 l, u32 h) {
               const u64 v = static_cast<u64>(h) << 32 | l;
               if (w == 0) return i64{0};
               const u64 up = v << (64 - w);
               return is_unsigned ? static_cast<i64>(up >> (64 - w)) : static_cast<i64>(up) >> (64 - w);
             },
             low, high));
  }
}

}  // namespace stretto::codec::cuda
