#include "codec/dense/head.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace stretto::codec::dense {
namespace {

constexpr std::uint8_t kHeadWide = 1u << 2, kHeadExceptions = 1u << 3;

bool fits(std::int64_t v, bool wide) noexcept { return wide || static_cast<std::int32_t>(v) == v; }

// For narrow groups without exceptions, with widths. False, with undefined parts, for others.
bool take_plain_apart(const std::uint8_t* p, std::size_t words, Parts* parts) noexcept {
  if (words == 0) return true;
  const auto word = load<std::uint32_t>(p);
  const auto form = static_cast<Form>(word >> 4 & 7);
  if ((word & (kWideBit | kExceptionsBit)) || form == Form::zero || form > Form::masked_bytes) return false;
  const auto predictor = static_cast<Predictor>(word & 3);
  const bool has_base = predictor >= Predictor::first, is_short = word & kShortBaseBit;
  const bool nibbles = form == Form::nibbles || form == Form::masked_nibbles, masked = form >= Form::masked_nibbles;
  const std::size_t codes = (has_base && !is_short) + (predictor == Predictor::second);
  const std::uint8_t* from = p + 4 * words;
  std::uint32_t mask = ~0u;
  if (masked) {
    if (words < 2) return false;
    from -= 4;
    mask = load<std::uint32_t>(from);
    if (mask == 0) return false;
  }
  const auto n = static_cast<std::size_t>(std::popcount(mask));
  const std::size_t stored = (nibbles ? n + 7 : 2 * n + 6) / 8;  // words
  if (words < 1 + codes + masked + stored || (is_short ? !has_base : word >> 8 != 0)) return false;
  from -= 4 * stored;
  std::uint8_t* const width = parts->widths.of;
  std::uint8_t together[kBlocks];
  std::uint8_t* const to = masked ? together : width;
  if (nibbles) {
    std::uint8_t half[16] = {};
    std::memcpy(half, from, std::min(4 * stored, sizeof half));
    for (int i = 0; i < 4; ++i) {
      std::uint64_t v = load<std::uint32_t>(half + 4 * i);
      v = (v | v << 16) & 0x0000ffff0000ffff;
      v = (v | v << 8) & 0x00ff00ff00ff00ff;
      v = (v | v << 4) & 0x0f0f0f0f0f0f0f0f;
      store(to + 8 * i, v);
    }
  } else {
    std::memcpy(to, from, std::min(4 * stored, sizeof together));
  }
  if (masked) {
    const std::uint8_t* next = together;
    for (std::uint32_t left = mask; left; left &= left - 1) width[std::countr_zero(left)] = *next++;
  }
  std::uint8_t widest = 0;
  int planes = 0;
  for (int b = 0; b < kBlocks; ++b) {
    widest = std::max(widest, width[b]);
    planes += width[b];
  }
  const std::uint8_t* at = p + 4;
  if (widest > 32 - (predictor == Predictor::none_unsigned) ||
      from - at != 4 * (static_cast<std::ptrdiff_t>(codes) + planes))
    return false;
  parts->predictor = predictor;
  if (is_short) parts->base = static_cast<std::int32_t>(word) >> 8;
  if (has_base && !is_short) {
    parts->base = load<std::int32_t>(at);
    at += 4;
  }
  if (predictor == Predictor::second) {
    parts->slope = load<std::int32_t>(at);
    at += 4;
  }
  parts->planes = at;
  parts->widths.widest = widest;
  return true;
}

std::size_t verbatim_bytes(int m, Type type) noexcept {
  return static_cast<std::size_t>(m) * static_cast<std::size_t>(value_bytes(type));
}

}  // namespace

bool take_apart(const std::uint8_t* p, std::size_t words, int m, Type type, Parts* parts) noexcept {
  *parts = Parts{};
  if (take_plain_apart(p, words, parts)) return true;
  *parts = Parts{};
  GroupView view;
  if (!parse_group(p, words, m, type, &view)) return false;
  if (view.verbatim) {
    parts->verbatim = true;
    parts->exceptions = p + 4;
    parts->exceptions_bytes = 4 * words - 4;
    return true;
  }
  parts->predictor = view.predictor;
  parts->wide = view.wide;
  parts->base = view.base;
  parts->slope = view.slope;
  parts->planes = view.planes;
  std::memcpy(parts->widths.of, view.width, kBlocks);
  parts->widths.widest = *std::max_element(view.width, view.width + kBlocks);
  if (view.exceptions) {
    const bool is_short = load<std::uint32_t>(p) & kShortBaseBit;
    const std::size_t code = view.wide ? 8 : 4;
    std::size_t before = 4;
    if (view.predictor >= Predictor::first && !is_short) before += code;
    if (view.predictor == Predictor::second) before += code;
    parts->exceptions = p + before;
    parts->exceptions_bytes = static_cast<std::size_t>(view.planes - parts->exceptions);
  }
  return true;
}

