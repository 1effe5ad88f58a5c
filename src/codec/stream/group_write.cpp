#include <algorithm>
#include <bit>
#include <cstring>

#include "codec/numbers/exact.hpp"
#include "codec/stream/exception_map.hpp"
#include "codec/stream/group.hpp"
#include "codec/stream/group_places.hpp"

namespace stretto::codec {
namespace {

template <class U>
void residuals(const GroupSpec& s, const Codes q, Codes e) noexcept {
  using S = std::make_signed_t<U>;
  U before = static_cast<U>(s.base), difference = static_cast<U>(s.slope);
  for (int i = 0; i < kGroup; ++i) {
    const U code = i < s.m ? static_cast<U>(q[i]) : 0;
    U r = 0;
    switch (s.predictor) {
      case Predictor::none_unsigned:
      case Predictor::none_signed: r = code; break;
      case Predictor::first: r = code - before; break;
      case Predictor::second:
        r = code - before - difference;
        difference = code - before;
        break;
    }
    before = code;
    e[i] = i < s.m ? static_cast<S>(r) : 0;
  }
}

int block_width(const std::int64_t* e, bool is_unsigned) noexcept {
  std::uint64_t bits = 0;
  bool zero = true;
  for (int j = 0; j < kBlock; ++j) {
    bits |= static_cast<std::uint64_t>(e[j] ^ (e[j] >> 63));
    zero = zero && e[j] == 0;
  }
  if (zero) return 0;
  return std::bit_width(bits) + (is_unsigned ? 0 : 1);
}

bool fits_24_bits(std::int64_t v) noexcept { return v >= -(1 << 23) && v < (1 << 23); }

struct Writer {
  std::uint8_t* p;
  std::uint8_t* end;
  bool ok = true;
  template <class T>
  void put(T v) noexcept {
    if (static_cast<std::size_t>(end - p) < sizeof v) {
      ok = false;
      return;
    }
    store(p, v);
    p += sizeof v;
  }
};

void write_exceptions(const GroupSpec& spec, const Lanes lanes, const ExceptionSource& source, Writer& w) noexcept {
  std::uint8_t* kind = w.p;
  const std::size_t map = write_exception_map(lanes, spec.m, w.p, static_cast<std::size_t>(w.end - w.p));
  if (map == 0) {
    w.ok = false;
    return;
  }
  w.p += map;
  if (spec.sums) *kind |= kSumsBit;
  // Buffers a value until it differs from the first: equal values need no room.
  std::uint8_t first[ExactSum<double>::kMaxBytes], value[ExactSum<double>::kMaxBytes];
  std::size_t first_bytes = 0;
  int alike = 0;
  bool uniform = true;
  const auto put = [&w](const std::uint8_t* p, std::size_t n) {
    if (static_cast<std::size_t>(w.end - w.p) < n) return w.ok = false;
    std::memcpy(w.p, p, n);
    w.p += n;
    return true;
  };
  for (int b = 0; b < kBlocks; ++b) {
    for (std::uint32_t left = lanes[b]; left; left &= left - 1) {
      if (source.uniform && first_bytes != 0) break;
      const std::size_t n = source.write(source.self, kBlock * b + std::countr_zero(left), value, sizeof value);
      if (first_bytes == 0) {
        std::memcpy(first, value, n);
        first_bytes = n;
      }
      if (uniform && n == first_bytes && std::memcmp(first, value, n) == 0) {
        ++alike;
        continue;
      }
      if (uniform) {
        uniform = false;
        for (int k = 0; k < alike; ++k)
          if (!put(first, first_bytes)) return;
      }
      if (!put(value, n)) return;
    }
  }
  if (!uniform) return;
  *kind |= kUniformBit;
  if (!spec.sums && std::memcmp(first, quiet_nan_bytes(first_bytes), first_bytes) == 0)
    *kind |= kQuietNanBit;
  else
    put(first, first_bytes);
}

}  // namespace

std::size_t write_widths(const std::uint8_t* width, std::uint8_t* out, Form* form) noexcept {
  std::uint64_t eight[4], any = 0;
  std::uint32_t mask = 0;
  for (int i = 0; i < 4; ++i) {  // bit b of the mask: width b, at most 127, is above 0
    eight[i] = load<std::uint64_t>(width + 8 * i);
    any |= eight[i];
    const std::uint64_t above = (eight[i] + 0x7f7f7f7f7f7f7f7f) & 0x8080808080808080;
    mask |= static_cast<std::uint32_t>((above >> 7) * 0x0102040810204080 >> 56) << (8 * i);
  }
  *form = Form::zero;
  if (mask == 0) return 0;
  const auto n = static_cast<std::size_t>(std::popcount(mask));
  const bool nibbles = !(any & 0xf0f0f0f0f0f0f0f0);
  const std::size_t plain = nibbles ? 16 : 32;
  const std::size_t packed = ((nibbles ? (n + 1) / 2 : n) + 3) / 4 * 4;
  const bool masked = packed + 4 < plain;
  if (masked) {
    std::uint8_t together[kBlocks] = {};
    int k = 0;
    for (std::uint32_t m = mask; m; m &= m - 1) together[k++] = width[std::countr_zero(m)];
    for (int i = 0; i < 4; ++i) eight[i] = load<std::uint64_t>(together + 8 * i);
  }
  for (int i = 0; i < 4; ++i) {
    std::uint64_t v = eight[i];
    if (nibbles) {
      v = (v | v >> 4) & 0x00ff00ff00ff00ff;
      v = (v | v >> 8) & 0x0000ffff0000ffff;
      store(out + 4 * i, static_cast<std::uint32_t>(v | v >> 16));
    } else {
      store(out + 8 * i, v);
    }
  }
  if (!masked) {
    *form = nibbles ? Form::nibbles : Form::bytes;
    return plain;
  }
  store(out + packed, mask);
  *form = nibbles ? Form::masked_nibbles : Form::masked_bytes;
  return packed + 4;
}

void fill_codes(const Lanes lanes, int m, Codes q) noexcept {
  std::int64_t last = 0;
  for (int i = 0; i < m; ++i) {
    if (!(lanes[i / kBlock] >> (i % kBlock) & 1)) {
      last = q[i];
      break;
    }
  }
  for (int i = 0; i < m; ++i) {
    if (lanes[i / kBlock] >> (i % kBlock) & 1)
      q[i] = last;
    else
      last = q[i];
  }
}

int choose_order(const Codes q, int m, bool wide, Coding coding) noexcept {
  int cost[3] = {}, unsigned_cost = 0;
  bool negative = false;
  const auto reduce = [wide](std::int64_t v) { return wide ? v : std::int64_t{static_cast<std::int32_t>(v)}; };
  const auto sample = [&](int start, int n) {
    std::uint64_t bits[3] = {};
    std::uint64_t q1 = static_cast<std::uint64_t>(start ? q[start - 1] : q[0]);
    std::uint64_t q2 = static_cast<std::uint64_t>(start ? q[start - 2] : q[0]);
    for (int i = start; i < start + n; ++i) {
      const auto q0 = static_cast<std::uint64_t>(q[i]);
      const std::int64_t v[3] = {reduce(static_cast<std::int64_t>(q0)), reduce(static_cast<std::int64_t>(q0 - q1)),
                                 reduce(static_cast<std::int64_t>(q0 - 2 * q1 + q2))};
      for (int k = 0; k < 3; ++k)
        bits[k] |= coding == Coding::dense ? magnitude(v[k]) : static_cast<std::uint64_t>(v[k] ^ (v[k] >> 63));
      negative = negative || v[0] < 0;
      q2 = q1;
      q1 = q0;
    }
    for (int k = 0; k < 3; ++k) cost[k] += bits[k] ? std::bit_width(bits[k]) + 1 : 0;
    unsigned_cost += std::bit_width(bits[0]);
  };
  const auto run = [&](int start, int n) {
    if (coding != Coding::dense) return sample(start, n);
    for (int i = 0; i < n; i += 2) sample(start + i, 2);
  };
  const SampledRuns runs = sampled_runs(coding);
  if (runs.first + runs.length > m) sample(0, std::min(m, 16));
  for (int start = runs.first; start + runs.length <= m; start += runs.step) run(start, runs.length);
  if (!negative) cost[0] = unsigned_cost;
  int order = cost[1] < cost[0] ? 1 : 0;
  if (cost[2] < cost[order]) order = 2;
  return order;
}

Predictor choose_predictor(const Codes q, int m, bool wide, Coding coding) noexcept {
  switch (choose_order(q, m, wide, coding)) {
    case 1: return Predictor::first;
    case 2: return Predictor::second;
    default: break;
  }
  for (int i = 0; i < m; ++i)
    if (q[i] < 0) return Predictor::none_signed;
  return Predictor::none_unsigned;
}

void fresh_base(const Codes q, int m, Predictor p, bool wide, std::int64_t* base, std::int64_t* slope) noexcept {
  *base = *slope = 0;
  if (p < Predictor::first) return;
  const auto wrap = [wide](std::uint64_t v) {
    return wide ? static_cast<std::int64_t>(v) : std::int64_t{static_cast<std::int32_t>(v)};
  };
  *base = q[0];
  if (p == Predictor::second) {
    *slope = m > 1 ? wrap(static_cast<std::uint64_t>(q[1]) - static_cast<std::uint64_t>(q[0])) : 0;
    *base = wrap(static_cast<std::uint64_t>(q[0]) - static_cast<std::uint64_t>(*slope));
  }
}

std::size_t write_group(const GroupSpec& spec, const Codes q, const Lanes lanes, const ExceptionSource& source,
                        std::uint8_t* out, std::size_t room) noexcept {
  Codes e;
  if (spec.wide)
    residuals<std::uint64_t>(spec, q, e);
  else
    residuals<std::uint32_t>(spec, q, e);
  std::uint8_t width[kBlocks];
  bool zero = true, exceptions = false;
  for (int b = 0; b < kBlocks; ++b) {
    width[b] = static_cast<std::uint8_t>(block_width(e + kBlock * b, spec.predictor == Predictor::none_unsigned));
    zero = zero && width[b] == 0;
    exceptions = exceptions || lanes[b] != 0;
  }
  if (zero && !exceptions && !spec.wide && spec.predictor == Predictor::none_unsigned) return 0;

  if (room > 4 * kMaxGroupWords) room = 4 * kMaxGroupWords;
  Writer w{out, out + room};
  std::uint32_t word =
      static_cast<std::uint32_t>(spec.predictor) | (spec.wide ? kWideBit : 0) | (exceptions ? kExceptionsBit : 0);
  const bool has_base = spec.predictor >= Predictor::first;
  const bool is_short = has_base && !spec.wide && fits_24_bits(spec.base);
  if (is_short) word |= kShortBaseBit | static_cast<std::uint32_t>(spec.base) << 8;
  w.put(word);
  const auto put_code = [&](std::int64_t v) {
    if (spec.wide)
      w.put(v);
    else
      w.put(static_cast<std::int32_t>(v));
  };
  if (has_base && !is_short) put_code(spec.base);
  if (spec.predictor == Predictor::second) put_code(spec.slope);
  if (exceptions) write_exceptions(spec, lanes, source, w);
  for (int b = 0; b < kBlocks && w.ok; ++b) {
    for (int i = 0; i < width[b]; ++i) {
      std::uint32_t plane = 0;
      for (int j = 0; j < kBlock; ++j) plane |= static_cast<std::uint32_t>(e[kBlock * b + j] >> i & 1) << j;
      w.put(plane);
    }
  }
  if (!w.ok) return kNoRoom;
  std::uint8_t widths[kMostWidthBytes];
  Form form{};
  const std::size_t bytes = write_widths(width, widths, &form);
  if (static_cast<std::size_t>(w.end - w.p) < bytes) return kNoRoom;
  std::memcpy(w.p, widths, bytes);
  w.p += bytes;
  store(out, word | static_cast<std::uint32_t>(form) << 4);
  return static_cast<std::size_t>(w.p - out) / 4;
}

}  // namespace stretto::codec
