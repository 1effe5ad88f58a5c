#include "codec/stream/group.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/numbers/exact.hpp"
#include "codec/stream/exception_map.hpp"
#include "codec/stream/group_places.hpp"

namespace stretto::codec {
namespace {

int sum_words(Type t) noexcept { return value_bytes(t) == 8 ? ExactSum<double>::kWords : ExactSum<float>::kWords; }

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

bool same_runs(const std::uint8_t* p, std::size_t left, const GroupView& g) noexcept {
  return g.runs && left >= g.runs_bytes && (p[0] & kRunsBit) && is_exception_kind(p[0]) &&
         std::memcmp(p + 1, g.runs + 1, g.runs_bytes - 1) == 0;
}

void unpack_widths(const std::uint8_t* p, std::size_t n, bool nibbles, std::uint8_t* width) noexcept {
  if (!nibbles) {
    std::memcpy(width, p, n);
    return;
  }
  for (std::size_t k = 0; k < (n + 1) / 2; ++k) {
    width[2 * k] = p[k] & 15;
    width[2 * k + 1] = p[k] >> 4;
  }
}

bool parse_widths(Cursor& c, Form form, GroupView* g) noexcept {
  std::uint32_t mask = ~0u;
  const bool masked = form == Form::masked_nibbles || form == Form::masked_bytes;
  if (masked) {
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
  std::uint8_t stored[kBlocks];
  unpack_widths(c.end, n, nibbles, masked ? stored : g->width);
  if (masked) {
    const std::uint8_t* next = stored;
    for (std::uint32_t left = mask; left; left &= left - 1) g->width[std::countr_zero(left)] = *next++;
  }
  std::uint8_t widest = 0;
  std::size_t planes = 0;
  for (int b = 0; b < kBlocks; ++b) {
    widest = std::max(widest, g->width[b]);
    planes += g->width[b];
  }
  const int most = (g->wide ? 64 : 32) - (g->predictor == Predictor::none_unsigned);
  return widest <= most && c.left() == 4 * planes;
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

std::size_t parse_exceptions(const std::uint8_t* p, std::size_t left, Type type, GroupView* g,
                             const GroupView* like) noexcept {
  std::uint8_t kind = 0;
  std::size_t map = 0;
  if (like && same_runs(p, left, *like)) {
    map = like->runs_bytes;
    std::memcpy(g->lanes, like->lanes, sizeof g->lanes);
    g->exception_count = like->exception_count;
  } else {
    map = parse_exception_map(p, left, g->m, &kind, g->lanes);
    if (map == 0) return 0;
    g->exception_count = places(g->lanes);
  }
  return parse_exception_values(p, left, map, type, g);
}

std::size_t parse_exception_values(const std::uint8_t* p, std::size_t left, std::size_t map, Type type,
                                   GroupView* g) noexcept {
  const std::uint8_t kind = p[0];
  if (kind & kRunsBit) {
    g->runs = p;
    g->runs_bytes = map;
  }
  g->exceptions = true;
  g->uniform = kind & kUniformBit;
  g->sums = kind & kSumsBit;
  if (is_integer(type)) return 0;
  const auto value = static_cast<std::size_t>(value_bytes(type));
  if (kind & kQuietNanBit) {
    g->values = quiet_nan_bytes(value);
    g->values_bytes = value;
    return map;
  }
  const std::uint8_t *at = p + map, *const end = p + left;
  g->values = at;
  const std::size_t n = g->uniform ? 1 : static_cast<std::size_t>(g->exception_count);
  if (g->sums) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t bytes = exact_sum_bytes(at, static_cast<std::size_t>(end - at), sum_words(type));
      if (bytes == 0) return 0;
      at += bytes;
    }
  } else {
    if (static_cast<std::size_t>(end - at) / value < n) return 0;
    at += n * value;
  }
  g->values_bytes = static_cast<std::size_t>(at - g->values);
  return static_cast<std::size_t>(at - p);
}

bool parse_group(const std::uint8_t* p, std::size_t words, int m, Type type, GroupView* g,
                 const GroupView* like) noexcept {
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
  if (word & kExceptionsBit) {
    const std::size_t taken = parse_exceptions(c.p, c.left(), type, g, like);
    if (taken == 0) return false;
    c.p += taken;
  }
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
