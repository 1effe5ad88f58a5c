// A full narrow group without exceptions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "codec/stream/group.hpp"

namespace stretto::codec {

struct PackedGroup {
  Predictor predictor = Predictor::none_unsigned;
  std::int32_t base = 0, slope = 0;
  int widest = 0;
  const std::uint8_t* planes = nullptr;
  const std::uint8_t* end = nullptr;
  alignas(32) std::uint8_t width[kBlocks] = {};
};

inline PackedGroup packed(const GroupView& view, const std::uint8_t* end) noexcept {
  PackedGroup g;
  g.predictor = view.predictor;
  g.base = static_cast<std::int32_t>(view.base);
  g.slope = static_cast<std::int32_t>(view.slope);
  g.planes = view.planes ? view.planes : end;
  g.end = end;
  std::memcpy(g.width, view.width, sizeof g.width);
  g.widest = *std::max_element(g.width, g.width + kBlocks);
  return g;
}

inline constexpr auto kNothing = [](std::uint8_t* p) { return p; };

constexpr std::uint64_t spread_nibbles(std::uint32_t v) noexcept {
  std::uint64_t x = v;
  x = (x | x << 16) & 0x0000ffff0000ffff;
  x = (x | x << 8) & 0x00ff00ff00ff00ff;
  return (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
}
constexpr std::uint32_t gather_nibbles(std::uint64_t x) noexcept {
  x = (x | x >> 4) & 0x00ff00ff00ff00ff;
  x = (x | x >> 8) & 0x0000ffff0000ffff;
  return static_cast<std::uint32_t>(x | x >> 16);
}

// The widths end at *end, which moves to their start. False: no room after p.
inline bool read_widths(Form form, const std::uint8_t* p, const std::uint8_t** end, std::uint8_t* width) noexcept {
  const bool nibbles = form == Form::nibbles || form == Form::masked_nibbles;
  const auto left = [&] { return static_cast<std::size_t>(*end - p); };
  if (form == Form::nibbles || form == Form::bytes) {
    if (left() < (nibbles ? 16 : 32)) return false;
    *end -= nibbles ? 16 : 32;
    for (std::size_t i = 0; i < 4; ++i)
      store(width + 8 * i,
            nibbles ? spread_nibbles(load<std::uint32_t>(*end + 4 * i)) : load<std::uint64_t>(*end + 8 * i));
    return true;
  }
  if (left() < 4) return false;
  *end -= 4;
  const auto mask = load<std::uint32_t>(*end);
  if (mask == 0) return false;
  const auto n = static_cast<std::size_t>(std::popcount(mask));
  const std::size_t bytes = ((nibbles ? (n + 1) / 2 : n) + 3) / 4 * 4;
  if (left() < bytes) return false;
  *end -= bytes;
  std::size_t k = 0;
  for (std::uint32_t rest = mask; rest; rest &= rest - 1, ++k)
    width[std::countr_zero(rest)] =
        static_cast<std::uint8_t>(nibbles ? (*end)[k / 2] >> (4 * (k % 2)) & 15 : (*end)[k]);
  return true;
}

inline bool parse_packed(const std::uint8_t* p, std::size_t words, PackedGroup* g) noexcept {
  g->planes = p;
  g->end = p + 4 * words;
  if (words == 0) return true;
  const auto word = load<std::uint32_t>(p);
  const auto form = static_cast<Form>(word >> 4 & 7);
  if ((word & (kWideBit | kExceptionsBit)) || form > Form::masked_bytes) return false;
  g->predictor = static_cast<Predictor>(word & 3);
  const int order = order_of(g->predictor);
  const bool is_short = word & kShortBaseBit;
  if (is_short ? order == 0 : word >> 8 != 0) return false;
  const std::size_t head = 1 + (order > 0 && !is_short ? 1u : 0u) + (order == 2 ? 1u : 0u);
  if (words < head) return false;
  p += 4;
  if (is_short) {
    g->base = static_cast<std::int32_t>(word) >> 8;
  } else if (order > 0) {
    g->base = load<std::int32_t>(p);
    p += 4;
  }
  if (order == 2) {
    g->slope = load<std::int32_t>(p);
    p += 4;
  }
  g->planes = p;
  const std::uint8_t* end = g->end;
  if (form != Form::zero && !read_widths(form, p, &end, g->width)) return false;
  std::uint8_t most = 0;
  std::uint16_t planes = 0;
  for (int b = 0; b < kBlocks; ++b) {
    most = std::max(most, g->width[b]);
    planes = static_cast<std::uint16_t>(planes + g->width[b]);
  }
  g->widest = most;
  return most <= (g->predictor == Predictor::none_unsigned ? 31 : 32) && 4 * planes == end - p;
}

inline std::size_t write_head(Predictor p, std::int32_t base, std::int32_t slope, std::uint8_t* out) noexcept {
  const int order = order_of(p);
  auto word = static_cast<std::uint32_t>(p);
  std::size_t n = 4;
  if (order > 0) {
    if (base >= -(1 << 23) && base < (1 << 23)) {
      word |= kShortBaseBit | static_cast<std::uint32_t>(base) << 8;
    } else {
      store(out + n, base);
      n += 4;
    }
  }
  if (order == 2) {
    store(out + n, slope);
    n += 4;
  }
  store(out, word);
  return n;
}

inline Form write_packed_widths(const std::uint8_t* width, std::uint8_t** p) noexcept {
  std::uint8_t most = 0, n = 0;
  for (int b = 0; b < kBlocks; ++b) {
    most = std::max(most, width[b]);
    n = static_cast<std::uint8_t>(n + (width[b] != 0));
  }
  if (most == 0) return Form::zero;
  const bool nibbles = most <= 15;
  const int packed = ((nibbles ? (n + 1) / 2 : n) + 3) / 4 * 4;
  if (packed + 4 >= (nibbles ? 16 : 32)) {
    for (std::size_t i = 0; i < 4; ++i) {
      const auto eight = load<std::uint64_t>(width + 8 * i);
      if (nibbles)
        store(*p + 4 * i, gather_nibbles(eight));
      else
        store(*p + 8 * i, eight);
    }
    *p += nibbles ? 16 : 32;
    return nibbles ? Form::nibbles : Form::bytes;
  }
  std::uint8_t bytes[kBlocks] = {};
  std::uint32_t mask = 0;
  std::size_t k = 0;
  for (int b = 0; b < kBlocks; ++b) {
    if (width[b] == 0) continue;
    mask |= 1u << b;
    if (nibbles)
      bytes[k / 2] = static_cast<std::uint8_t>(bytes[k / 2] | width[b] << (4 * (k % 2)));
    else
      bytes[k] = width[b];
    ++k;
  }
  std::memcpy(*p, bytes, sizeof bytes);
  *p += packed;
  store(*p, mask);
  *p += 4;
  return nibbles ? Form::masked_nibbles : Form::masked_bytes;
}

// Head and planes, which end at `at`, are written.
inline std::size_t finish_packed(const std::uint8_t* width, std::uint8_t* at, std::uint8_t* out) noexcept {
  const Form form = write_packed_widths(width, &at);
  const auto unsigned_zeros = static_cast<std::uint32_t>(Predictor::none_unsigned);
  if (form == Form::zero && load<std::uint32_t>(out) == unsigned_zeros) return 0;
  out[0] = static_cast<std::uint8_t>(out[0] | static_cast<unsigned>(form) << 4);
  return static_cast<std::size_t>(at - out) / 4;
}

}  // namespace stretto::codec
