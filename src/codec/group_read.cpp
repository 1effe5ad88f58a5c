// A group from its bytes: parsed with every length checked, then its codes.
#include "codec/group.hpp"

#include <bit>
#include <cstring>

#include "codec/exact.hpp"
#include "codec/exception_map.hpp"

namespace stretto::codec {
namespace {

int sum_words(Type t) noexcept { return value_bytes(t) == 8 ? ExactSum<double>::kWords : ExactSum<float>::kWords; }

// Reads bytes from the front of a range, refusing to pass its end.
struct Cursor {
  const std::uint8_t* p;
  const std::uint8_t* end;
  std::size_t left() const noexcept { return static_cast<std::size_t>(end - p); }
  template <class T>
  bool take(T* v) noexcept {
    if (left() < sizeof(T)) return false;
    *v = load<T>(p);
    p += sizeof(T);
    return true;
  }
};

bool parse_exceptions(Cursor& c, Type type, GroupView* g) noexcept {
  std::uint8_t kind = 0;
  const std::size_t map = parse_exception_map(c.p, c.left(), g->m, &kind, g->lanes);
  if (map == 0) return false;
  c.p += map;
  for (int b = 0; b < kBlocks; ++b)
    if (g->lanes[b] != 0) g->exception_count += g->lanes[b] == ~0u ? kBlock : std::popcount(g->lanes[b]);
  g->exceptions = true;
  g->uniform = kind & kUniformBit;
  g->sums = kind & kSumsBit;
  if (is_integer(type)) return false;
  const auto value = static_cast<std::size_t>(value_bytes(type));
  if (kind & kQuietNanBit) {
    g->values = quiet_nan_bytes(value);
    g->values_bytes = value;
    return true;
  }
  g->values = c.p;
  const std::size_t n = g->uniform ? 1 : static_cast<std::size_t>(g->exception_count);
  if (g->sums) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t bytes = exact_sum_bytes(c.p, c.left(), sum_words(type));
      if (bytes == 0) return false;
      c.p += bytes;
    }
  } else {
    if (c.left() / value < n) return false;
    c.p += n * value;
  }
  g->values_bytes = static_cast<std::size_t>(c.p - g->values);
  return true;
}

// Widths from the end of the group; c.end moves to the end of the planes.
bool parse_widths(Cursor& c, Form form, GroupView* g) noexcept {
  const int most = g->wide ? 64 : 32;
  std::uint32_t mask = ~0u;
  if (form == Form::masked_nibbles || form == Form::masked_bytes) {
    if (c.left() < 4) return false;
    c.end -= 4;
    mask = load<std::uint32_t>(c.end);
    if (mask == 0) return false;
  }
  const bool nibbles = form == Form::nibbles || form == Form::masked_nibbles;
  const auto n = static_cast<std::size_t>(std::popcount(mask));
  const std::size_t bytes = ((nibbles ? (n + 1) / 2 : n) + 3) / 4 * 4;
  if (c.left() < bytes) return false;
  c.end -= bytes;
  std::size_t k = 0, planes = 0;
  for (int b = 0; b < kBlocks; ++b) {
    if (!(mask >> b & 1)) continue;
    const int w = nibbles ? c.end[k / 2] >> (4 * (k % 2)) & 15 : c.end[k];
    ++k;
    if (w > most || (g->predictor == Predictor::none_unsigned && w == most)) return false;
    g->width[b] = static_cast<std::uint8_t>(w);
    planes += static_cast<std::size_t>(w);
  }
  return c.left() == 4 * planes;
}

template <class U>
void sum_up(const GroupView& g, Codes q) noexcept {
  using S = std::make_signed_t<U>;
  U code = static_cast<U>(g.base), difference = static_cast<U>(g.slope);
  for (int i = 0; i < g.m; ++i) {
    const U e = static_cast<U>(q[i]);
    switch (g.predictor) {
      case Predictor::none_unsigned:
      case Predictor::none_signed: code = e; break;
      case Predictor::first: code += e; break;
      case Predictor::second:
        difference += e;
        code += difference;
        break;
    }
    q[i] = static_cast<S>(code);
  }
}

}  // namespace

bool parse_group(const std::uint8_t* p, std::size_t words, int m, Type type, GroupView* g) noexcept {
  *g = GroupView{};
  g->m = m;
  if (words == 0) return true;
  Cursor c{p, p + 4 * words};
  std::uint32_t word = 0;
  if (!c.take(&word)) return false;
  const auto form = static_cast<Form>(word >> 4 & 7);
  if (form == Form::verbatim) {
    if (word != kVerbatimWord || is_integer(type)) return false;
    if (c.left() != static_cast<std::size_t>(m) * static_cast<std::size_t>(value_bytes(type))) return false;
    g->verbatim = g->exceptions = true;
    for (int b = 0; b < kBlocks; ++b) g->lanes[b] = lanes_below(b, m);
    g->exception_count = m;
    g->values = c.p;
    g->values_bytes = c.left();
    return true;
  }
  if (form > Form::masked_bytes) return false;
  g->predictor = static_cast<Predictor>(word & 3);
  g->wide = word & kWideBit;
  const bool is_short = word & kShortBaseBit;
  const bool has_base = g->predictor >= Predictor::first;
  if (is_short) {
    if (!has_base || g->wide) return false;
    g->base = static_cast<std::int32_t>(word) >> 8;
  } else if (word >> 8) {
    return false;
  }
  const auto take_code = [&](std::int64_t* v) {
    std::int32_t narrow = 0;
    if (g->wide) return c.take(v);
    if (!c.take(&narrow)) return false;
    *v = narrow;
    return true;
  };
  if (has_base && !is_short && !take_code(&g->base)) return false;
  if (g->predictor == Predictor::second && !take_code(&g->slope)) return false;
  if ((word & kExceptionsBit) && !parse_exceptions(c, type, g)) return false;
  if (form == Form::zero ? c.left() != 0 : !parse_widths(c, form, g)) return false;
  g->planes = c.p;
  return true;
}

void read_residuals(const GroupView& g, Codes e) noexcept {
  std::memset(e, 0, sizeof(Codes));
  const std::uint8_t* p = g.planes;
  for (int b = 0; b < kBlocks; ++b) {
    const int w = g.width[b];
    if (w == 0) continue;
    std::uint64_t bits[kBlock] = {};
    for (int i = 0; i < w; ++i, p += 4) {
      const auto plane = load<std::uint32_t>(p);
      for (int j = 0; j < kBlock; ++j) bits[j] |= std::uint64_t{plane >> j & 1} << i;
    }
    const int up = 64 - w;
    for (int j = 0; j < kBlock; ++j)
      e[kBlock * b + j] = g.predictor == Predictor::none_unsigned ? static_cast<std::int64_t>(bits[j])
                                                                  : static_cast<std::int64_t>(bits[j] << up) >> up;
  }
}

void read_codes(const GroupView& g, Codes q) noexcept {
  if (g.verbatim) {
    std::memset(q, 0, sizeof(Codes));
    return;
  }
  read_residuals(g, q);
  if (g.wide)
    sum_up<std::uint64_t>(g, q);
  else
    sum_up<std::uint32_t>(g, q);
  for (int i = g.m; i < kGroup; ++i) q[i] = 0;
}

}  // namespace stretto::codec
