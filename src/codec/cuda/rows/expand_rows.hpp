// A whole narrow group to values of float32, as compress_rows() in reverse: lane b has block b. Planes are turned to bytes
// eight at a time, differences are summed by each lane, and lanes exchange one or two scans. The values pass the warp's
// memory once, so that neighbouring lanes write neighbouring quads.
#pragma once

#include "codec/cuda/groups/quad_reader.hpp"
#include "codec/cuda/rows/row_differences.hpp"

namespace stretto::codec::cuda {

// Planes of a block, eight for each byte of a residual; then bytes: byte j of p[8 b + r] is byte b of the residual at
// place 8 j + r.
template <int kBytes>
struct RowBytes {
  u32 p[8 * kBytes];
};

template <int kBytes>
STRETTO_DEVICE RowBytes<kBytes> load_row_planes(const u32* at, u32 width, bool is_unsigned) {
  const u32 kept = is_unsigned ? 0 : ~0u;
  RowBytes<kBytes> x;
  u32 last = 0;
  STRETTO_UNROLL
  for (u32 i = 0; i < 8 * kBytes; ++i) {
    const u32 loaded = load_if(i < width, at + i);
    x.p[i] = loaded;
  }
  STRETTO_UNROLL
  for (u32 i = 0; i < 8 * kBytes; ++i) x.p[i] = last = i < width ? x.p[i] : last & kept;
  return x;
}
template <int kBytes>
STRETTO_DEVICE u32 residual_of(const RowBytes<kBytes>& x, int i) {
  const u32 j = static_cast<u32>(i >> 3);
  if constexpr (kBytes == 1)
    return extended_byte(x.p[i & 7], i >> 3);
  else
    return permute_bytes(x.p[i & 7], x.p[8 + (i & 7)], 0xcc40 + 0x1111 * j);
}
// Their sum, and their sum weighted 32 for the first to 1 for the last.
template <int kBytes>
STRETTO_DEVICE u32 row_sum(const RowBytes<kBytes>& x) {
  u32 sum = 0, low = 0;
  STRETTO_UNROLL
  for (int r = 0; r < 8; ++r) {
    sum = dot_bytes(x.p[8 * (kBytes - 1) + r], 0x01010101, sum);
    if (kBytes == 2) low = dot_unsigned_bytes(x.p[r], 0x01010101, low);
  }
  return kBytes == 1 ? sum : (sum << 8) + low;
}
template <int kBytes>
STRETTO_DEVICE u32 row_ramp(const RowBytes<kBytes>& x) {
  u32 sum = 0, low = 0;
  STRETTO_UNROLL
  for (u32 r = 0; r < 8; ++r) {
    const u32 weights = 0x08101820 - 0x01010101 * r;
    sum = dot_bytes(x.p[8 * (kBytes - 1) + r], weights, sum);
    if (kBytes == 2) low = dot_unsigned_bytes(x.p[r], weights, low);
  }
  return kBytes == 1 ? sum : (sum << 8) + low;
}

// Codes of order kOrder after a code and a difference.
template <int kBytes, int kOrder>
STRETTO_DEVICE Row row_after(const RowBytes<kBytes>& x, u32 code, u32 difference) {
  Row row;
  STRETTO_UNROLL
  for (int i = 0; i < 32; ++i) {
    const u32 e = residual_of(x, i);
    if (kOrder == 0) {
      row.c[i] = code + e;
    } else {
      difference = kOrder == 2 ? difference + e : e;
      row.c[i] = code += difference;
    }
  }
  return row;
}

// The group's codes, with kCodeZero added.
template <class W, int kBytes>
STRETTO_DEVICE auto expand_rows(const Group<W>& g) {
  const u32* planes = g.planes;
  const bool is_unsigned = g.predictor == Predictor::none_unsigned;
  const auto bytes = W::map(
      [=](u32 width, u32 offset) {
        auto x = load_row_planes<kBytes>(planes + offset, width, is_unsigned);
        STRETTO_UNROLL
        for (int b = 0; b < kBytes; ++b) turn_bytes(x.p + 8 * b);
        return x;
      },
      g.width, g.offset);
  if (g.predictor < Predictor::first)
    return W::map([](const RowBytes<kBytes>& x) { return row_after<kBytes, 0>(x, kCodeZero, 0); }, bytes);
  const u32 base = static_cast<u32>(g.base) + kCodeZero, slope = static_cast<u32>(g.slope);
  const auto sum = W::map([](const RowBytes<kBytes>& x) { return row_sum(x); }, bytes);
  const auto before = W::map([](u32 all, u32 own) { return all - own; }, W::scan_add(sum), sum);
  if (g.predictor == Predictor::first)
    return W::map([=](const RowBytes<kBytes>& x, u32 v) { return row_after<kBytes, 1>(x, base + v, 0); }, bytes,
                  before);
  const auto part = W::map([](const RowBytes<kBytes>& x, u32 v) { return 32 * v + row_ramp(x); }, bytes, before);
  return W::map(
      [=](int b, const RowBytes<kBytes>& x, u32 v, u32 all, u32 own) {
        return row_after<kBytes, 2>(x, base + 32 * static_cast<u32>(b) * slope + (all - own), slope + v);
      },
      W::lane(), bytes, before, W::scan_add(part), part);
}

// Rows of a group's values, in the warp's memory, to where they belong.
template <class W>
STRETTO_DEVICE void store_rows(const typename W::template Lane<Row>& rows, u32* memory, float* out) {
  put_rows<W>(rows, memory);
  W::sync();
  W::each(
      [=](int j) {
        const u32* even = memory + quad_place(j >> 3, j & 7);
        const u32* odd = memory + (quad_place(j >> 3, j & 7) ^ 16);
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k)
          store_once(out + 4 * j + 128 * k, *reinterpret_cast<const Quad<float>*>((k & 1 ? odd : even) + 128 * k));
      },
      W::lane());
  W::sync();
}

}  // namespace stretto::codec::cuda
