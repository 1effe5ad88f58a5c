// C is i32, or i64 if codes may be wide; `wide`: modulo 2^64 instead of 2^32.
#pragma once

#include "codec/cuda/groups/group_reader.hpp"

namespace stretto::codec::cuda {

template <class C>
struct Unsigned {
  using type = u32;
};
template <>
struct Unsigned<i64> {
  using type = u64;
};

template <class C>
STRETTO_DEVICE C wrapped(typename Unsigned<C>::type v, bool wide) {
  return sizeof(C) == 8 && !wide ? static_cast<C>(static_cast<i32>(v)) : static_cast<C>(v);
}

template <class T>
struct alignas(16) Quad {
  T v[4];
};
// An assignment need not become 16-byte stores.
STRETTO_DEVICE void store_quad(i32* p, const Quad<i32>& q) {
#if defined(__CUDACC__)
  *reinterpret_cast<int4*>(p) = make_int4(q.v[0], q.v[1], q.v[2], q.v[3]);
#else
  *reinterpret_cast<Quad<i32>*>(p) = q;
#endif
}
STRETTO_DEVICE void store_quad(i64* p, const Quad<i64>& q) {
#if defined(__CUDACC__)
  reinterpret_cast<longlong2*>(p)[0] = make_longlong2(q.v[0], q.v[1]);
  reinterpret_cast<longlong2*>(p)[1] = make_longlong2(q.v[2], q.v[3]);
#else
  *reinterpret_cast<Quad<i64>*>(p) = q;
#endif
}

STRETTO_DEVICE void store_quad_global(i32* p, const Quad<i32>& q) {
#if defined(__CUDACC__)
  __stwb(reinterpret_cast<int4*>(p), make_int4(q.v[0], q.v[1], q.v[2], q.v[3]));
#else
  store_quad(p, q);
#endif
}
STRETTO_DEVICE void store_quad_global(i64* p, const Quad<i64>& q) {
#if defined(__CUDACC__)
  __stwb(reinterpret_cast<longlong2*>(p), make_longlong2(q.v[0], q.v[1]));
  __stwb(reinterpret_cast<longlong2*>(p) + 1, make_longlong2(q.v[2], q.v[3]));
#else
  store_quad(p, q);
#endif
}

template <class W, class C>
STRETTO_DEVICE void fill_codes(typename W::template Lane<u32> lanes, int m, C* q) {
  const auto kept = W::map([=](int b, u32 l) { return ~l & lanes_below(b, m); }, W::lane(), lanes);
  const u32 some = W::ballot(W::map([](u32 k) { return k != 0; }, kept));
  W::sync();
  C last = 0;
  if (some) {
    const int b = trailing_zeros(some);
    last = q[32 * b + trailing_zeros(W::broadcast(kept, b))];
  }
  W::sync();
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b) {
    const u32 good = W::broadcast(kept, b);
    const auto own = W::map([=](int j) { return q[32 * b + j]; }, W::lane());
    const auto source = W::map([=](int j) { return bit_width(good & (~0u >> (31 - j))) - 1; }, W::lane());
    const auto before = W::shuffle(own, W::map([](int s) { return s < 0 ? 0 : s; }, source));
    const C carried = last;
    W::each(
        [=](int j, int s, C v) {
          if (!(good >> j & 1)) q[32 * b + j] = s < 0 ? carried : v;
        },
        W::lane(), source, before);
    if (good) last = W::broadcast(own, bit_width(good) - 1);
  }
  W::sync();
}

