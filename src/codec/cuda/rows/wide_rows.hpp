// Fast path for whole groups of float64 with 32-bit codes and no exceptions.
#pragma once

#include "codec/cuda/rows/compress_rows.hpp"

namespace stretto::codec::cuda {

struct alignas(16) Couple {
  double v[2];
};

// Stores codes with kCodeZero added; false if a magnitude exceeds `most`. pair(i, q): codes of places i and i + 1,
// modulo 2^64.
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
            *reinterpret_cast<u64*>(to) =
                static_cast<u64>(static_cast<u32>(q[k][1]) + kCodeZero) << 32 | (static_cast<u32>(q[k][0]) + kCodeZero);
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
template <class W>
STRETTO_DEVICE bool load_wide_codes(const i64* codes, u32* memory) {
  if (!quad_aligned(codes)) return false;
  return put_wide_codes<W>(kNarrowLimit, memory, [=](int i, u64(&q)[2]) {
    q[0] = static_cast<u64>(codes[i]);
    q[1] = static_cast<u64>(codes[i + 1]);
  });
}

// Planes go to the end of `memory`, the plan has no words. False if there is no room.
template <class W>
STRETTO_DEVICE bool write_wide_rows(u32* memory, Plan<W>* p) {
  start_plan(kGroup, p);
  const auto code = [](u32 c) { return c; };
  auto rows = read_rows<W>(memory, code);
  const Extremes e = extremes<W>(rows, kCodeZero);
  const u32 below = 0 - static_cast<u32>(e.low), above = static_cast<u32>(e.high);
  p->bound = e.high < 0 || (e.low < 0 && below > above) ? below : above;
  const bool close = below < kPairLimit / 2 && above < kPairLimit / 2 && above + below < kPairLimit / 2;
  if (!close || !write_pairs<W, false>(rows, e, memory, nullptr, p)) {
    rows = read_rows<W>(memory, code);
    write_rows<W, false>(rows, e.low < 0, memory, nullptr, p);
  }
  return p->most == 0 || p->planes + p->width_words < 1 + kGroup;
}

}  // namespace stretto::codec::cuda
