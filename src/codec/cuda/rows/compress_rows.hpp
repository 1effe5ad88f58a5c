#pragma once

#include "codec/cuda/rows/row_exceptions.hpp"
#include "codec/cuda/rows/row_pairs.hpp"

namespace stretto::codec::cuda {

template <class W, class T>
STRETTO_DEVICE void emit_verbatim(const GroupValues<T>& v, u32* out) {
  constexpr u32 value = sizeof(T) / 4;
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b)
    W::each(
        [&](int j) {
          const int i = 32 * b + j;
          if (i == 0) out[0] = kVerbatimWord;
          if (i < v.m) store_bits(out + 1 + static_cast<u32>(i) * value, v.bits(i));
        },
        W::lane());
}

struct Staged {
  u32 words, exceptions;
  u64 bound;
};

// To the end of `memory` (kStagedWords), which holds the values. `scratch`: kStagedScratch words. values_of() returns
// the values again, which saves registers.
template <class W, class ValuesOf>
STRETTO_DEVICE Staged compress_rows(ValuesOf values_of, const Grid<float>& grid, u32* memory, u32* scratch) {
  const int m = values_of().m;
  Plan<W> p;
  start_plan(m, &p);
  W::sync();
  const float r = grid.r;
  const i32 safe = static_cast<i32>(grid.safe), zero = static_cast<i32>(kCodeZero);
  const auto quick = [=](u32 bits) { return bits_of(fused(float_of(bits), r, 0x1.8p23f)); };
  auto rows = read_rows<W>(memory, quick);
  Extremes e = extremes<W>(rows, 0);
  auto* values = reinterpret_cast<ExceptionValues*>(scratch + 32);
  const bool careful = e.high > zero + safe || e.low < zero - safe;
  if (careful) {
    W::sync();
    const auto coded = code_carefully<W>(m, grid, memory, &rows, &p.lanes);
    if (W::any(W::map([](u32 l) { return l != 0; }, p.lanes))) {
      const ExceptionValues found = fill_rows<W>(m, memory, p.lanes, coded, quick, &rows);
      W::each(
          [=](int j) {
            if (j == 0) *values = found;
          },
          W::lane());
    }
    W::sync();
    put_rows<W>(rows, memory);
    W::sync();
    e = extremes<W>(rows, kCodeZero);
  } else {
    e = {e.low - zero, e.high - zero};
  }
  const u32 below = 0 - static_cast<u32>(e.low), above = static_cast<u32>(e.high);
  // Second differences are at most twice the difference of codes.
  const bool close = m == kGroup && above + below < kPairLimit / 2;
  if (!close || !write_pairs<W>(rows, e, memory, scratch, &p)) {
    rows = careful ? read_rows<W>(memory, [](u32 code) { return code; }) : read_rows<W>(memory, quick);
    write_rows<W>(rows, e.low < 0, memory, scratch, &p);
  }
  const u32 verbatim = 1 + static_cast<u32>(m);
  u32* end = memory + kStagedWords;
  const RowExceptions<W, ValuesOf> source{values_of, values};
  plan_words(source, &p);
  if (p.words >= verbatim) {
    W::sync();
    emit_verbatim<W, float>(values_of(), end - verbatim);
    W::sync();
    return {verbatim, static_cast<u32>(m), 0};
  }
  if (p.words) emit_head<W>(p, source, end - p.words);
  W::sync();
  return {p.words, p.count, e.high < 0 || (e.low < 0 && below > above) ? below : above};
}

}  // namespace stretto::codec::cuda
