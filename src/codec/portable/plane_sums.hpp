// Arithmetic on residuals where they lie, in bit planes: a full adder of 32-bit words adds 32 residuals a plane at a time, modulo 2^32.
// No vector code: this is fast in the registers of any machine.
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
  // Width of the sum: planes above it follow from those below.
  int width(bool is_signed) const noexcept {
    const auto plane = [&](int i) { return i >= 0 ? load<std::uint32_t>(out + 4 * i) : 0; };
    int w = n;
    // The first step is a coin toss, so not a branch.
    if (is_signed) {
      w -= plane(w - 1) == plane(w - 2);
      while (w > 0 && plane(w - 1) == plane(w - 2)) --w;
    } else {
      w -= plane(w - 1) == 0;
      while (w > 0 && plane(w - 1) == 0) --w;
    }
    return w;
  }
};

// out = a + b or a - b, block by block; the operands have the order of p already. Words written, or kNoRoom if unsigned
// residuals would need 32 bits. Up to 8 bytes more are written.
inline std::size_t add_packed(const PackedGroup& a, const PackedGroup& b, bool negate_b, Predictor p, std::uint8_t* out) noexcept {
  const auto sum = [negate_b](std::int32_t x, std::int32_t y) {
    const auto u = static_cast<std::uint32_t>(x), v = static_cast<std::uint32_t>(y);
    return static_cast<std::int32_t>(negate_b ? u - v : u + v);
  };
  const bool signed_a = a.predictor != Predictor::none_unsigned, signed_b = b.predictor != Predictor::none_unsigned;
  const bool is_signed = p != Predictor::none_unsigned;
  const int more = is_signed && !(signed_a && signed_b) ? 2 : 1;  // planes that a sum may have above its operands'
  const std::uint32_t invert = negate_b ? ~0u : 0;                // a - b = a + ~b + 1
  const std::uint8_t *pa = a.planes, *pb = b.planes;
  alignas(8) std::uint8_t width[kBlocks];
  int any = 0;
  std::uint8_t* at = out + write_head(p, sum(a.base, b.base), sum(a.slope, b.slope), out);
  for (int block = 0; block < kBlocks; ++block) {
    const BlockPlanes va(pa, a.width[block], signed_a), vb(pb, b.width[block], signed_b);
    width[block] = 0;
    if ((va.width | vb.width) == 0) continue;
    PlaneAdder adder{at, invert};
    const int both = std::min(va.width, vb.width), most = std::max(va.width, vb.width);
    const std::uint32_t eb = vb.extension ^ invert;
    for (int i = 0; i < both; ++i) adder.add(va[i], vb[i] ^ invert);
    for (int i = both; i < va.width; ++i) adder.add(va[i], eb);
    for (int i = both; i < vb.width; ++i) adder.add(va.extension, vb[i] ^ invert);
    for (int i = most; i < std::min(most + more, 32); ++i) adder.add(va.extension, eb);
    const int w = adder.width(is_signed);
    if (w == 32 && !is_signed) return kNoRoom;
    width[block] = static_cast<std::uint8_t>(w);
    any |= w;
    at += 4 * w;
    pa += 4 * va.width;
    pb += 4 * vb.width;
  }
  if (any == 0) return is_signed ? static_cast<std::size_t>(at - out) / 4 : 0;
  const Form form = write_packed_widths(width, &at);
  out[0] = static_cast<std::uint8_t>(out[0] | static_cast<unsigned>(form) << 4);
  return static_cast<std::size_t>(at - out) / 4;
}

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
    const auto subtract_shifted = [&](std::uint32_t plane, int i) { adder.add(plane, ~(plane << 1 | (last >> i & 1))); };
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
    const int w = adder.width(true);
    r.width[block] = static_cast<std::uint8_t>(w);
    r.widest = std::max(r.widest, w);
    at += 4 * w;
  }
  r.end = at;
  return r;
}

}  // namespace stretto::codec
