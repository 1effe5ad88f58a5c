// A warp writes a group in two steps: finish_plan() finds its length, and so its place, where emit() writes it.
// Residuals stay in memory meanwhile. A source provides exceptions: measure(&plan) sets value_words, uniform and quiet
// (finish_plan); write(plan, out) writes the values (emit).
#pragma once

#include "codec/cuda/groups/codes.hpp"

namespace stretto::codec::cuda {

template <class W>
struct Plan {
  int m;
  Predictor predictor;
  Form form;
  bool wide, sums, uniform, quiet;
  i64 base, slope;
  u32 count, value_words, width_words, planes, most, words;
  MapPlan map;
  u64 bound;  // largest magnitude of a code but exceptions, for operations that use it
  typename W::template Lane<u32> width, lanes;
};

template <class W>
STRETTO_DEVICE void start_plan(int m, Plan<W>* p) {
  p->m = m;
  p->predictor = Predictor::none_unsigned;
  p->form = Form::zero;
  p->wide = p->sums = p->uniform = p->quiet = false;
  p->base = p->slope = 0;
  p->count = p->value_words = p->width_words = p->planes = p->most = p->words = 0;
  p->map = {0, 0, false};
  p->bound = 0;
  p->width = p->lanes = W::splat(u32{0});
}

STRETTO_DEVICE bool fits_24_bits(i64 v) { return v >= -(1 << 23) && v < (1 << 23); }

template <class W>
STRETTO_DEVICE u32 head_words(const Plan<W>& p) {
  const u32 code = p.wide ? 2 : 1;
  const bool has_base = p.predictor >= Predictor::first, is_short = !p.wide && fits_24_bits(p.base);
  return 1 + (has_base && !is_short ? code : 0) + (p.predictor == Predictor::second ? code : 0);
}

template <class W>
STRETTO_DEVICE void plan_widths(Plan<W>* p) {
  p->planes = W::reduce_add(p->width);
  p->most = W::reduce_max(p->width);
  const u32 n = static_cast<u32>(popcount(W::ballot(W::map([](u32 w) { return w != 0; }, p->width))));
  p->form = Form::zero;
  p->width_words = 0;
  if (n) {
    const bool nibbles = p->most <= 15;
    const u32 plain = nibbles ? 4 : 8, packed = words_for(nibbles ? (n + 1) / 2 : n);
    const bool masked = packed + 1 < plain;
    p->form = nibbles ? (masked ? Form::masked_nibbles : Form::nibbles) : (masked ? Form::masked_bytes : Form::bytes);
    p->width_words = masked ? packed + 1 : plain;
  }
}

// Needs plan_widths, and predictor, wide, base, slope, sums and lanes.
template <class W, class Source>
STRETTO_DEVICE void plan_words(const Source& source, Plan<W>* p) {
  p->count = W::reduce_add(W::map([](u32 l) { return static_cast<u32>(popcount(l)); }, p->lanes));
  p->map.words = p->value_words = 0;
  if (p->count) {
    p->map = measure_map<W>(p->lanes, p->m);
    source.measure(p);
  }
  const bool zero = p->most == 0 && p->count == 0 && !p->wide && p->predictor == Predictor::none_unsigned;
  p->words = zero ? 0 : head_words(*p) + p->map.words + p->value_words + p->planes + p->width_words;
}

template <class W, class Source>
STRETTO_DEVICE void finish_plan(const Source& source, Plan<W>* p) {
  plan_widths(p);
  plan_words(source, p);
}

template <class W, class C, int P>
STRETTO_DEVICE void write_planes(const C* e, typename W::template Lane<u32> width, int shift, u32* out) {
  constexpr int bits = 32 / P;
  const auto end = W::scan_add(width);
  STRETTO_ROLLED
  for (int first = 0; first < kBlocks; first += P) {
    auto v = W::splat(u32{0});
    STRETTO_UNROLL
    for (int c = 0; c < P; ++c)
      v = W::map(
          [=](int j, u32 x) {
            constexpr u32 mask = P == 1 ? ~0u : (1u << bits % 32) - 1;
            return x | (static_cast<u32>(e[32 * (first + c) + j] >> shift) & mask) << (bits * c);
          },
          W::lane(), v);
    const auto plane = transpose<W>(v);
    const auto block = W::map([=](int r) { return first + r / bits; }, W::lane());
    W::each(
        [=](int r, u32 x, u32 w, u32 behind) {
          const u32 i = static_cast<u32>(r % bits) + static_cast<u32>(shift);
          if (i < w) out[behind - w + i] = x;
        },
        W::lane(), plane, W::shuffle(width, block), W::shuffle(end, block));
  }
}

// `scratch`: 32 words.
template <class W>
STRETTO_DEVICE void write_widths(const Plan<W>& p, u32* scratch, u32* out) {
  const bool nibbles = p.form == Form::nibbles || p.form == Form::masked_nibbles;
  const bool masked = p.form == Form::masked_nibbles || p.form == Form::masked_bytes;
  const u32 mask = W::ballot(W::map([](u32 w) { return w != 0; }, p.width));
  const u32 words = p.width_words;
  if (!masked) {
    const int bits = nibbles ? 4 : 8, each = 32 / bits;
    auto word = W::map([=](int b, u32 w) { return w << (b % each * bits); }, W::lane(), p.width);
    STRETTO_UNROLL
    for (int step = 1; step < 8; step <<= 1)
      if (step < each) word = W::map([](u32 own, u32 its) { return own | its; }, word, W::shuffle_xor(word, step));
    W::each(
        [=](int b, u32 w) {
          if (b % each == 0) out[b / each] = w;
        },
        W::lane(), word);
    return;
  }
  W::each([=](int b) { scratch[b] = 0; }, W::lane());
  W::sync();
  const auto k = W::map([=](int b) { return popcount(mask & ((1u << b) - 1)); }, W::lane());
  W::atomic_or(scratch, W::map([=](int i) { return nibbles ? i / 8 : i / 4; }, k),
               W::map([=](int i, u32 w) { return nibbles ? w << (i % 8 * 4) : w << (i % 4 * 8); }, k, p.width));
  W::sync();
  W::each(
      [=](int b) {
        const u32 i = static_cast<u32>(b);
        if (i < words) out[i] = i + 1 == words ? mask : scratch[i];
      },
      W::lane());
  W::sync();
}

template <class W, class Source>
STRETTO_DEVICE u32* emit_head(const Plan<W>& p, const Source& source, u32* out) {
  const bool has_base = p.predictor >= Predictor::first, is_short = has_base && !p.wide && fits_24_bits(p.base);
  const bool wide = p.wide;
  const u32 word = static_cast<u32>(p.predictor) | (wide ? kWideBit : 0) | static_cast<u32>(p.form) << 4 |
                   (p.count ? kExceptionsBit : 0) | (is_short ? kShortBaseBit | static_cast<u32>(p.base) << 8 : 0);
  const bool long_base = has_base && !is_short, has_slope = p.predictor == Predictor::second;
  const u64 base = static_cast<u64>(p.base), slope = static_cast<u64>(p.slope);
  W::each(
      [=](int j) {
        if (j) return;
        u32* at = out;
        *at++ = word;
        if (long_base) {
          *at++ = static_cast<u32>(base);
          if (wide) *at++ = static_cast<u32>(base >> 32);
        }
        if (has_slope) {
          *at++ = static_cast<u32>(slope);
          if (wide) *at++ = static_cast<u32>(slope >> 32);
        }
      },
      W::lane());
  u32* at = out + head_words(p);
  if (p.count) {
    const u32 kind = (p.uniform ? kUniformBit : 0) | (p.sums ? kSumsBit : 0) | (p.quiet ? kQuietNanBit : 0);
    if constexpr (requires { source.write_places(p, kind, at); })
      source.write_places(p, kind, at);
    else
      write_map<W>(p.map, kind, p.lanes, p.m, at);
    at += p.map.words;
    if (p.value_words) source.write(p, at);
    at += p.value_words;
  }
  return at;
}

template <class W, class C, class Source>
STRETTO_DEVICE void emit(const Plan<W>& p, const C* e, const Source& source, u32* scratch, u32* out) {
  if (p.words == 0) return;
  u32* at = emit_head(p, source, out);
  if (p.most == 0) return;
  if (p.most <= 8) {
    write_planes<W, C, 4>(e, p.width, 0, at);
  } else if (p.most <= 16) {
    write_planes<W, C, 2>(e, p.width, 0, at);
  } else {
    write_planes<W, C, 1>(e, p.width, 0, at);
    if (sizeof(C) == 8 && p.most > 32) write_planes<W, C, 1>(e, p.width, sizeof(C) == 8 ? 32 : 0, at);
  }
  write_widths<W>(p, scratch, at + p.planes);
}

}  // namespace stretto::codec::cuda
