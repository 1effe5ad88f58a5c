// min and max of two streams: each place keeps the winning operand in stored form (docs/format.md, section 5). In
// device memory, wide[0] (later the result's) and wide[1] hold codes, wide[2] (later the kept ones) and wide[3] the
// bits of exceptions.
#pragma once

#include "codec/cuda/sum.hpp"

namespace stretto::codec::cuda {

template <class T>
STRETTO_DEVICE bool first_wins(Bits<T> a, bool a_exception, Bits<T> b, bool b_exception, bool maximum) {
  const T va = number_of<T>(a), vb = number_of<T>(b);
  const bool nan_a = va != va, nan_b = vb != vb;
  if (nan_a && nan_b) return a <= b;
  if (nan_a || nan_b) return nan_a;
  if (va == vb) return !a_exception || (b_exception && (a >> (8 * sizeof(T) - 1) != 0) == !maximum);
  return maximum ? va > vb : va < vb;
}

template <class T>
STRETTO_DEVICE Bits<T> as_sum(Bits<T> bits) {
  const T v = number_of<T>(bits);
  if (v != v) return QuietNan<T>::kBits;
  return v == 0 ? Bits<T>{0} : bits;
}

template <class W, class T>
struct Select {
  using C = Code<T>;
  static constexpr bool kMayWiden = false;
  struct State {
    Plan<W> plan;
    typename W::template Lane<u32> from_a;
  };
  StreamRef a, b;
  u64 count;
  bool maximum;

  STRETTO_DEVICE Outcome open() {
    const Outcome o = read_pair(a, b, &ha_, &hb_);
    if (o == Outcome::ok && (ha_.count != count || (ha_.type == Type::f64) != (sizeof(T) == 8)))
      return Outcome::incompatible;
    return o;
  }
  STRETTO_DEVICE Outcome plan(u64 g, const Memory<C>& memory, State* s) const {
    const int m = group_size(layout_of(count), g);
    Group<W> ga, gb;
    Plan<W>& p = s->plan;
    start_plan(m, &p);
    W::sync();
    if (!read_group<W, T>(a, ha_, g, m, memory, 0, &ga) || !read_group<W, T>(b, hb_, g, m, memory, 1, &gb))
      return Outcome::corrupt_stream;
    read_codes<W>(ga, memory.wide[0]);
    read_codes<W>(gb, memory.wide[1]);
    const bool sums = ga.sums || gb.sums;
    read_values(ga, sums, memory.wide[2]);
    read_values(gb, sums, memory.wide[3]);
    W::sync();
    s->from_a = W::splat(u32{0});
    const bool is_maximum = maximum;
    const double width = ha_.width;
    STRETTO_ROLLED
    for (int b_ = 0; b_ < kBlocks; ++b_) {
      const u32 la = W::broadcast(ga.lanes, b_), lb = W::broadcast(gb.lanes, b_);
      i64 *qa = memory.wide[0] + 32 * b_, *va = memory.wide[2] + 32 * b_;
      const i64 *qb = memory.wide[1] + 32 * b_, *vb = memory.wide[3] + 32 * b_;
      const auto first = W::map(
          [=](int j) {
            const bool ea = la >> j & 1, eb = lb >> j & 1;
            if (32 * b_ + j >= m) return true;
            if (!ea && !eb) return is_maximum ? qa[j] >= qb[j] : qa[j] <= qb[j];
            const Bits<T> x = ea ? static_cast<Bits<T>>(va[j]) : bits_of(static_cast<T>(code_value(qa[j], width)));
            const Bits<T> y = eb ? static_cast<Bits<T>>(vb[j]) : bits_of(static_cast<T>(code_value(qb[j], width)));
            return first_wins<T>(x, ea, y, eb, is_maximum);
          },
          W::lane());
      u32 of_a = W::ballot(first);
      if (sums) {
        u32 alike = la & lb & W::ballot(W::map([=](int j) { return va[j] == vb[j]; }, W::lane()));
        for (; alike; alike &= alike - 1) {
          const int j = trailing_zeros(alike);
          of_a = (of_a & ~(1u << j)) | u32{sum_precedes(ga, gb, 32 * b_ + j)} << j;
        }
      }
      W::each(
          [=](int j) {
            if (of_a >> j & 1) return;
            qa[j] = qb[j];
            va[j] = vb[j];
          },
          W::lane());
      const u32 kept = (of_a & la) | (~of_a & lb);
      p.lanes = W::map([=](int j, u32 l) { return j == b_ ? kept : l; }, W::lane(), p.lanes);
      s->from_a = W::map([=](int j, u32 l) { return j == b_ ? of_a & la : l; }, W::lane(), s->from_a);
    }
    W::sync();
    fill_codes<W, i64>(p.lanes, m, memory.wide[0]);
    p.sums = sums;
    p.wide = ga.wide || gb.wide;
    p.predictor = joined(ga.predictor, gb.predictor, false);
    fresh_base<i64>(memory.wide[0], m, p.predictor, p.wide, &p.base, &p.slope);
    W::sync();
    p.width = to_residuals<W, i64>(memory.wide[0], m, p.predictor, p.wide, p.base, p.slope);
    finish_plan<W>(KeptExceptions{*this, g, memory, s->from_a, ga, gb}, &p);
    return Outcome::ok;
  }
  STRETTO_DEVICE void write(u64 g, const Memory<C>& memory, const State& s, u32* out) const {
    Group<W> ga, gb;
    empty_group(s.plan.m, &ga);
    empty_group(s.plan.m, &gb);
    if (s.plan.count && s.plan.sums) {
      read_group<W, T>(a, ha_, g, s.plan.m, memory, 0, &ga);
      read_group<W, T>(b, hb_, g, s.plan.m, memory, 1, &gb);
    }
    emit<W, i64>(s.plan, memory.wide[0], KeptExceptions{*this, g, memory, s.from_a, ga, gb}, memory.scratch, out);
  }
  STRETTO_DEVICE Outcome finish(u64, Header* h) const {
    *h = ha_;
    h->eps = hb_.eps > ha_.eps ? hb_.eps : ha_.eps;
    h->bound = larger(ha_.bound, hb_.bound);
    h->contributions = hb_.contributions > ha_.contributions ? hb_.contributions : ha_.contributions;
    return Outcome::ok;
  }
  static STRETTO_DEVICE u32 words(const State& s) { return s.plan.words; }
  static STRETTO_DEVICE u64 bound(const State&) { return 0; }
  static STRETTO_DEVICE u64 exceptions(const State& s) { return s.plan.count; }

