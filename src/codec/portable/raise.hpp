// A group raised to the next order where it lies, in bit planes: a full subtracter of 32-bit words takes 32 residuals a plane at a
// time, modulo 2^32. No vector code: this is fast enough in the registers of any machine.
#pragma once

#include <cstdint>

#include "codec/portable/packed_group.hpp"

namespace stretto::codec {

// The planes of a block seen as numbers of any width: those stored, then the sign's, then (of unsigned numbers) zeros.
struct BlockPlanes {
  const std::uint8_t* p;
  int width;
  std::uint32_t extension;
  BlockPlanes(const std::uint8_t* at, int w, bool is_signed) noexcept
      : p(at), width(w), extension(is_signed && w > 0 ? load<std::uint32_t>(at + 4 * (w - 1)) : 0) {}
  std::uint32_t operator[](int i) const noexcept { return load<std::uint32_t>(p + 4 * i); }
};

// Adds plane by plane, least significant first.
struct PlaneAdder {
  std::uint8_t* out;
  std::uint32_t carry;
  int n = 0;
  void add(std::uint32_t a, std::uint32_t b) noexcept {
    const std::uint32_t either = a ^ b;
    store(out + 4 * n++, either ^ carry);
    carry = (a & b) | (either & carry);
  }
  // Least width of the sum as signed numbers: planes above it repeat the last one's.
  int width() const noexcept {
    const auto plane = [&](int i) { return i >= 0 ? load<std::uint32_t>(out + 4 * i) : 0; };
    int w = n;
    w -= plane(w - 1) == plane(w - 2);  // a coin toss, so not a branch
    while (w > 0 && plane(w - 1) == plane(w - 2)) --w;
    return w;
  }
};

// Planes of the most that a group may have, and some more.
using PlaneBuffer = std::uint8_t[4 * 32 * kBlocks + 64];

// g raised to the next order: each residual less the one before it, the first less 0. Base and slope stay (0 where g has none).
inline PackedGroup raised(const PackedGroup& g, PlaneBuffer& buffer) noexcept {
  PackedGroup r;
  const bool is_signed = g.predictor != Predictor::none_unsigned;
  r.predictor = order_of(g.predictor) == 0 ? Predictor::first : Predictor::second;
  r.base = g.base;
  r.slope = g.slope;
  r.planes = r.end = buffer;
  const std::uint8_t* p = g.planes;
  std::uint8_t* at = buffer;
  std::uint32_t last = 0;  // residual before the block
  int last_width = 0;      // of its block
  for (int block = 0; block < kBlocks; ++block) {
    const BlockPlanes v(p, g.width[block], is_signed);
    p += 4 * v.width;
    if ((v.width | last_width) == 0) continue;
    PlaneAdder adder{at, ~0u};
    const auto subtract_shifted = [&](std::uint32_t plane, int i) {
      adder.add(plane, ~(plane << 1 | (last >> i & 1)));
    };
    std::uint32_t next = 0;
    for (int i = 0; i < v.width; ++i) {
      const std::uint32_t plane = v[i];
      next |= plane >> 31 << i;
      subtract_shifted(plane, i);
    }
    // A signed difference has a bit more than either, and what was unsigned one more for its sign.
    const int most = std::min(std::max(v.width, last_width) + (is_signed ? 1 : 2), 32);
    for (int i = v.width; i < most; ++i) subtract_shifted(v.extension, i);
    if (v.extension >> 31 && v.width < 32) next |= ~0u << v.width;
    last = next;
    last_width = v.width;
    const int w = adder.width();
    r.width[block] = static_cast<std::uint8_t>(w);
    r.widest = std::max(r.widest, w);
    at += 4 * w;
  }
  r.end = at;
  return r;
}

}  // namespace stretto::codec