std::uint8_t* write_head(const Parts& parts, std::int64_t* base, std::uint8_t* out) noexcept {
  const int widest = parts.verbatim ? kVerbatimWidth : parts.widths.widest;
  *out++ = static_cast<std::uint8_t>(static_cast<int>(parts.predictor) | (parts.wide ? kHeadWide : 0) |
                                     (parts.exceptions_bytes && !parts.verbatim ? kHeadExceptions : 0) |
                                     std::min(widest, kLongWidth) << 4);
  if (widest >= kLongWidth) *out++ = static_cast<std::uint8_t>(widest);
  if (parts.predictor >= Predictor::first) {
    out = put_number(out, zigzag(static_cast<std::int64_t>(static_cast<std::uint64_t>(parts.base) -
                                                           static_cast<std::uint64_t>(*base))));
    *base = parts.base;
  }
  if (parts.predictor == Predictor::second) out = put_number(out, zigzag(parts.slope));
  if (parts.exceptions_bytes) {
    if (!parts.verbatim) out = put_number(out, parts.exceptions_bytes / 4);
    std::memcpy(out, parts.exceptions, parts.exceptions_bytes);
    out += parts.exceptions_bytes;
  }
  return out;
}

const std::uint8_t* read_head(const std::uint8_t* p, const std::uint8_t* end, int m, Type type, std::int64_t* base,
                              Parts* parts) noexcept {
  *parts = Parts{};
  if (p == end) return nullptr;
  const std::uint8_t kind = *p++;
  int widest = kind >> 4;
  if (widest == kLongWidth) {
    if (p == end) return nullptr;
    widest = *p++;
    if (widest < kLongWidth || (widest > kMaxWidth && widest != kVerbatimWidth)) return nullptr;
  }
  std::uint64_t number = 0;
  if (widest == kVerbatimWidth) {
    parts->verbatim = true;
    parts->exceptions_bytes = verbatim_bytes(m, type);
    if ((kind & 15) || is_integer(type)) return nullptr;
  } else {
    parts->predictor = static_cast<Predictor>(kind & 3);
    parts->wide = kind & kHeadWide;
    parts->widths.widest = static_cast<std::uint8_t>(widest);
    if (parts->predictor >= Predictor::first) {
      if (!(p = take_number(p, end, &number))) return nullptr;
      parts->base = static_cast<std::int64_t>(static_cast<std::uint64_t>(*base) +
                                              static_cast<std::uint64_t>(from_zigzag(number)));
      *base = parts->base;
      if (!fits(parts->base, parts->wide)) return nullptr;
    }
    if (parts->predictor == Predictor::second) {
      if (!(p = take_number(p, end, &number))) return nullptr;
      parts->slope = from_zigzag(number);
      if (!fits(parts->slope, parts->wide)) return nullptr;
    }
    if (kind & kHeadExceptions) {
      if (!(p = take_number(p, end, &number)) || number == 0 || number > kMaxGroupBytes / 4) return nullptr;
      parts->exceptions_bytes = 4 * static_cast<std::size_t>(number);
    }
  }
  if (static_cast<std::size_t>(end - p) < parts->exceptions_bytes) return nullptr;
  parts->exceptions = p;
  return p + parts->exceptions_bytes;
}

std::uint8_t* begin_group(const Parts& parts, std::uint8_t* out) noexcept {
  std::uint8_t* p = out + 4;
  const bool has_base = parts.predictor >= Predictor::first;
  const bool is_short = has_base && !parts.wide && parts.base >= -(1 << 23) && parts.base < (1 << 23);
  std::uint32_t word = parts.verbatim ? kVerbatimWord : static_cast<std::uint32_t>(parts.predictor);
  if (parts.wide) word |= kWideBit;
  if (is_short) word |= kShortBaseBit | static_cast<std::uint32_t>(parts.base) << 8;
  const auto put_code = [&](std::int64_t v) {
    store(p, v);
    p += parts.wide ? 8 : 4;
  };
  if (has_base && !is_short) put_code(parts.base);
  if (parts.predictor == Predictor::second) put_code(parts.slope);
  if (parts.exceptions_bytes) {
    if (!parts.verbatim) word |= kExceptionsBit;
    std::memcpy(p, parts.exceptions, parts.exceptions_bytes);
    p += parts.exceptions_bytes;
  }
  store(out, word);
  return p;
}

std::size_t end_group(const Parts& parts, const std::uint8_t* widths, std::uint8_t* out, std::uint8_t* p) noexcept {
  const auto word = load<std::uint32_t>(out);
  if (parts.widths.widest == 0) {
    if (word == static_cast<std::uint32_t>(Predictor::none_unsigned)) return 0;
    return static_cast<std::size_t>(p - out) / 4;
  }
  Form form{};
  p += write_widths(widths, p, &form);
  store(out, word | static_cast<std::uint32_t>(form) << 4);
  return static_cast<std::size_t>(p - out) / 4;
}

}  // namespace stretto::codec::dense
