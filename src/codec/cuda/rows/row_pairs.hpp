#pragma once

#include "codec/cuda/rows/row_differences.hpp"

namespace stretto::codec::cuda {

// Close codes, two in a word: the sum of places i and i + 16 (shifted), so differences of pairs are pairs of
// differences. Exact for residuals below 2^14: kPairBias separates the halves.
struct Pairs {
  u32 p[16];
};
constexpr u32 kPairBias = 0x80008000;
constexpr i32 kPairLimit = 1 << 14;
struct PairEdge {
  u32 first, second, before_second;
};

STRETTO_DEVICE u32 pair_bits(u32 p) { return p ^ (2 * p - kPairBias); }

struct PairBits {
  u32 first, second;
};
STRETTO_DEVICE PairBits pair_differences(const Pairs& x, const PairEdge& e) {
  PairBits bits{0, 0};
  u32 d = x.p[0] - e.first, before = x.p[0] - e.second;
  bits.first = pair_bits(d + kPairBias);
  bits.second = pair_bits(before - (e.second - e.before_second) + kPairBias);
  STRETTO_UNROLL
  for (int i = 1; i < 16; ++i) {
    d = x.p[i] - x.p[i - 1];
    bits.first |= pair_bits(d + kPairBias);
    bits.second |= pair_bits(d - before + kPairBias);
    before = d;
  }
  return bits;
}
STRETTO_DEVICE void difference_pairs(int order, const PairEdge& e, Pairs* x) {
  if (order == 0) {
    STRETTO_UNROLL
    for (int i = 0; i < 16; ++i) x->p[i] += kPairBias - kCodeZero;
  } else if (order == 1) {
    STRETTO_UNROLL
    for (int i = 15; i > 0; --i) x->p[i] = x->p[i] - x->p[i - 1] + kPairBias;
    x->p[0] = x->p[0] - e.first + kPairBias;
  } else {
    u32 d = x->p[15] - x->p[14];
    STRETTO_UNROLL
    for (int i = 15; i > 1; --i) {
      const u32 before = x->p[i - 1] - x->p[i - 2];
      x->p[i] = d - before + kPairBias;
      d = before;
    }
    const u32 before = x->p[0] - e.second;
    x->p[1] = d - before + kPairBias;
    x->p[0] = before - (e.second - e.before_second) + kPairBias;
  }
}

template <class W>
STRETTO_DEVICE void write_pair_planes(const typename W::template Lane<Pairs>& pairs,
                                      typename W::template Lane<u32> width, u32 most, u32* out) {
  const auto end = W::scan_add(width);
  STRETTO_ROLLED
  for (u32 byte = 0; 8 * byte < most; ++byte)
    W::each(
        [=](const Pairs& x, u32 w, u32 behind) {
          u32 p[8];
          STRETTO_UNROLL
          for (int r = 0; r < 8; ++r) p[r] = permute_bytes(x.p[r], x.p[r + 8], 0x6240 + 0x1111 * byte);
          put_planes(p, 8 * byte, w, out + (behind - w));
        },
        pairs, width, end);
}

STRETTO_DEVICE u32 sample_codes(const Row& row, bool* negative) {
  u32 all = 0, sign = 0;
  STRETTO_UNROLL
  for (int i = 16; i < 32; ++i) {
    const u32 q = row.c[i] - kCodeZero;
    sign |= q;
    all |= q ^ (q + q);
  }
  *negative = static_cast<i32>(sign) < 0;
  const u32 width = static_cast<u32>(bit_width(all));
  return sample_cost(all) | (width ? width - 1 : 0) << 8;
}

// For a whole group with close codes. False if order 0 is best and needs more bits. kWidths: also the widths' words.
template <class W, bool kWidths = true>
STRETTO_DEVICE bool write_pairs(const typename W::template Lane<Row>& rows, const Extremes& e, u32* memory,
                                u32* scratch, Plan<W>* p) {
  struct Sample {
    u32 cost;
    bool negative;
  };
  const auto zeroth = W::map(
      [](const Row& row) {
        Sample s{0, false};
        s.cost = sample_codes(row, &s.negative);
        return s;
      },
      rows);
  const bool negative =
      e.low < 0 &&
      W::any(W::map([](int b, const Sample& s) { return ends_with_sample(b) && s.negative; }, W::lane(), zeroth));
  const auto previous = W::map([](int j) { return (j + 31) & 31; }, W::lane());
  const auto last = W::shuffle(W::map([](const Row& row) { return row.c[31]; }, rows), previous);
  const auto before = W::shuffle(W::map([](const Row& row) { return row.c[30]; }, rows), previous);
  const u32 q0 = W::broadcast(W::map([](const Row& row) { return row.c[0]; }, rows), 0);
  const u32 q1 = W::broadcast(W::map([](const Row& row) { return row.c[1]; }, rows), 0);
  const auto edges = W::map(
      [=](int b, const Row& row, u32 its, u32 its_before) {
        const u32 high_last = row.c[15] << 16, high_before = row.c[14] << 16, slope = q1 - q0;
        return PairEdge{(b ? its : q0) + high_last, (b ? its : q0 - slope) + high_last,
                        (b ? its_before : q0 - 2 * slope) + high_before};
      },
      W::lane(), rows, last, before);
  auto pairs = W::map(
      [](const Row& row) {
        Pairs x;
        STRETTO_UNROLL
        for (int i = 0; i < 16; ++i) x.p[i] = row.c[i] + row.c[i + 16] * 0x10000u;
        return x;
      },
      rows);
  const auto bits = W::map([](const Pairs& x, const PairEdge& e) { return pair_differences(x, e); }, pairs, edges);
  const u32 costs = W::reduce_add(W::map(
      [](int b, const Sample& s, const PairBits& x) {
        const u32 cost = s.cost | sample_cost(x.first >> 16) << 16 | sample_cost(x.second >> 16) << 24;
        return ends_with_sample(b) ? cost : 0;
      },
      W::lane(), zeroth, bits));
  const int order = order_of_costs(costs, negative);
  if (order == 0 && (e.high >= kPairLimit || e.low <= -kPairLimit)) return false;
  base_and_slope(q0, q1, kGroup, order, p);
  pairs = W::map(
      [=](Pairs x, const PairEdge& e) {
        difference_pairs(order, e, &x);
        return x;
      },
      pairs, edges);
  p->predictor = predictor_of(order, e.low < 0);
  p->width = widths_of_bits<W>(W::map(
                                   [=](const Pairs& x, const PairBits& known) {
                                     u32 all = order == 2 ? known.second : known.first;
                                     if (order == 0) {
                                       all = 0;
                                       STRETTO_UNROLL
                                       for (int i = 0; i < 16; ++i) all |= pair_bits(x.p[i]);
                                     }
                                     return (all | all >> 16) & 0xffff;
                                   },
                                   pairs, bits),
                               p->predictor);
  if (u32* out = place_body(p, memory)) {
    write_pair_planes<W>(pairs, p->width, p->most, out);
    if constexpr (kWidths) write_widths<W>(*p, scratch, out + p->planes);
  }
  return true;
}

}  // namespace stretto::codec::cuda
