// A whole group of float64 whose codes have 32 bits, and no exceptions, as rows of codes: what is usual. All else is left
// to plan_values().
#pragma once

#include "codec/cuda/rows/compress_rows.hpp"

namespace stretto::codec::cuda {

struct alignas(16) Couple {
  double v[2];
};

// Codes to memory, with kCodeZero added; false if one is above `most` in magnitude. pair(i, q): the codes of places i and
// i + 1. They are modulo 2^64.
template <class W, class Pair>
STRETTO_DEVICE bool put_wide_codes(u64 most, u32* memory, Pair pair) {
  const auto beyond = W::map(
      [=](int j) {
        bool any = false;
        STRETTO_ROLLED
        for (int half = 0; half < 4; ++half) {
          u64 q[4][2];
          STRETTO_UNROLL
          for (int k = 0; k < 4; ++k) pair(2 * j + 64 * (4 * half + k), q[k]);
          STRETTO_UNROLL
          for (int k = 0; k < 4; ++k) {
            const int row = 2 * (4 * half + k) + (j >> 4);
            u32* to = memory + quad_place(row, (j & 15) >> 1) + 2 * (j & 1);
            any = any || q[k][0] + most > 2 * most || q[k][1] + most > 2 * most;
            *reinterpret_cast<u64*>(to) = static_cast<u64>(static_cast<u32>(q[k][1]) + kCodeZero) << 32 |
                                          (static_cast<u32>(q[k][0]) + kCodeZero);
          }
        }
        return any;
      },
      W::lane());
  const bool good = !W::any(beyond);
  W::sync();
  return good;
}

template <class W>
STRETTO_DEVICE bool load_wide_rows(const GroupValues<double>& v, const Grid<double>& grid, u32* memory) {
  if (v.m < kGroup || !quad_aligned(v.x.x) || grid.safe < 0) return false;
  const double r = grid.r;
  const double* x = static_cast<const double*>(v.x.x) + v.first;
  return put_wide_codes<W>(static_cast<u64>(grid.safe), memory, [=](int i, u64(&q)[2]) {
    const Couple c = *reinterpret_cast<const Couple*>(x + i);
    q[0] = static_cast<u64>(quick_code(c.v[0], r));
    q[1] = static_cast<u64>(quick_code(c.v[1], r));
  });
}
// The same of codes that were found before.
template <class W>
STRETTO_DEVICE bool load_wide_codes(const i64* codes, u32* memory) {
  if (!quad_aligned(codes)) return false;
  return put_wide_codes<W>(kNarrowLimit, memory, [=](int i, u64(&q)[2]) {
    q[0] = static_cast<u64>(codes[i]);
    q[1] = static_cast<u64>(codes[i + 1]);
  });
}

// Planes and widths of a group in `memory`, at its end, and the plan but for its words; false if there is no room.
template <class W, bool kWidths>
STRETTO_DEVICE bool write_wide_rows(u32* memory, u32* scratch, Plan<W>* p) {
  start_plan(kGroup, p);
  const auto code = [](u32 c) { return c; };
  auto rows = read_rows<W>(memory, code);
  const Extremes e = extremes<W>(rows, kCodeZero);
  const u32 below = 0 - static_cast<u32>(e.low), above = static_cast<u32>(e.high);
  p->bound = e.high < 0 || (e.low < 0 && below > above) ? below : above;
  const bool close = below < kPairLimit / 2 && above < kPairLimit / 2 && above + below < kPairLimit / 2;
  if (!close || !write_pairs<W, kWidths>(rows, e, memory, scratch, p)) {
    rows = read_rows<W>(memory, code);
    write_rows<W, kWidths>(rows, e.low < 0, memory, scratch, p);
  }
  return p->most == 0 || p->planes + p->width_words < 1 + kGroup;
}

struct NoExceptions {
  template <class P>
  STRETTO_DEVICE void measure(P*) const {}
  template <class P>
  STRETTO_DEVICE void write(const P&, u32*) const {}
};
template <class W>
STRETTO_DEVICE bool compress_wide_rows(u32* memory, u32* scratch, Staged* s) {
  Plan<W> p;
  if (!write_wide_rows<W, true>(memory, scratch, &p)) return false;
  plan_words(NoExceptions{}, &p);
  if (p.words) emit_head<W>(p, NoExceptions{}, memory + kStagedWords - p.words);
  W::sync();
  *s = {p.words, 0, p.bound};
  return true;
}

}  // namespace stretto::codec::cuda
