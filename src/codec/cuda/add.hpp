#pragma once

#include "codec/cuda/rows/plane_sum.hpp"

namespace stretto::codec::cuda {

template <class W, class T>
struct AddStreams {
  using C = Code<T>;
  using State = SumState<W>;
  static constexpr bool kMayWiden = false;
  StreamRef a, b;
  u64 count;
  bool negate;
  bool wide;

  STRETTO_DEVICE Outcome open() {
    Outcome o = read_pair(a, b, &ha_, &hb_);
    if (o == Outcome::ok && (ha_.count != count || (ha_.type == Type::f64) != (sizeof(T) == 8)))
      o = Outcome::incompatible;
    if (o == Outcome::ok) o = sum_header(ha_, hb_.bound, hb_.contributions, hb_.eps, &sum_);
    wide = sum_.bound > kNarrowLimit;
    return o;
  }
  STRETTO_DEVICE Outcome plan(u64 g, const Memory<C>& memory, State* s) const {
    const int m = group_size(layout_of(count), g);
    Group<W> ga, gb;
    start_plan(m, &s->plan);
    W::sync();
    if (!read_group<W, T>(a, ha_, g, m, memory, 0, &ga) || !read_group<W, T>(b, hb_, g, m, memory, 1, &gb))
      return Outcome::corrupt_stream;
    Plan<W>& p = s->plan;
    p.sums = true;
    p.wide = wide || ga.wide || gb.wide;
    p.predictor = joined(ga.predictor, gb.predictor, negate);
    p.lanes = W::map([](u32 x, u32 y) { return x | y; }, ga.lanes, gb.lanes);
    const bool same = !differ<W>(ga.lanes, gb.lanes);
    s->by_codes = p.wide || !same;
    if (!p.wide) {
      p.base = narrow_sum(ga.base, gb.base, negate);
      p.slope = narrow_sum(ga.slope, gb.slope, negate);
    }
    if (s->by_codes) {
      read_codes<W>(ga, memory.wide[0]);
      read_codes<W>(gb, memory.wide[1]);
      W::sync();
      plan_codes<W>(memory, negate, same, &p);
    } else {
      add_residuals<W, C>(ga, p.predictor, false, true, memory.codes);
      add_residuals<W, C>(gb, p.predictor, negate, false, memory.codes);
      p.width = widths_of<W, C>(memory.codes, p.predictor == Predictor::none_unsigned);
    }
    W::sync();
    const auto oa = operand<0>(ga, memory), ob = operand<1>(gb, memory);
    finish_plan<W>(Sums<W, T>{oa, ob, sum_.width, same && ga.uniform && gb.uniform}, &p);
    return Outcome::ok;
  }
  STRETTO_DEVICE void write(u64 g, const Memory<C>& memory, const State& s, u32* out) const {
    const SumExceptions source{*this, g, memory, s};
    if (s.by_codes)
      emit<W, i64>(s.plan, memory.wide[2], source, memory.scratch, out);
    else
      emit<W, C>(s.plan, memory.codes, source, memory.scratch, out);
  }
  STRETTO_DEVICE void find(u64 first, int n, GroupPlace* at_a, GroupPlace* at_b) const {
    find_groups<W>(a, ha_, first, n, at_a);
    find_groups<W>(b, hb_, first, n, at_b);
  }
  // Fast path: writes the sum to the end of `memory`. False if it does not apply.
  STRETTO_DEVICE bool stage(u64 g, const GroupPlace& at_a, const GroupPlace& at_b, u32* memory, u32* scratch,
                            Staged* s) const {
    if (wide) return false;
    const auto ends_a = load_ends<W>(at_a), ends_b = load_ends<W>(at_b);
    const int m = group_size(layout_of(count), g);
    PlaneGroup<W> ga, gb;
    if (!parse_ends<W, T>(ends_a, m, scratch, &ga) || !parse_ends<W, T>(ends_b, m, scratch, &gb, &ends_a, &ga))
      return false;
    ga.memory = gb.memory = kStagedWords;
    return add_groups<W, T>(ga, gb, negate, m, scratch, memory, memory + kStagedWords, s);
  }
  // Finds the length, and keeps sums of up to kKeptWords.
  STRETTO_APART Outcome measure_apart(u64 g, const Memory<C>& memory, u32* kept, Staged* s) const {
    State state;
    const Outcome o = plan(g, memory, &state);
    *s = {state.plan.words, state.plan.count, 0};
    if (o == Outcome::ok && state.plan.words <= kKeptWords) write(g, memory, state, kept);
    return o;
  }
  STRETTO_APART void write_apart(u64 g, const Memory<C>& memory, u32* out) const {
    State state;
    if (plan(g, memory, &state) == Outcome::ok) write(g, memory, state, out);
  }
  STRETTO_DEVICE Outcome finish(u64, Header* h) const {
    *h = sum_;
    return Outcome::ok;
  }
  static STRETTO_DEVICE u32 words(const State& s) { return s.plan.words; }
  static STRETTO_DEVICE u64 bound(const State&) { return 0; }
  static STRETTO_DEVICE u64 exceptions(const State& s) { return s.plan.count; }

 private:
  template <int side>
  STRETTO_DEVICE Operand<W, T> operand(const Group<W>& g, const Memory<C>& memory) const {
    Operand<W, T> o = operand_of<W, T>(g, side == 1 && negate);
    o.codes = memory.wide[side];
    return o;
  }
  // Exceptions are rare: parsing the groups again saves registers.
  struct SumExceptions {
    const AddStreams& op;
    u64 g;
    const Memory<C>& memory;
    const State& s;
    STRETTO_DEVICE void write(const Plan<W>& p, u32* out) const {
      Group<W> ga, gb;
      read_group<W, T>(op.a, op.ha_, g, p.m, memory, 0, &ga);
      read_group<W, T>(op.b, op.hb_, g, p.m, memory, 1, &gb);
      const auto oa = op.template operand<0>(ga, memory), ob = op.template operand<1>(gb, memory);
      Sums<W, T>{oa, ob, op.sum_.width, false}.write(p, out);
    }
  };

  Header ha_, hb_, sum_;
};

}  // namespace stretto::codec::cuda