template <class W, class C>
STRETTO_DEVICE int choose_order(const C* q, int m, bool wide) {
  using U = typename Unsigned<C>::type;
  int cost[3] = {}, unsigned_cost = 0;
  bool negative = false;
  const auto sample = [&](typename W::template Lane<int> start, int halves, int n) {
    const auto value = [&](int order) {
      return W::map(
          [=](int j, int from) {
            const int k = j & 15, i = from + k,
                      first = from ? 0 : 1;  // places before the group's start count as q_0
            if (k >= n || j >= 16 * halves) return C{0};
            const U a = static_cast<U>(q[i]);
            if (order == 0) return wrapped<C>(a, wide);
            const U b = static_cast<U>(q[first && i < 1 ? 0 : i - 1]);
            if (order == 1) return wrapped<C>(a - b, wide);
            const U c = static_cast<U>(q[first && i < 2 ? 0 : i - 2]);
            return wrapped<C>(a - 2 * b + c, wide);
          },
          W::lane(), start);
    };
    STRETTO_UNROLL
    for (int order = 0; order < 3; ++order) {
      const auto v = value(order);
      if (order == 0) negative = negative || W::any(W::map([](C x) { return x < 0; }, v));
      const auto bits = W::map([](C x) { return static_cast<U>(x ^ (x >> (8 * sizeof(C) - 1))); }, v);
      STRETTO_UNROLL
      for (int h = 0; h < 2; ++h) {
        const int width =
            bit_width(W::reduce_or(W::map([=](int j, U x) { return j >> 4 == h ? x : U{0}; }, W::lane(), bits)));
        cost[order] += width ? width + 1 : 0;
        if (order == 0) unsigned_cost += width;
      }
    }
  };
  if (m < 128) {
    sample(W::splat(0), 1, m < 16 ? m : 16);
  } else {
    STRETTO_ROLLED
    for (int run = 0; run < 6; run += 2) {
      const int start = 112 + 160 * run;
      if (start + 16 > m) break;
      sample(W::map([=](int j) { return start + 160 * (j >> 4); }, W::lane()), start + 176 > m ? 1 : 2, 16);
    }
  }
  if (!negative) cost[0] = unsigned_cost;
  const int order = cost[1] < cost[0] ? 1 : 0;
  return cost[2] < (order ? cost[1] : cost[0]) ? 2 : order;
}

template <class C>
STRETTO_DEVICE void fresh_base(const C* q, int m, Predictor p, bool wide, i64* base, i64* slope) {
  using U = typename Unsigned<C>::type;
  *base = *slope = 0;
  if (p < Predictor::first) return;
  *base = q[0];
  if (p == Predictor::second) {
    *slope = m > 1 ? wrapped<C>(static_cast<U>(q[1]) - static_cast<U>(q[0]), wide) : 0;
    *base = wrapped<C>(static_cast<U>(q[0]) - static_cast<U>(*slope), wide);
  }
}

template <class W, class C>
STRETTO_DEVICE u32 width_of(typename W::template Lane<C> e, bool is_unsigned) {
  using U = typename Unsigned<C>::type;
  const U bits = W::reduce_or(
      W::map([](C v) { return static_cast<U>(v ^ (v >> (8 * sizeof(C) - 1))) << 1 | static_cast<U>(v != 0); }, e));
  const u32 width = static_cast<u32>(bit_width(bits));
  return is_unsigned && width ? width - 1 : width;
}

