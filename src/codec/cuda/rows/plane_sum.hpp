// Fast path for sums of narrow groups in their bit planes, a block per lane. Exceptions must have equal places, and one
// value in each operand. Functions return false for all other groups, also malformed ones, which sum.hpp takes. Until
// its place is known, the sum lies in the warp's memory in its final form.
#pragma once

#include "codec/cuda/rows/wide_rows.hpp"
#include "codec/cuda/sum.hpp"

namespace stretto::codec::cuda {

struct GroupPlace {
  const u32* p;
  u32 words;
  bool good;
};
template <class W>
STRETTO_DEVICE void find_groups(const StreamRef& s, const Header& h, u64 first, int n, GroupPlace* at) {
  const Index x = index_of(s, h);
  const Chunk<W> r = chunk_of<W>(x, first / kChunk, load_index<W>(x, first));
  const auto both = W::map([](u32 v) { return sum_of_pair(v); }, r.pair);
  const auto end = W::scan_add(both);
  const bool good = chunk_holds(x, first / kChunk, r, W::broadcast(end, 31));
  const int from = static_cast<int>(first % kChunk);
  const u32* base = reinterpret_cast<const u32*>(s.base + r.start);
  W::each(
      [=](int j, u32 v, u32 own, u32 behind) {
        const int i = 2 * j - from;
        const u32* p = base + (behind - own);
        if (i >= 0 && i < n) at[i] = {p, v & 0xffff, good};
        if (i + 1 >= 0 && i + 1 < n) at[i + 1] = {p + (v & 0xffff), v >> 16, good};
      },
      W::lane(), r.pair, both, end);
  if (!good) return;
  const u32 begin = W::broadcast(W::map([](u32 e, u32 own) { return e - own; }, end, both), from / 2);
  const u32 last = W::broadcast(end, (from + n - 1) / 2);
  STRETTO_ROLLED
  for (u32 word = begin; word < last; word += 32 * 32)
    W::each(
        [=](int j) {
          const u32 i = word + 32 * static_cast<u32>(j);
          if (i < last) W::prefetch(base + i);
        },
        W::lane());
}

// Everything but planes: head[j] is word j, tail[j] the j-th from the end.
template <class W>
struct Ends {
  const u32* p;
  u32 words;
  bool good;
  typename W::template Lane<u32> head, tail;
};
template <class W>
STRETTO_DEVICE Ends<W> load_ends(const u32* at, u32 words, bool good) {
  Ends<W> e;
  e.p = at;
  e.words = words;
  e.good = good;
  const u32* p = e.p;
  const u32 n = e.good ? e.words : 0;
  e.head = W::map([=](int j) { return static_cast<u32>(j) < n ? p[j] : 0u; }, W::lane());
  e.tail = W::map([=](int j) { return static_cast<u32>(j) < n ? p[n - 1 - static_cast<u32>(j)] : 0u; }, W::lane());
  return e;
}
template <class W>
STRETTO_DEVICE Ends<W> load_ends(const GroupPlace& place) {
  return load_ends<W>(in_device(place.p), place.words, place.good);
}

struct Uniform {
  const u32* sum;  // an exact sum; null: a number
  u64 bits;
};

template <class W>
struct PlaneGroup {
  Predictor predictor;
  i64 base, slope;
  u32 most;
  bool exceptions;
  Uniform value;
  typename W::template Lane<u32> lanes, width;
  typename W::template Lane<const u32*> planes;
  u32 memory;
  const u32* map;  // of exceptions, in a stream; or null
  u32 map_at, map_words;
};

// The map at word `at` equals the other group's, but for the kind of values. Both lie in the first 32 words.
template <class W>
STRETTO_DEVICE bool same_map(const Ends<W>& e, u32 at, const Ends<W>& other, const PlaneGroup<W>& its) {
  const u32 first = its.map_at, n = its.map_words;
  if (first + n > 32 || at + n > 32 || e.words < at + n) return false;
  const auto own = W::shuffle(
      e.head, W::map([=](int j) { return static_cast<int>((static_cast<u32>(j) + at - first) & 31); }, W::lane()));
  return !W::any(W::map(
      [=](int j, u32 x, u32 y) {
        const u32 i = static_cast<u32>(j) - first, kept = i == 0 ? ~0xffu | kRunsBit : ~0u;
        return i < n && ((x ^ y) & kept) != 0;
      },
      W::lane(), own, other.head));
}

// Reuses an equal map of `other`.
template <class W, class T>
STRETTO_DEVICE bool parse_ends(const Ends<W>& e, int m, u32* scratch, PlaneGroup<W>* g, const Ends<W>* other = nullptr,
                               const PlaneGroup<W>* its = nullptr) {
  if (!e.good) return false;
  g->predictor = Predictor::none_unsigned;
  g->base = g->slope = 0;
  g->most = 0;
  g->exceptions = false;
  g->map = nullptr;
  g->map_at = g->map_words = 0;
  g->value = {nullptr, 0};
  g->lanes = g->width = W::splat(u32{0});
  const u32* p = e.p;
  g->planes = W::splat(p);
  if (e.words == 0) return true;
  const u32 word = W::broadcast(e.head, 0), form_of = word >> 4 & 7;
  if ((word & kWideBit) || form_of > static_cast<u32>(Form::masked_bytes)) return false;
  const Form form = static_cast<Form>(form_of);
  g->predictor = static_cast<Predictor>(word & 3);
  const bool has_base = g->predictor >= Predictor::first;
  u32 at = 1;
  if (word & kShortBaseBit) {
    if (!has_base) return false;
    g->base = static_cast<i32>(word) >> 8;
  } else {
    if (word >> 8) return false;
    if (has_base) g->base = static_cast<i32>(W::broadcast(e.head, static_cast<int>(at++)));
  }
  if (g->predictor == Predictor::second) g->slope = static_cast<i32>(W::broadcast(e.head, static_cast<int>(at++)));
  if (e.words < at) return false;
  if (word & kExceptionsBit) {
    u32 kind = 0, taken = 0;
    if (its && its->exceptions && same_map<W>(e, at, *other, *its)) {
      kind = W::broadcast(e.head, static_cast<int>(at)) & 0xff;
      if (!known_kind(kind)) return false;
      taken = its->map_words;
      g->lanes = its->lanes;
    } else if (!parse_map<W>(p + at, e.words - at, m, scratch, &kind, &taken, &g->lanes)) {
      return false;
    }
    if (!(kind & kUniformBit)) return false;
    g->map = p + at;
    g->map_at = at;
    g->map_words = taken;
    at += taken;
    g->exceptions = true;
    const bool sums = kind & kSumsBit, quiet = kind & kQuietNanBit;
    const u32 size = quiet ? 0 : sums ? exact_sum_words<T>(p + at, e.words - at) : sizeof(T) / 4;
    if ((sums && size == 0) || e.words - at < size) return false;
    Bits<T> bits = QuietNan<T>::kBits;
    if (!quiet && !sums) load_bits(p + at, &bits);
    g->value = {sums ? p + at : nullptr, bits};
    at += size;
  }
  if (form == Form::zero) return at == e.words;
  const bool nibbles = form == Form::nibbles || form == Form::masked_nibbles;
  const bool masked = form == Form::masked_nibbles || form == Form::masked_bytes;
  const u32 mask = masked ? W::broadcast(e.tail, 0) : ~0u, n = static_cast<u32>(popcount(mask));
  const u32 words = words_for(nibbles ? (n + 1) / 2 : n), behind = words + masked;
  if (mask == 0 || e.words - at < behind) return false;
  const auto k = W::map([=](int b) { return popcount(mask & ((1u << b) - 1)); }, W::lane());
  const auto packed =
      W::shuffle(e.tail, W::map([=](int i) { return static_cast<int>(behind) - 1 - (nibbles ? i >> 3 : i >> 2); }, k));
  g->width = W::map(
      [=](int b, int i, u32 v) {
        const u32 w = nibbles ? v >> (i % 8 * 4) & 15 : v >> (i % 4 * 8) & 255;
        return mask >> b & 1 ? w : 0u;
      },
      W::lane(), k, packed);
  g->most = W::reduce_max(g->width);
  const auto end = W::scan_add(g->width);
  const u32* planes = p + at;
  g->planes = W::map([=](u32 last, u32 w) { return planes + (last - w); }, end, g->width);
  return W::broadcast(end, 31) == e.words - at - behind;
}

STRETTO_DEVICE int order_of(Predictor p) { return p == Predictor::second ? 2 : p == Predictor::first ? 1 : 0; }

STRETTO_DEVICE u32 planes_raised(u32 most, Predictor own, Predictor p) {
  return most + (own == Predictor::none_unsigned) + static_cast<u32>(order_of(p) - order_of(own));
}

constexpr u32 kKeptWords = 1024;
constexpr int kFewPlanes = 10, kManyPlanes = 18;
static_assert(3 + 65 + 32 + 32 * kManyPlanes + 9 <= kStagedWords);

template <class W>
struct Planes {
  typename W::template Lane<u32> x[kManyPlanes];
};

// `memory`: 32 words for each of `most` planes.
template <class W>
STRETTO_DEVICE void raise_planes(PlaneGroup<W>* g, Predictor p, u32 most, u32* memory) {
  for (int times = order_of(p) - order_of(g->predictor); times > 0; --times) {
    const bool is_signed = g->predictor != Predictor::none_unsigned;
    auto borrow = W::splat(u32{0}), sign = W::splat(u32{0});
    STRETTO_ROLLED
    for (u32 i = 0; i < most; ++i) {
      const auto x = W::map([=](const u32* at, u32 w, u32 last) { return i < w       ? at[i]
                                                                         : is_signed ? last
                                                                                     : 0u; },
                            g->planes, g->width, sign);
      sign = x;
      const auto last = W::shuffle(x, W::map([](int b) { return b ? b - 1 : 0; }, W::lane()));
      const auto before =
          W::map([](int b, u32 v, u32 its) { return v << 1 | (b ? its >> 31 : 0u); }, W::lane(), x, last);
      const auto d = W::map([](u32 v, u32 y, u32 c) { return v ^ y ^ c; }, x, before, borrow);
      borrow = W::map([](u32 v, u32 y, u32 c) { return (~v & (y | c)) | (y & c); }, x, before, borrow);
      W::each([=](int b, u32 v) { memory[static_cast<u32>(b) * most + i] = v; }, W::lane(), d);
    }
    g->planes = W::map([=](int b) -> const u32* { return memory + static_cast<u32>(b) * most; }, W::lane());
    g->width = W::splat(most);
    g->predictor = Predictor::first;
    W::sync();
  }
  g->predictor = p;
}

struct SumFound {
  const u32* at;
  u32 words;
  template <class P>
  STRETTO_DEVICE void measure(P* p) const {
    p->uniform = true;
    p->quiet = false;
    p->value_words = words;
  }
};
template <class W>
struct SumAt : SumFound {
  const u32* map;
  u32 map_words;
  STRETTO_DEVICE void write_places(const Plan<W>& p, u32 kind, u32* out) const {
    const u32* from = map;
    const u32 n = p.map.words;
    const u32 head = from ? from[0] : 0, expected = p.map.runs ? kRunsBit | p.map.run_bytes << 8 : 0;
    if (!from || n != map_words || (head & (kRunsBit | 0xff00)) != expected) {
      write_map<W>(p.map, kind, p.lanes, p.m, out);
      return;
    }
    const u32 first = (head & ~0xffu) | kind | (head & kRunsBit);
    STRETTO_ROLLED
    for (u32 at = 0; at < n; at += 32)
      W::each(
          [=](int j) {
            const u32 i = at + static_cast<u32>(j);
            if (i < n) out[i] = i ? from[i] : first;
          },
          W::lane());
  }
  STRETTO_DEVICE void write(const Plan<W>&, u32* out) const {
    const u32* from = this->at;
    const u32 n = this->words;
    W::each(
        [=](int j) {
          if (static_cast<u32>(j) < n) out[j] = from[j];
        },
        W::lane());
  }
};

// Writes at most 32 words; 0 if the sum has more.
template <class W, class T>
STRETTO_APART u32 add_uniform(Uniform a, Uniform b, bool negate, u32* out) {
  Accumulator<W, T> sum;
  STRETTO_ROLLED
  for (int k = 0; k < 2; ++k) {
    const Uniform& u = k ? b : a;
    if (u.sum)
      sum.add_sum(u.sum, k && negate);
    else
      sum.add(static_cast<Bits<T>>(u.bits), k && negate);
  }
  const u32 words = sum.words();
  if (words > 32) return 0;
  W::sync();
  sum.write(out);
  W::sync();
  return words;
}

// Adds or subtracts N planes for places below m; sets the plan's widths. The groups have the plan's predictor, or an
// unsigned for a signed one.
template <class W, int N>
STRETTO_DEVICE void add_planes(const PlaneGroup<W>& a, const PlaneGroup<W>& b, bool negate, Planes<W>* sum,
                               Plan<W>* p) {
  const int m = p->m;
  const u32 turned = negate ? ~0u : 0u;
  const bool is_unsigned = p->predictor == Predictor::none_unsigned;
  const u32 kept_a = a.predictor == Predictor::none_unsigned ? 0 : ~0u,
            kept_b = b.predictor == Predictor::none_unsigned ? 0 : ~0u;
  const auto kept = W::map([=](int j) { return lanes_below(j, m); }, W::lane());
  auto carry = W::splat(turned), width = W::splat(u32{0}), previous = W::splat(u32{0});
  auto x = W::splat(u32{0}), y = W::splat(u32{0});
  STRETTO_UNROLL
  for (u32 i = 0; i < N; ++i) {
    x = W::map([=](const u32* at, u32 w, u32 last) { return i < w ? at[i] : last & kept_a; }, a.planes, a.width, x);
    y = W::map([=](const u32* at, u32 w, u32 last) { return i < w ? at[i] : last & kept_b; }, b.planes, b.width, y);
    const auto s = W::map([=](u32 u, u32 v, u32 c, u32 k) { return (u ^ v ^ turned ^ c) & k; }, x, y, carry, kept);
    carry = W::map([=](u32 u, u32 v, u32 c) { return (u & (v ^ turned)) | (c & (u | (v ^ turned))); }, x, y, carry);
    width = W::map([=](u32 w, u32 v, u32 before) { return v != before ? i + 1 : w; }, width, s, previous);
    if (!is_unsigned) previous = s;
    sum->x[i] = s;
  }
  p->width = width;
}

// Writes a planned sum (predictor, base, slope, lanes, widths) to the words before `image`; sets words and count.
// `scratch`, 32 words, begins with the sum of exceptions.
template <class W>
STRETTO_DEVICE void put_together(const Planes<W>& planes, u32 value_words, const PlaneGroup<W>& operand, Plan<W>* plan,
                                 u32* scratch, u32* image) {
  Plan<W>& p = *plan;
  const SumAt<W> source{{scratch, value_words}, operand.map, operand.map_words};
  finish_plan<W>(source, &p);
  if (p.words == 0) return;
  u32* out = emit_head<W>(p, source, image - p.words);
  if (p.most == 0) return;
  const auto end = W::scan_add(p.width);
  const auto at = W::map([=](u32 e, u32 w) { return out + (e - w); }, end, p.width);
  const auto put = [&](u32 i) {
    W::each(
        [=](u32* to, u32 w, u32 v) {
          if (i < w) to[i] = v;
        },
        at, p.width, planes.x[i]);
  };
  STRETTO_UNROLL
  for (u32 i = 0; i < kFewPlanes; ++i) put(i);
  if (p.most > kFewPlanes) {
    STRETTO_UNROLL
    for (u32 i = kFewPlanes; i < kManyPlanes; ++i) put(i);
  }
  W::sync();
  write_widths<W>(p, scratch, out + p.planes);
}

// Writes to the words before `end`. `scratch`: 32 words. An operand may lie from `memory` on.
template <class W, class T>
STRETTO_DEVICE bool add_groups(PlaneGroup<W>& a, PlaneGroup<W>& b, bool negate, int m, u32* scratch, u32* memory,
                               u32* end, Staged* s) {
  if (differ<W>(a.lanes, b.lanes)) return false;
  Plan<W> p;
  start_plan(m, &p);
  p.predictor = joined(a.predictor, b.predictor, negate);
  const u32 most_a = planes_raised(a.most, a.predictor, p.predictor),
            most_b = planes_raised(b.most, b.predictor, p.predictor), most = 1 + (most_a > most_b ? most_a : most_b);
  if (most > kManyPlanes) return false;
  const bool raise_a = order_of(a.predictor) < order_of(p.predictor),
             raise_b = order_of(b.predictor) < order_of(p.predictor);
  if (raise_a) {
    if (a.memory < most_a * kBlock) return false;
    raise_planes(&a, p.predictor, most_a, memory);
  } else if (raise_b) {
    if (b.memory < most_b * kBlock) return false;
    raise_planes(&b, p.predictor, most_b, memory);
  }
  p.sums = true;
  p.base = narrow_sum(a.base, b.base, negate);
  p.slope = narrow_sum(a.slope, b.slope, negate);
  p.lanes = a.lanes;
  const u32 value_words = a.exceptions ? add_uniform<W, T>(a.value, b.value, negate, scratch) : 0;
  if (a.exceptions && value_words == 0) return false;
  Planes<W> sum;
  if (most <= kFewPlanes)
    add_planes<W, kFewPlanes>(a, b, negate, &sum, &p);
  else
    add_planes<W, kManyPlanes>(a, b, negate, &sum, &p);
  W::sync();
  put_together<W>(sum, value_words, a, &p, scratch, end);
  *s = {p.words, p.count, 0};
  return true;
}

// The planes end `memory`.
template <class W>
STRETTO_DEVICE bool planes_of_plan(const Plan<W>& p, u32 value, const u32* memory, PlaneGroup<W>* g) {
  if (p.most >= kManyPlanes) return false;
  g->predictor = p.predictor;
  g->base = p.base;
  g->slope = p.slope;
  g->most = p.most;
  g->lanes = p.lanes;
  g->exceptions = W::any(W::map([](u32 l) { return l != 0; }, p.lanes));
  g->value = {nullptr, value};
  g->map = nullptr;
  g->map_at = g->map_words = 0;
  g->width = p.width;
  const u32* planes = memory + kStagedWords - p.width_words - p.planes;
  g->planes = W::map([=](u32 last, u32 w) { return planes + (last - w); }, W::scan_add(p.width), p.width);
  g->memory = static_cast<u32>(kStagedWords) - p.width_words - p.planes;
  W::sync();
  return true;
}
// compress_rows() for planes only.
template <class W>
STRETTO_DEVICE bool planes_of_values(const Grid<float>& grid, u32* memory, PlaneGroup<W>* g, u64* bound) {
  Plan<W> p;
  start_plan(kGroup, &p);
  W::sync();
  const float r = grid.r;
  const i32 safe = static_cast<i32>(grid.safe), zero = static_cast<i32>(kCodeZero);
  const auto quick = [=](u32 bits) { return bits_of(fused(float_of(bits), r, 0x1.8p23f)); };
  auto rows = read_rows<W>(memory, quick);
  Extremes e = extremes<W>(rows, 0);
  ExceptionValues values{0, false};
  const bool careful = e.high > zero + safe || e.low < zero - safe;
  if (careful) {
    W::sync();
    const auto coded = code_carefully<W>(kGroup, grid, memory, &rows, &p.lanes);
    if (W::any(W::map([](u32 l) { return l != 0; }, p.lanes)))
      values = fill_rows<W>(kGroup, memory, p.lanes, coded, quick, &rows);
    W::sync();
    put_rows<W>(rows, memory);
    W::sync();
    e = extremes<W>(rows, kCodeZero);
  } else {
    e = {e.low - zero, e.high - zero};
  }
  const u32 below = 0 - static_cast<u32>(e.low), above = static_cast<u32>(e.high);
  const bool close = above + below < kPairLimit / 2;
  if (!close || !write_pairs<W, false>(rows, e, memory, nullptr, &p)) {
    rows = careful ? read_rows<W>(memory, [](u32 code) { return code; }) : read_rows<W>(memory, quick);
    write_rows<W, false>(rows, e.low < 0, memory, nullptr, &p);
  }
  if (values.differ) return false;
  *bound = e.high < 0 || (e.low < 0 && below > above) ? below : above;
  return planes_of_plan(p, values.value, memory, g);
}
template <class W>
STRETTO_DEVICE bool planes_of_codes(u32* memory, PlaneGroup<W>* g, u64* bound) {
  Plan<W> p;
  if (!write_wide_rows<W>(memory, &p)) return false;
  *bound = p.bound;
  return planes_of_plan(p, 0, memory, g);
}

// Codes as floats, in place of compress_rows' values. False if one exceeds `safe`.
template <class W>
STRETTO_DEVICE bool put_codes(const i32* q, i32 safe, u32* memory) {
  const auto most = W::map(
      [=](int j) {
        Quad<i32> in[8];
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) in[k] = *reinterpret_cast<const Quad<i32>*>(q + 4 * j + 128 * k);
        u32 size = 0;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) {
            const i32 code = in[k].v[c];
            const u32 own = code < 0 ? 0 - static_cast<u32>(code) : static_cast<u32>(code);
            size = own > size ? own : size;
            in[k].v[c] = static_cast<i32>(bits_of(static_cast<float>(code)));
          }
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(4 * k + (j >> 3), j & 7), in[k]);
        }
        return size;
      },
      W::lane());
  const bool good = safe >= 0 && W::reduce_max(most) <= static_cast<u32>(safe);
  W::sync();
  return good;
}

template <class W>
STRETTO_DEVICE void copy_image(const u32* image, u32 words, u32* out) {
  STRETTO_ROLLED
  for (u32 first = 0; first < words; first += 128)
    W::each(
        [=](int j) {
          STRETTO_UNROLL
          for (u32 k = 0; k < 128; k += 32) {
            const u32 i = first + k + static_cast<u32>(j);
            if (i < words) out[i] = image[i];
          }
        },
        W::lane());
}

}  // namespace stretto::codec::cuda