 private:
  STRETTO_DEVICE bool sum_precedes(const Group<W>& ga, const Group<W>& gb, int place) const {
    Accumulator<W, T> sum_b, difference;
    const u32 rank_a = rank(ga, place), rank_b = rank(gb, place);
    operand_of<W, T>(gb, false).add_exception(place, rank_b, &sum_b);
    operand_of<W, T>(ga, false).add_exception(place, rank_a, &difference);
    const u32 flags_a = difference.flags();
    operand_of<W, T>(gb, true).add_exception(place, rank_b, &difference);
    const int sign = difference.sign();
    return sign != 0 ? (sign > 0) == maximum : flags_a <= sum_b.flags();
  }
  static STRETTO_DEVICE u32 rank(const Group<W>& group, int place) {
    return W::reduce_add(W::map([=](int b, u32 l) { return static_cast<u32>(popcount(l & lanes_below(b, place))); },
                                W::lane(), group.lanes));
  }
  static STRETTO_DEVICE void read_values(const Group<W>& g, bool sums, i64* v) {
    if (!g.exceptions) return;
    const Operand<W, T> o = operand_of<W, T>(g, false);
    if (g.sums) {
      u32 rank = 0;
      each_exception<W>(g.lanes, [&](int place) {
        Accumulator<W, T> sum;
        o.add_exception(place, rank++, &sum);
        const Bits<T> bits = bits_of(sum.value());
        W::each(
            [=](int j) {
              if (j == 0) v[place] = static_cast<i64>(bits);
            },
            W::lane());
      });
      return;
    }
    u32 before = 0;
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b) {
      const u32 lanes = W::broadcast(g.lanes, b), rank = before;
      W::each(
          [&](int j) {
            if (!(lanes >> j & 1)) return;
            Bits<T> bits = QuietNan<T>::kBits;
            if (!o.quiet) load_bits(o.stored(rank + static_cast<u32>(popcount(lanes & ((1u << j) - 1)))), &bits);
            if (sums) bits = as_sum<T>(bits);
            v[32 * b + j] = static_cast<i64>(bits);
          },
          W::lane());
      before += static_cast<u32>(popcount(lanes));
    }
  }

  struct KeptExceptions {
    const Select& op;
    u64 g;
    const Memory<C>& memory;
    typename W::template Lane<u32> from_a;
    const Group<W>&ga, &gb;

    template <class F>
    STRETTO_DEVICE void each_sum(typename W::template Lane<u32> lanes, F f) const {
      const Operand<W, T> oa = operand_of<W, T>(ga, false), ob = operand_of<W, T>(gb, false);
      each_exception<W>(lanes, [&](int place) {
        const bool of_a = W::broadcast(from_a, place / 32) >> (place % 32) & 1;
        Accumulator<W, T> sum;
        if (of_a)
          oa.add_exception(place, rank(ga, place), &sum);
        else
          ob.add_exception(place, rank(gb, place), &sum);
        f(sum);
      });
    }
    STRETTO_DEVICE auto plain() const {
      const i64* kept = memory.wide[2];
      return numbers<W, T>([=](int place) { return static_cast<Bits<T>>(kept[place]); });
    }
    STRETTO_DEVICE void measure(Plan<W>* p) const {
      if (!p->sums) {
        plain().measure(p);
        return;
      }
      Accumulator<W, T> first;
      u32 n = 0, words = 0, first_words = 0;
      bool same = true;
      each_sum(p->lanes, [&](const Accumulator<W, T>& sum) {
        const u32 own = sum.words();
        if (n++ == 0) {
          first = sum;
          first_words = own;
        }
        same = same && sum.equals(first);
        words += own;
      });
      p->uniform = same;
      p->value_words = same ? first_words : words;
    }
    STRETTO_DEVICE void write(const Plan<W>& p, u32* out) const {
      if (!p.sums) {
        plain().write(p, out);
        return;
      }
      const bool once = p.uniform;
      bool more = true;
      each_sum(p.lanes, [&](const Accumulator<W, T>& sum) {
        if (!more) return;
        sum.write(out);
        out += sum.words();
        more = !once;
      });
    }
  };

  Header ha_, hb_;
};

}  // namespace stretto::codec::cuda