// In place. A lane takes four neighbours of each 128 places: a block is eight lanes.
template <class W, class C>
STRETTO_DEVICE auto to_residuals(C* q, int m, Predictor p, bool wide, i64 base, i64 slope) {
  using U = typename Unsigned<C>::type;
  const bool is_unsigned = p == Predictor::none_unsigned;
  auto widths = W::splat(u32{0});
  const auto previous = W::map([](int j) { return (j + 31) & 31; }, W::lane());
  auto carried = W::splat(static_cast<U>(base)),
       carried_before = W::splat(static_cast<U>(base) - static_cast<U>(slope));
  STRETTO_ROLLED
  for (int from = 0; from < kGroup; from += 128) {
    auto v = W::map([=](int j) { return *reinterpret_cast<const Quad<C>*>(q + from + 4 * j); }, W::lane());
    if (p >= Predictor::first) {
      const auto last = W::shuffle(W::map([](const Quad<C>& x) { return static_cast<U>(x.v[3]); }, v), previous);
      const auto before = W::shuffle(W::map([](const Quad<C>& x) { return static_cast<U>(x.v[2]); }, v), previous);
      const bool second = p == Predictor::second;
      v = W::map(
          [=](int j, const Quad<C>& x, U its, U its_before, U carry, U carry_before) {
            U one = j ? its : carry, two = j ? its_before : carry_before;
            Quad<C> e;
            STRETTO_UNROLL
            for (int k = 0; k < 4; ++k) {
              const U own = static_cast<U>(x.v[k]);
              e.v[k] = wrapped<C>(own - one - (second ? one - two : U{0}), wide);
              two = one;
              one = own;
            }
            return e;
          },
          W::lane(), v, last, before, carried, carried_before);
      carried = last;
      carried_before = before;
    }
    if (m < kGroup)
      v = W::map(
          [=](int j, Quad<C> e) {
            STRETTO_UNROLL
            for (int k = 0; k < 4; ++k) e.v[k] = from + 4 * j + k < m ? e.v[k] : C{0};
            return e;
          },
          W::lane(), v);
    W::each([=](int j, const Quad<C>& e) { store_quad(q + from + 4 * j, e); }, W::lane(), v);
    auto bits = W::map(
        [](const Quad<C>& e) {
          U size = 0, any = 0;
          STRETTO_UNROLL
          for (int k = 0; k < 4; ++k) {
            size |= static_cast<U>(e.v[k] ^ (e.v[k] >> (8 * sizeof(C) - 1)));
            any |= static_cast<U>(e.v[k]);
          }
          return size << 1 | static_cast<U>(any != 0);
        },
        v);
    STRETTO_UNROLL
    for (int step = 1; step < 8; step <<= 1)
      bits = W::map([](U own, U its) { return own | its; }, bits, W::shuffle_xor(bits, step));
    const auto of_block = W::shuffle(bits, W::map([](int j) { return (j & 3) * 8; }, W::lane()));
    widths = W::map(
        [=](int j, u32 w, U all) {
          const u32 width = static_cast<u32>(bit_width(all));
          return j >> 2 == from >> 7 ? (is_unsigned && width ? width - 1 : width) : w;
        },
        W::lane(), widths, of_block);
  }
  W::sync();
  return widths;
}

template <class W, class C>
struct CodeSum {
  using U = typename Unsigned<C>::type;
  Predictor predictor;
  bool wide;
  U code, difference;
  STRETTO_DEVICE CodeSum(Predictor p, bool w, i64 base, i64 slope)
      : predictor(p), wide(w), code(static_cast<U>(base)), difference(static_cast<U>(slope)) {}
  STRETTO_DEVICE auto next(typename W::template Lane<C> e) {
    auto v = W::map([](C x) { return static_cast<U>(x); }, e);
    if (predictor == Predictor::second) {
      const U d = difference;
      v = W::map([=](U x) { return x + d; }, W::scan_add(v));
      difference = W::broadcast(v, 31);
    }
    if (predictor >= Predictor::first) {
      const U c = code;
      v = W::map([=](U x) { return x + c; }, W::scan_add(v));
      code = W::broadcast(v, 31);
    }
    const bool w = wide;
    return W::map([=](U x) { return wrapped<C>(x, w); }, v);
  }
};

template <class W>
struct Raise {
  int times;
  u32 last[2];
  STRETTO_DEVICE Raise(Predictor from, Predictor to) : times(0), last{0, 0} {
    const auto order = [](Predictor p) { return p == Predictor::second ? 2 : p == Predictor::first ? 1 : 0; };
    times = order(to) - order(from);
  }
  STRETTO_DEVICE auto next(typename W::template Lane<u32> v) {
    STRETTO_UNROLL
    for (int k = 0; k < 2; ++k) {
      if (k >= times) break;
      const u32 carried = last[k];
      last[k] = W::broadcast(v, 31);
      const auto before = W::shuffle(v, W::map([](int j) { return j ? j - 1 : 0; }, W::lane()));
      v = W::map([=](int j, u32 x, u32 y) { return x - (j ? y : carried); }, W::lane(), v, before);
    }
    return v;
  }
};

}  // namespace stretto::codec::cuda
