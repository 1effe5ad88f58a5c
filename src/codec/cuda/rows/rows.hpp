// A whole group of float32 in registers: lane b has block b. Codes have kCodeZero added, as the sum with 3/2 2^23
// leaves them; differences cancel it.
#pragma once

#include "codec/cuda/groups/group_codes.hpp"

namespace stretto::codec::cuda {

constexpr u32 kCodeZero = 0x4b400000;  // the bits of 0x1.8p23f
// A multiple of four aligns the next group for vector stores.
constexpr int kStagedWords = kGroup + 4, kStagedScratch = 36;

struct Row {
  u32 c[32];
};

// Permuted quads avoid bank conflicts by rows and by columns.
STRETTO_DEVICE int quad_place(int row, int quad) { return (32 * row + ((row & 7) << 2)) ^ (quad << 2); }
STRETTO_DEVICE int value_place(int row, int i) { return quad_place(row, i >> 2) + (i & 3); }

// All loads precede the first use.
template <class W>
STRETTO_DEVICE void put_floats(const float* x, u32* memory) {
  W::each(
      [=](int j) {
        Quad<i32> in[8];
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) in[k] = *reinterpret_cast<const Quad<i32>*>(x + 4 * j + 128 * k);
        i32* even = reinterpret_cast<i32*>(memory) + quad_place(j >> 3, j & 7);
        i32* odd = reinterpret_cast<i32*>(memory) + (quad_place(j >> 3, j & 7) ^ 16);
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) store_quad((k & 1 ? odd : even) + 128 * k, in[k]);
      },
      W::lane());
}
template <class W>
STRETTO_DEVICE void put_values(const GroupValues<float>& v, u32* memory) {
  const bool quads = v.m == kGroup && quad_aligned(v.x.x) && v.x.type != Type::f32;
  const HalfQuads halves{static_cast<const u16*>(v.x.x), v.x.type == Type::f16};
  STRETTO_ROLLED
  for (int k = 0; k < 8; ++k)
    W::each(
        [&](int j) {
          const int place = 4 * j + 128 * k;
          const u64 at = v.first + static_cast<u64>(place);
          Quad<float> four;
          if (quads) {
            halves.load(at, &four);
          } else {
            STRETTO_UNROLL
            for (int c = 0; c < 4; ++c)
              four.v[c] =
                  place + c < v.m ? value_at(v.x, at + static_cast<u64>(c), static_cast<float*>(nullptr)) : 0.0f;
          }
          Quad<i32> bits;
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) bits.v[c] = static_cast<i32>(bits_of(four.v[c]));
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(4 * k + (j >> 3), j & 7), bits);
        },
        W::lane());
}

template <class W>
STRETTO_DEVICE void load_rows(const GroupValues<float>& v, u32* memory) {
  if (v.m == kGroup && v.x.type == Type::f32 && quad_aligned(v.x.x))
    put_floats<W>(static_cast<const float*>(v.x.x) + v.first, memory);
  else
    put_values<W>(v, memory);
}

template <class W, class F>
STRETTO_DEVICE auto read_rows(const u32* memory, F f) {
  return W::map(
      [=](int b) {
        Row row;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(b, k));
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) row.c[4 * k + c] = f(static_cast<u32>(four.v[c]));
        }
        return row;
      },
      W::lane_anew());
}

template <class W>
STRETTO_DEVICE void put_rows(const typename W::template Lane<Row>& rows, u32* memory) {
  W::each(
      [=](int b, const Row& row) {
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          Quad<i32> four;
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) four.v[c] = static_cast<i32>(row.c[4 * k + c]);
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(b, k), four);
        }
      },
      W::lane_anew(), rows);
}

struct Extremes {
  i32 low, high;
};
template <class W>
STRETTO_DEVICE Extremes extremes(const typename W::template Lane<Row>& rows, u32 zero) {
  constexpr u32 sign = 0x80000000;
  const auto own = W::map(
      [=](const Row& row) {
        Extremes e{static_cast<i32>(row.c[0] - zero), static_cast<i32>(row.c[0] - zero)};
        STRETTO_UNROLL
        for (int i = 1; i < 32; ++i) {
          const i32 c = static_cast<i32>(row.c[i] - zero);
          e.low = c < e.low ? c : e.low;
          e.high = c > e.high ? c : e.high;
        }
        return e;
      },
      rows);
  const u32 low = W::reduce_max(W::map([](const Extremes& e) { return ~(static_cast<u32>(e.low) ^ sign); }, own));
  const u32 high = W::reduce_max(W::map([](const Extremes& e) { return static_cast<u32>(e.high) ^ sign; }, own));
  return {static_cast<i32>(~low ^ sign), static_cast<i32>(high ^ sign)};
}

}  // namespace stretto::codec::cuda
