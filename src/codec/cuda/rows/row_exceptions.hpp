// Rows with exceptions, or with codes that the proof in docs/codec.md does not cover.
#pragma once

#include "codec/cuda/rows/rows.hpp"

namespace stretto::codec::cuda {

struct ExceptionValues {
  u32 value;
  u32 differ;
};

// Larger sums of a product and 0x1.8p23f belong to exceptions, NaN included.
STRETTO_DEVICE bool beyond_codes(u32 c) { return c + c >= 0xa1000000; }

STRETTO_DEVICE u32 unsure_places(int row, const Row& codes, const Grid<float>& grid, const u32* memory) {
  u32 unsure = 0;
  STRETTO_UNROLL
  for (int k = 0; k < 8; ++k) {
    const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(row, k));
    STRETTO_UNROLL
    for (int c = 0; c < 4; ++c)
      if (!code_is_good(float_of(static_cast<u32>(four.v[c])), float_of(codes.c[4 * k + c]) - 0x1.8p23f, grid))
        unsure |= 1u << (4 * k + c);
  }
  return unsure;
}

// Codes that need float64 replace values in memory, at the returned places.
template <class W>
STRETTO_DEVICE auto code_carefully(int m, const Grid<float>& grid, u32* memory, typename W::template Lane<Row>* rows,
                                   typename W::template Lane<u32>* lanes) {
  const bool usual = grid.r < 0x1p127f;
  const i32 safe = static_cast<i32>(grid.safe), zero = static_cast<i32>(kCodeZero);
  struct RowSummary {
    u32 exceptions;
    bool unsafe;
  };
  const auto summaries = W::map(
      [=](const Row& row) {
        u32 exceptions = 0;
        i32 low = zero, high = zero;
        STRETTO_UNROLL
        for (int i = 0; i < 32; ++i) {
          const bool beyond = usual && beyond_codes(row.c[i]);
          const i32 c = beyond ? zero : static_cast<i32>(row.c[i]);
          if (beyond) exceptions |= 1u << i;
          low = c < low ? c : low;
          high = c > high ? c : high;
        }
        return RowSummary{exceptions, high > zero + safe || low < zero - safe};
      },
      *rows);
  *lanes = W::map([](const RowSummary& s) { return s.exceptions; }, summaries);
  if (!W::any(W::map([](const RowSummary& s) { return s.unsafe; }, summaries))) return W::splat(u32{0});
  struct Careful {
    u32 codes, exceptions;
  };
  const auto careful = W::map(
      [&](int b, const Row& row, u32 exceptions) {
        Careful found{unsure_places(b, row, grid, memory) & ~exceptions, exceptions};
        STRETTO_ROLLED
        for (u32 left = found.codes; left; left &= left - 1) {
          u32* at = memory + value_place(b, trailing_zeros(left));
          i64 q = 0;
          if (quantise_carefully(float_of(*at), grid, &q))
            *at = kCodeZero + static_cast<u32>(q);
          else
            found.exceptions |= left & (0 - left);
        }
        found.codes &= ~found.exceptions;
        found.exceptions &= lanes_below(b, m);
        return found;
      },
      W::lane_anew(), *rows, *lanes);
  *lanes = W::map([](const Careful& c) { return c.exceptions; }, careful);
  *rows = W::map(
      [=](int b, Row row, const Careful& found) {
        if (found.codes == 0) return row;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(b, k));
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c)
            if (found.codes >> (4 * k + c) & 1) row.c[4 * k + c] = static_cast<u32>(four.v[c]);
        }
        return row;
      },
      W::lane_anew(), *rows, careful);
  return W::map([](const Careful& c) { return c.codes; }, careful);
}

// Memory holds values, and codes at the places in `coded`; `quick` codes a value.
template <class W, class Quick>
STRETTO_DEVICE ExceptionValues fill_rows(int m, const u32* memory, typename W::template Lane<u32> lanes,
                                         typename W::template Lane<u32> coded, Quick quick,
                                         typename W::template Lane<Row>* rows) {
  const u32 some = W::ballot(W::map([](u32 l) { return l != 0; }, lanes));
  const auto own =
      W::map([=](int b, u32 l) { return l ? memory[value_place(b, trailing_zeros(l))] : 0; }, W::lane_anew(), lanes);
  const u32 value = W::broadcast(own, trailing_zeros(some) & 31);
  const bool differ = W::any(W::map(
      [=](int b, u32 l) {
        u32 same = 0;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(b, k));
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c)
            if (static_cast<u32>(four.v[c]) == value) same |= 1u << (4 * k + c);
        }
        return (l & ~same) != 0;
      },
      W::lane_anew(), lanes));
  *rows = W::map(
      [](Row row, u32 l) {
        u32 code = kCodeZero;
        STRETTO_UNROLL
        for (int i = 0; i < 32; ++i) row.c[i] = code = l >> i & 1 ? code : row.c[i];
        return row;
      },
      *rows, lanes);
  if (!W::any(W::map([](u32 l) { return (l & 1) != 0; }, lanes))) return {value, differ};
  const auto firsts = W::map(
      [=](int b, u32 l, u32 is_code) {
        const int i = trailing_zeros(~l) & 31;
        const u32 word = memory[value_place(b, i)];
        return is_code >> i & 1 ? word : quick(word);
      },
      W::lane_anew(), lanes, coded);
  const u32 kept =
      W::ballot(W::map([=](int b, u32 l) { return (~l & lanes_below(b, m)) != 0; }, W::lane_anew(), lanes));
  const u32 first = W::broadcast(firsts, trailing_zeros(kept) & 31), none = kept ? first : kCodeZero;
  const auto source = W::map([=](int b) { return bit_width(kept & ((1u << b) - 1)) - 1; }, W::lane_anew());
  const auto last = W::shuffle(W::map([](const Row& row) { return row.c[31]; }, *rows),
                               W::map([](int s) { return s < 0 ? 0 : s; }, source));
  *rows = W::map(
      [=](Row row, u32 l, int s, u32 before) {
        const u32 code = s < 0 ? none : before;
        const int n = trailing_zeros(~l);
        STRETTO_UNROLL
        for (int i = 0; i < 32; ++i) row.c[i] = i < n ? code : row.c[i];
        return row;
      },
      *rows, lanes, source, last);
  return {value, differ};
}

template <class W, class ValuesOf>
struct RowExceptions {
  ValuesOf values_of;
  const ExceptionValues* values;  // in memory, to save registers
  STRETTO_DEVICE void measure(Plan<W>* p) const {
    p->uniform = !values->differ;
    p->quiet = p->uniform && values->value == QuietNan<float>::kBits;
    p->value_words = p->uniform ? (p->quiet ? 0 : 1) : p->count;
  }
  STRETTO_DEVICE void write(const Plan<W>& p, u32* out) const {
    if (p.uniform) {
      const u32 bits = values->value;
      W::each(
          [=](int j) {
            if (j == 0) out[0] = bits;
          },
          W::lane());
      return;
    }
    const GroupValues<float> own = values_of();
    numbers<W, float>([&](int place) { return own.bits(place); }).write(p, out);
  }
};

}  // namespace stretto::codec::cuda
