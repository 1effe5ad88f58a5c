// Narrow groups with equal places of exceptions add residuals without decoding. All others take 64-bit codes in device
// memory.
#pragma once

#include "codec/cuda/compress.hpp"

namespace stretto::codec::cuda {

STRETTO_DEVICE Predictor joined(Predictor a, Predictor b, bool sign_turns) {
  const Predictor p = a > b ? a : b;
  return sign_turns && p == Predictor::none_unsigned ? Predictor::none_signed : p;
}

STRETTO_DEVICE Outcome sum_header(const Header& a, u64 bound, u32 contributions, double eps, Header* h) {
  *h = a;
  if (a.bound > kCodeLimit || bound > kCodeLimit - a.bound) return Outcome::overflow;
  if (contributions > ~0u - a.contributions) return Outcome::overflow;
  h->bound = a.bound + bound;
  h->contributions = a.contributions + contributions;
  h->eps = eps > a.eps ? eps : a.eps;
  return Outcome::ok;
}

STRETTO_DEVICE Outcome read_pair(const StreamRef& a, const StreamRef& b, Header* ha, Header* hb) {
  Outcome o = read_header(a, ha);
  if (o == Outcome::ok) o = read_header(b, hb);
  if (o != Outcome::ok) return o;
  return ha->type == hb->type && ha->count == hb->count && ha->width == hb->width ? Outcome::ok : Outcome::incompatible;
}

template <class W, class T, class C>
STRETTO_DEVICE bool read_group(const StreamRef& s, const Header& h, u64 g, int m, const Memory<C>& memory, int side,
                               Group<W>* group) {
  const u32* p = nullptr;
  u32 words = 0;
  empty_group(m, group);
  return locate<W>(s, h, g, &p, &words) && parse_group<W, T>(p, words, m, memory.scratch, memory.sum_at[side], group);
}

template <class W>
STRETTO_DEVICE bool differ(typename W::template Lane<u32> a, typename W::template Lane<u32> b) {
  return W::any(W::map([](u32 x, u32 y) { return x != y; }, a, b));
}

template <class W, class C>
STRETTO_DEVICE void add_residuals(const Group<W>& g, Predictor p, bool negate, bool first, C* e) {
  Raise<W> raise(g.predictor, p);
  const int m = g.m;
  each_narrow_block(g, [&](int b, typename W::template Lane<u32> v) {
    v = raise.next(v);
    W::each(
        [=](int j, u32 r) {
          const int i = 32 * b + j;
          const u32 before = first ? 0 : static_cast<u32>(e[i]);
          e[i] = i < m ? static_cast<C>(static_cast<i32>(negate ? before - r : before + r)) : C{0};
        },
        W::lane(), v);
  });
}

template <class W, class C>
STRETTO_DEVICE auto widths_of(const C* e, bool is_unsigned) {
  auto widths = W::splat(u32{0});
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b) {
    const u32 width = width_of<W, C>(W::map([=](int j) { return e[32 * b + j]; }, W::lane()), is_unsigned);
    widths = W::map([=](int j, u32 w) { return j == b ? width : w; }, W::lane(), widths);
  }
  return widths;
}

template <class W>
STRETTO_DEVICE void read_codes(const Group<W>& g, i64* q) {
  CodeSum<W, i64> sum(g.predictor, g.wide, g.base, g.slope);
  each_block(g, [&](int b, typename W::template Lane<i64> e) {
    W::each([=](int j, i64 v) { q[32 * b + j] = v; }, W::lane(), sum.next(e));
  });
}

template <class W, class C>
STRETTO_DEVICE void read_codes(const Plan<W>& p, const C* e, i64* q) {
  CodeSum<W, i64> sum(p.predictor, p.wide, p.base, p.slope);
  const bool none = p.form == Form::verbatim;
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b) {
    const auto v = sum.next(W::map([=](int j) { return none ? i64{0} : static_cast<i64>(e[32 * b + j]); }, W::lane()));
    W::each([=](int j, i64 x) { q[32 * b + j] = x; }, W::lane(), v);
  }
}

template <class W, class C>
STRETTO_DEVICE void raise_residuals(C* e, Predictor from, Predictor to, int m) {
  Raise<W> raise(from, to);
  if (raise.times == 0) return;
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b) {
    const auto v = raise.next(W::map([=](int j) { return static_cast<u32>(e[32 * b + j]); }, W::lane()));
    W::each([=](int j, u32 r) { e[32 * b + j] = 32 * b + j < m ? static_cast<C>(static_cast<i32>(r)) : C{0}; },
            W::lane(), v);
  }
}

// a's codes are in wide[0], b's in wide[1]; residuals go to wide[2]. Needs p->predictor, wide, lanes, and base and
// slope of a narrow sum. `same`: exceptions at equal places.
template <class W, class C>
STRETTO_DEVICE void plan_codes(const Memory<C>& memory, bool negate, bool same, Plan<W>* p) {
  i64 *qa = memory.wide[0], *qb = memory.wide[1], *q = memory.wide[2];
  const bool wide = p->wide;
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b)
    W::each(
        [=](int j) {
          const int i = 32 * b + j;
          const u64 v = negate ? 0 - static_cast<u64>(qb[i]) : static_cast<u64>(qb[i]);
          qb[i] = wrapped<i64>(v, wide);
          q[i] = wrapped<i64>(static_cast<u64>(qa[i]) + v, wide);
        },
        W::lane());
  W::sync();
  if (!same || wide) fill_codes<W, i64>(p->lanes, p->m, q);
  if (wide) fresh_base<i64>(q, p->m, p->predictor, true, &p->base, &p->slope);
  W::sync();
  p->width = to_residuals<W, i64>(q, p->m, p->predictor, wide, p->base, p->slope);
}

STRETTO_DEVICE i64 narrow_sum(i64 a, i64 b, bool negate) {
  const u64 u = static_cast<u64>(a), v = static_cast<u64>(b);
  return wrapped<i64>(negate ? u - v : u + v, false);
}

template <class W>
struct SumState {
  Plan<W> plan;
  bool by_codes;
  typename W::template Lane<u32> own;
};

}  // namespace stretto::codec::cuda
