#pragma once

#include "codec/cuda/rows/rows.hpp"

namespace stretto::codec::cuda {

// Returns the or of v ^ 2 v over residuals v, whose bit length is a signed width. one, two: the codes before the row.
template <int kOrder>
STRETTO_DEVICE u32 difference_row(Row* row, u32 one, u32 two) {
  u32 all = 0, before = one - two;
  STRETTO_UNROLL
  for (int i = 0; i < 32; ++i) {
    const u32 own = row->c[i];
    u32 e;
    if constexpr (kOrder == 0) {
      e = own - kCodeZero;
    } else {
      const u32 d = own - one;
      e = kOrder == 1 ? d : d - before;
      before = d;
      one = own;
    }
    row->c[i] = e;
    all |= e ^ (e + e);
  }
  return all;
}

STRETTO_DEVICE u32 sample_cost(u32 all) {
  const u32 width = static_cast<u32>(bit_width(all));
  return width > 1 ? width : 0;
}

// Costs of sixteen places from kFrom on: order 0 in bits 0-7 (in 8-15 if no code is negative), orders 1 and 2 above.
template <int kFrom>
STRETTO_DEVICE u32 sample_row(const Row& row, int n, bool* negative) {
  u32 zeroth = 0, first = 0, second = 0, sign = 0;
  u32 one = row.c[kFrom ? kFrom - 1 : 0], two = row.c[kFrom ? kFrom - 2 : 0];
  u32 before = one - two;
  STRETTO_UNROLL
  for (int i = 0; i < 16; ++i) {
    const u32 own = row.c[kFrom + i], q = own - kCodeZero, d = own - one, e = d - before;
    if (kFrom == 0 && i >= n) break;
    sign |= q;
    zeroth |= q ^ (q + q);
    first |= d ^ (d + d);
    second |= e ^ (e + e);
    one = own;
    before = d;
  }
  *negative = static_cast<i32>(sign) < 0;
  const u32 width = static_cast<u32>(bit_width(zeroth));
  return sample_cost(zeroth) | (width ? width - 1 : 0) << 8 | sample_cost(first) << 16 | sample_cost(second) << 24;
}

STRETTO_DEVICE int order_of_costs(u32 costs, bool negative) {
  const u32 none = (negative ? costs : costs >> 8) & 0xff, first = costs >> 16 & 0xff, second = costs >> 24;
  const int order = first < none ? 1 : 0;
  return second < (order ? first : none) ? 2 : order;
}
// Samples of sixteen start at 112 + 160 j.
STRETTO_DEVICE bool ends_with_sample(int b) { return (0x10842108u >> b & 1) != 0; }

template <class W>
STRETTO_DEVICE int choose_row_order(const typename W::template Lane<Row>& rows, int m) {
  struct Sample {
    u32 cost;
    bool negative;
  };
  const auto samples = W::map(
      [=](int b, const Row& row) {
        Sample s{0, false};
        if (m >= 128) {
          const u32 cost = sample_row<16>(row, 16, &s.negative);
          const bool taken = ends_with_sample(b) && 32 * b + 32 <= m;
          s.cost = taken ? cost : 0;
          s.negative = s.negative && taken;
        } else {
          const u32 cost = sample_row<0>(row, m, &s.negative);
          s.cost = b == 0 ? cost : 0;
          s.negative = s.negative && b == 0;
        }
        return s;
      },
      W::lane(), rows);
  const u32 costs = W::reduce_add(W::map([](const Sample& s) { return s.cost; }, samples));
  const bool negative = W::any(W::map([](const Sample& s) { return s.negative; }, samples));
  return order_of_costs(costs, negative);
}

// p[r] holds residuals' bytes of places r, r + 8, r + 16, r + 24: 8 x 8 bits are transposed in each byte.
STRETTO_DEVICE void put_planes(u32 (&p)[8], u32 first, u32 width, u32* out) {
  constexpr u32 low[3] = {0x0f0f0f0f, 0x33333333, 0x55555555};
  STRETTO_UNROLL
  for (int k = 0; k < 3; ++k) {
    const int step = 4 >> k;
    STRETTO_UNROLL
    for (int r = 0; r < 8; ++r) {
      if (r & step) continue;
      const u32 a = p[r], b = p[r + step];
      p[r] = (a & low[k]) | (b << step & ~low[k]);
      p[r + step] = (a >> step & low[k]) | (b & ~low[k]);
    }
  }
  STRETTO_UNROLL
  for (u32 r = 0; r < 8; ++r)
    if (first + r < width) out[first + r] = p[r];
}

template <class W>
STRETTO_DEVICE void write_row_planes(const typename W::template Lane<Row>& rows, typename W::template Lane<u32> width,
                                     u32 most, u32* out) {
  const auto end = W::scan_add(width);
  STRETTO_ROLLED
  for (u32 byte = 0; 8 * byte < most; ++byte)
    W::each(
        [=](const Row& row, u32 w, u32 behind) {
          const u32 two = byte | (4 + byte) << 4;
          u32 p[8];
          STRETTO_UNROLL
          for (int r = 0; r < 8; ++r)
            p[r] = permute_bytes(permute_bytes(row.c[r], row.c[r + 8], two),
                                 permute_bytes(row.c[r + 16], row.c[r + 24], two), 0x5410);
          put_planes(p, 8 * byte, w, out + (behind - w));
        },
        rows, width, end);
}

template <class W>
STRETTO_DEVICE u32 base_and_slope(u32 q0, u32 q1, int m, int order, Plan<W>* p) {
  const u32 slope = order == 2 && m > 1 ? q1 - q0 : 0, base = q0 - slope;
  if (order) {
    p->base = static_cast<i32>(base - kCodeZero);
    p->slope = static_cast<i32>(slope);
  }
  return slope;
}

STRETTO_DEVICE Predictor predictor_of(int order, bool negative) {
  return order == 2   ? Predictor::second
         : order == 1 ? Predictor::first
         : negative   ? Predictor::none_signed
                      : Predictor::none_unsigned;
}

template <class W>
STRETTO_DEVICE auto widths_of_bits(typename W::template Lane<u32> bits, Predictor p) {
  const bool positive = p == Predictor::none_unsigned;
  return W::map(
      [=](u32 all) {
        const u32 width = static_cast<u32>(bit_width(all));
        return positive && width ? width - 1 : width;
      },
      bits);
}

// Planes and widths end a group's memory, as the length of the words before is unknown. Null without planes, or if a
// verbatim group is no longer.
template <class W>
STRETTO_DEVICE u32* place_body(Plan<W>* p, u32* memory) {
  plan_widths(p);
  W::sync();  // rows are read, so their memory may be written
  const u32 body = p->planes + p->width_words;
  return p->most && body < 1 + static_cast<u32>(p->m) ? memory + kStagedWords - body : nullptr;
}

template <class W>
struct Residuals {
  typename W::template Lane<Row> rows;
  typename W::template Lane<u32> all;
};

template <class W>
STRETTO_DEVICE Residuals<W> difference_rows(const typename W::template Lane<Row>& rows, int m, int order, u32 base,
                                            u32 slope) {
  const auto previous = W::map([](int j) { return (j + 31) & 31; }, W::lane());
  const auto last = W::shuffle(W::map([](const Row& row) { return row.c[31]; }, rows), previous);
  const auto before = W::shuffle(W::map([](const Row& row) { return row.c[30]; }, rows), previous);
  const auto one = W::map([=](int b, u32 its) { return b ? its : base; }, W::lane(), last);
  const auto two = W::map([=](int b, u32 its) { return b ? its : base - slope; }, W::lane(), before);
  Residuals<W> r;
  r.rows = rows;
  struct Rest {
    Row row;
    u32 all;
  };
  const auto rest = W::map(
      [=](int b, Row row, u32 its, u32 its_before) {
        u32 all = order == 2 ? difference_row<2>(&row, its, its_before)
                  : order    ? difference_row<1>(&row, its, its_before)
                             : difference_row<0>(&row, its, its_before);
        if (m < kGroup) {
          all = 0;
          STRETTO_UNROLL
          for (int i = 0; i < 32; ++i) {
            if (32 * b + i >= m) row.c[i] = 0;
            all |= row.c[i] ^ (row.c[i] + row.c[i]);
          }
        }
        return Rest{row, all};
      },
      W::lane(), rows, one, two);
  r.rows = W::map([](const Rest& x) { return x.row; }, rest);
  r.all = W::map([](const Rest& x) { return x.all; }, rest);
  return r;
}

// kWidths: also the widths' words.
template <class W, bool kWidths = true>
STRETTO_DEVICE void write_rows(const typename W::template Lane<Row>& rows, bool any_negative, u32* memory, u32* scratch,
                               Plan<W>* p) {
  const int m = p->m, order = choose_row_order<W>(rows, m);
  const u32 q0 = W::broadcast(W::map([](const Row& row) { return row.c[0]; }, rows), 0);
  const u32 q1 = W::broadcast(W::map([](const Row& row) { return row.c[1]; }, rows), 0);
  const u32 slope = base_and_slope(q0, q1, m, order, p);
  const Residuals<W> residuals = difference_rows<W>(rows, m, order, q0 - slope, slope);
  p->predictor = predictor_of(order, any_negative);
  p->width = widths_of_bits<W>(residuals.all, p->predictor);
  if (u32* out = place_body(p, memory)) {
    write_row_planes<W>(residuals.rows, p->width, p->most, out);
    if constexpr (kWidths) write_widths<W>(*p, scratch, out + p->planes);
  }
}

}  // namespace stretto::codec::cuda
