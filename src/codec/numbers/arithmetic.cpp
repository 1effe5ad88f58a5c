#include "codec/numbers/arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "codec/stream/exceptions.hpp"
#include "codec/stream/group_places.hpp"

namespace stretto::codec {
namespace {

Predictor joined(Predictor a, Predictor b, bool sign_turns) noexcept {
  const Predictor p = std::max(a, b);
  return sign_turns ? std::max(p, Predictor::none_signed) : p;
}

template <class T>
struct SumSource {
  const GroupView &a, &b;
  const std::int64_t *qa, *qb;
  bool negate_b;
  double width;
  ExceptionReader<T> ra, rb;
  static std::size_t write(void* self, int i, std::uint8_t* out, std::size_t room) noexcept {
    auto& s = *static_cast<SumSource*>(self);
    ExactSum<T> sum;
    if (s.a.exception(i)) {
      s.ra.add_to(sum, false);
      s.ra.next();
    } else {
      sum.add_code(s.qa[i], s.width);
    }
    if (s.b.exception(i)) {
      s.rb.add_to(sum, s.negate_b);
      s.rb.next();
    } else {
      sum.add_code(s.qb[i], s.width);
    }
    std::uint8_t bytes[ExactSum<T>::kMaxBytes];
    return put_bytes(bytes, sum.write(bytes), out, room);
  }
};

template <class T>
std::size_t add_as(const GroupView& a, const GroupView& b, bool negate_b, const ResultSpec& spec, std::uint8_t* out,
                   std::size_t room, Tally* tally) noexcept {
  Codes qa, qb, q = {};
  read_codes(a, qa);
  read_codes(b, qb);
  GroupSpec s{};
  s.m = a.m;
  s.wide = spec.wide || a.wide || b.wide;
  s.sums = true;
  s.predictor = joined(a.predictor, b.predictor, negate_b);
  const auto reduce = [&s](std::uint64_t v) {
    return s.wide ? static_cast<std::int64_t>(v) : std::int64_t{static_cast<std::int32_t>(v)};
  };
  const auto sum = [&](std::int64_t x, std::int64_t y) {
    const auto u = static_cast<std::uint64_t>(x), v = static_cast<std::uint64_t>(y);
    return reduce(negate_b ? u - v : u + v);
  };
  Lanes lanes;
  bool same = true;
  for (int i = 0; i < kBlocks; ++i) {
    lanes[i] = a.lanes[i] | b.lanes[i];
    same = same && a.lanes[i] == b.lanes[i];
  }
  for (int i = 0; i < s.m; ++i) q[i] = sum(qa[i], qb[i]);
  if (!same || s.wide) fill_codes(lanes, s.m, q);
  if (s.wide) {
    fresh_base(q, s.m, s.predictor, true, &s.base, &s.slope);
  } else {
    s.base = sum(a.base, b.base);
    s.slope = sum(a.slope, b.slope);
  }
  if (negate_b)
    for (int i = 0; i < s.m; ++i) qb[i] = reduce(0 - static_cast<std::uint64_t>(qb[i]));
  count(q, s.m, lanes, tally);
  if (!a.exceptions && !b.exceptions) return write_group(s, q, lanes, {}, out, room);
  SumSource<T> source{a, b, qa, qb, negate_b, spec.width, ExceptionReader<T>(a), ExceptionReader<T>(b)};
  return write_group(s, q, lanes, {&SumSource<T>::write, &source, same && a.uniform && b.uniform}, out, room);
}

// In stored form; a code if neither operand is an exception.
template <class T>
struct Selection {
  const GroupView& g;
  Codes q;
  ExceptionReader<T> reader;
  explicit Selection(const GroupView& view) noexcept : g(view), reader(view) { read_codes(view, q); }
};

template <class T>
struct KeptExceptions {
  const std::uint8_t* at[kGroup];
  std::uint16_t bytes[kGroup];
  bool is_sum[kGroup];
  int n = 0, next = 0;
  bool sums = false;
  static std::size_t write(void* self, int, std::uint8_t* out, std::size_t room) noexcept {
    auto& k = *static_cast<KeptExceptions*>(self);
    const int i = k.next++;
    if (k.is_sum[i] || !k.sums) return put_bytes(k.at[i], k.bytes[i], out, room);
    ExactSum<T> sum;
    sum.add(load<T>(k.at[i]));
    std::uint8_t bytes[ExactSum<T>::kMaxBytes];
    return put_bytes(bytes, sum.write(bytes), out, room);
  }
};

template <class T>
bool sum_precedes(const ExceptionReader<T>& a, const ExceptionReader<T>& b, bool maximum) noexcept {
  if (a.size() == b.size() && std::memcmp(a.bytes(), b.bytes(), a.size()) == 0) return true;
  ExactSum<T> sum_a, sum_b, difference;
  a.add_to(sum_a, false);
  b.add_to(sum_b, false);
  a.add_to(difference, false);
  b.add_to(difference, true);
  if (difference.sign() != 0) return (difference.sign() > 0) == maximum;
  return sum_a.flags() <= sum_b.flags();
}

template <class T>
std::size_t select_as(const GroupView& a, const GroupView& b, bool maximum, const ResultSpec& spec, std::uint8_t* out,
                      std::size_t room, Tally* tally) noexcept {
  Selection<T> sa(a), sb(b);
  Codes q = {};
  Lanes lanes = {};
  KeptExceptions<T> kept;
  kept.sums = a.sums || b.sums;
  const auto keep = [&](const Selection<T>& s, int i) {
    lanes[i / kBlock] |= 1u << (i % kBlock);
    kept.at[kept.n] = s.reader.bytes();
    kept.bytes[kept.n] = static_cast<std::uint16_t>(s.reader.size());
    kept.is_sum[kept.n++] = s.g.sums;
  };
  const auto exception = [&](const Selection<T>& s) {
    const T v = s.reader.value();
    if (!kept.sums || s.g.sums) return v;
    return std::isnan(v) ? std::numeric_limits<T>::quiet_NaN() : v + T{0};
  };
  for (int i = 0; i < a.m; ++i) {
    const bool ea = a.exception(i), eb = b.exception(i);
    if (!ea && !eb) {
      q[i] = maximum ? std::max(sa.q[i], sb.q[i]) : std::min(sa.q[i], sb.q[i]);
      continue;
    }
    const T va = ea ? exception(sa) : code_value<T>(sa.q[i], spec.width);
    const T vb = eb ? exception(sb) : code_value<T>(sb.q[i], spec.width);
    using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    bool first = false;
    if (ea && eb && kept.sums && std::bit_cast<U>(va) == std::bit_cast<U>(vb)) {
      first = sum_precedes(sa.reader, sb.reader, maximum);
    } else if (std::isnan(va) && std::isnan(vb)) {
      first = std::bit_cast<U>(va) <= std::bit_cast<U>(vb);
    } else if (std::isnan(va) || std::isnan(vb)) {
      first = std::isnan(va);
    } else if (va == vb) {
      first = !ea || (eb && std::signbit(va) == !maximum);
    } else {
      first = maximum ? va > vb : va < vb;
    }
    if (first ? ea : eb)
      keep(first ? sa : sb, i);
    else
      q[i] = first ? sa.q[i] : sb.q[i];
    if (ea) sa.reader.next();
    if (eb) sb.reader.next();
  }
  fill_codes(lanes, a.m, q);
  GroupSpec s{};
  s.m = a.m;
  s.wide = a.wide || b.wide;
  s.sums = kept.sums;
  s.predictor = joined(a.predictor, b.predictor, false);
  fresh_base(q, s.m, s.predictor, s.wide, &s.base, &s.slope);
  count(q, s.m, lanes, tally);
  return write_group(s, q, lanes, {&KeptExceptions<T>::write, &kept, false}, out, room);
}

template <class T>
struct ScaledSource {
  ExceptionReader<T> reader;
  std::int32_t k;
  static std::size_t write(void* self, int, std::uint8_t* out, std::size_t room) noexcept {
    auto& s = *static_cast<ScaledSource*>(self);
    ExactSum<T> sum;
    s.reader.add_to(sum, false);
    sum.multiply(s.k);
    s.reader.next();
    std::uint8_t bytes[ExactSum<T>::kMaxBytes];
    return put_bytes(bytes, sum.write(bytes), out, room);
  }
};

template <class T>
std::size_t scale_as(const GroupView& a, std::int32_t k, const ResultSpec& spec, std::uint8_t* out, std::size_t room,
                     Tally* tally) noexcept {
  Codes q;
  read_codes(a, q);
  GroupSpec s{};
  s.m = a.m;
  s.wide = spec.wide || a.wide;
  s.sums = true;
  s.predictor = joined(a.predictor, a.predictor, k < 0);
  const auto times = [&](std::int64_t v) {
    const std::uint64_t u = static_cast<std::uint64_t>(v) * static_cast<std::uint64_t>(std::int64_t{k});
    return s.wide ? static_cast<std::int64_t>(u) : std::int64_t{static_cast<std::int32_t>(u)};
  };
  for (int i = 0; i < a.m; ++i) q[i] = times(q[i]);
  if (s.wide) {
    fresh_base(q, s.m, s.predictor, true, &s.base, &s.slope);
  } else {
    s.base = times(a.base);
    s.slope = times(a.slope);
  }
  count(q, s.m, a.lanes, tally);
  if (!a.exceptions) return write_group(s, q, a.lanes, {}, out, room);
  ScaledSource<T> source{ExceptionReader<T>(a), k};
  return write_group(s, q, a.lanes, {&ScaledSource<T>::write, &source, a.uniform}, out, room);
}

template <class T>
std::size_t splice_as(const GroupView* from, int sources, const int* first, const int* length, const ResultSpec&,
                      std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  Codes q = {}, source_codes;
  Lanes lanes = {};
  KeptExceptions<T> kept;
  GroupSpec s{};
  for (int k = 0; k < sources; ++k) kept.sums = kept.sums || from[k].sums;
  s.sums = kept.sums;
  for (int k = 0; k < sources; ++k) {
    read_codes(from[k], source_codes);
    s.wide = s.wide || from[k].wide;
    s.predictor = std::max(s.predictor, from[k].predictor);
    ExceptionReader<T> reader(from[k]);
    for (int i = 0; i < first[k] + length[k]; ++i) {
      const bool exception = from[k].exception(i);
      if (i >= first[k]) {
        const int to = s.m++;
        q[to] = source_codes[i];
        if (exception) {
          lanes[to / kBlock] |= 1u << (to % kBlock);
          kept.at[kept.n] = reader.bytes();
          kept.bytes[kept.n] = static_cast<std::uint16_t>(reader.size());
          kept.is_sum[kept.n++] = from[k].sums;
        }
      }
      if (exception) reader.next();
    }
  }
  fill_codes(lanes, s.m, q);
  if (s.predictor == Predictor::none_unsigned && s.m > 0 && *std::min_element(q, q + s.m) < 0)
    s.predictor = Predictor::none_signed;
  fresh_base(q, s.m, s.predictor, s.wide, &s.base, &s.slope);
  count(q, s.m, lanes, tally);
  return write_group(s, q, lanes, {&KeptExceptions<T>::write, &kept, false}, out, room);
}

}  // namespace

std::size_t add_groups(const GroupView& a, const GroupView& b, bool negate_b, const ResultSpec& spec, std::uint8_t* out,
                       std::size_t room, Tally* tally) noexcept {
  return value_bytes(spec.type) == 8 ? add_as<double>(a, b, negate_b, spec, out, room, tally)
                                     : add_as<float>(a, b, negate_b, spec, out, room, tally);
}

std::size_t select_groups(const GroupView& a, const GroupView& b, bool maximum, const ResultSpec& spec,
                          std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return value_bytes(spec.type) == 8 ? select_as<double>(a, b, maximum, spec, out, room, tally)
                                     : select_as<float>(a, b, maximum, spec, out, room, tally);
}

std::size_t scale_group(const GroupView& a, std::int32_t k, const ResultSpec& spec, std::uint8_t* out, std::size_t room,
                        Tally* tally) noexcept {
  return value_bytes(spec.type) == 8 ? scale_as<double>(a, k, spec, out, room, tally)
                                     : scale_as<float>(a, k, spec, out, room, tally);
}

std::size_t splice_groups(const GroupView* from, int sources, const int* first, const int* length,
                          const ResultSpec& spec, std::uint8_t* out, std::size_t room, Tally* tally) noexcept {
  return value_bytes(spec.type) == 8 ? splice_as<double>(from, sources, first, length, spec, out, room, tally)
                                     : splice_as<float>(from, sources, first, length, spec, out, room, tally);
}

}  // namespace stretto::codec
