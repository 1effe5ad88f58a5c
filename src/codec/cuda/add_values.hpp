#pragma once

#include "codec/cuda/rows/plane_sum.hpp"

namespace stretto::codec::cuda {

// One pass, with the bytes of compressing and adding.
template <class W, class T>
struct AddValues {
  using C = Code<T>;
  using State = SumState<W>;
  // The last block to end repeats all if the largest code, known at the end, is wide.
  static constexpr bool kMayWiden = true;
  StreamRef a;
  Values x;
  u64 count;
  const C* quantised;
  bool wide;

  STRETTO_DEVICE Outcome open() {
    Outcome o = read_header(a, &ha_);
    if (o == Outcome::ok && (ha_.count != count || ha_.type != x.type)) o = Outcome::incompatible;
    if (o != Outcome::ok) return o;
    if (ha_.contributions == ~0u) return Outcome::overflow;
    wide = ha_.bound > kNarrowLimit;
    make_grid(ha_.type, ha_.eps, ha_.width, &grid_);
    grid_of_codes_ = grid_;
    grid_of_codes_.r = 1;
    return o;
  }
  // True if all groups must be written again.
  STRETTO_DEVICE bool widen(u64 bound) {
    const bool again = !wide && ha_.bound + bound > kNarrowLimit;
    wide = wide || again;
    return again;
  }
  STRETTO_DEVICE Outcome plan(u64 g, const Memory<C>& memory, State* s) const {
    const int m = group_size(layout_of(count), g);
    const GroupValues<T> v{x, g * kGroup, m, quantised};
    Group<W> ga;
    Plan<W>& p = s->plan;
    plan_values<W, T>(v, grid_, memory.codes, &p);
    if (!read_group<W, T>(a, ha_, g, m, memory, 0, &ga)) return Outcome::corrupt_stream;
    const bool verbatim = p.form == Form::verbatim;
    if (verbatim) {
      p.predictor = Predictor::none_unsigned;
      p.wide = false;
      p.base = p.slope = 0;
      p.lanes = W::map([=](int b) { return lanes_below(b, m); }, W::lane());
    }
    const auto lanes = p.lanes;
    const bool uniform = p.uniform && !verbatim;
    const bool same = !differ<W>(ga.lanes, lanes), to_wide = wide || ga.wide || p.wide;
    s->by_codes = to_wide || !same;
    s->own = lanes;
    if (s->by_codes) {
      read_codes<W>(ga, memory.wide[0]);
      read_codes<W, C>(p, memory.codes, memory.wide[1]);
    } else if (verbatim) {
      W::each(
          [=](int j) {
            for (int b = 0; b < kBlocks; ++b) memory.codes[32 * b + j] = 0;
          },
          W::lane());
    }
    W::sync();
    const Predictor predictor = joined(ga.predictor, p.predictor, false);
    if (!to_wide) {
      p.base = narrow_sum(ga.base, p.base, false);
      p.slope = narrow_sum(ga.slope, p.slope, false);
    }
    if (!s->by_codes) {
      raise_residuals<W>(memory.codes, p.predictor, predictor, m);
      add_residuals<W, C>(ga, predictor, false, false, memory.codes);
      p.width = widths_of<W, C>(memory.codes, predictor == Predictor::none_unsigned);
    }
    p.predictor = predictor;
    p.wide = to_wide;
    p.sums = true;
    p.form = Form::zero;
    p.lanes = W::map([](u32 l, u32 r) { return l | r; }, ga.lanes, lanes);
    if (s->by_codes) plan_codes<W>(memory, false, same, &p);
    W::sync();
    const auto oa = stream_operand(ga, memory), ob = value_operand(lanes, g, memory);
    finish_plan<W>(Sums<W, T>{oa, ob, ha_.width, same && ga.uniform && uniform}, &p);
    return Outcome::ok;
  }
  STRETTO_DEVICE void write(u64 g, const Memory<C>& memory, const State& s, u32* out) const {
    const SumExceptions source{*this, g, memory, s};
    if (s.by_codes)
      emit<W, i64>(s.plan, memory.wide[2], source, memory.scratch, out);
    else
      emit<W, C>(s.plan, memory.codes, source, memory.scratch, out);
  }
  STRETTO_DEVICE void find(u64 first, int n, GroupPlace* at_a, GroupPlace*) const {
    find_groups<W>(a, ha_, first, n, at_a);
    announce(first, n);
  }
  STRETTO_DEVICE bool stage(u64 g, const GroupPlace& at_a, const GroupPlace&, u32* memory, u32* scratch,
                            Staged* s) const {
    if (wide) return false;
    if (group_size(layout_of(count), g) < kGroup) return false;
    const GroupValues<T> v{x, g * kGroup, kGroup, quantised};
    PlaneGroup<W> ga, gv;
    u64 bound = 0;
    if constexpr (sizeof(T) == 8) {
      const bool good =
          quantised ? load_wide_codes<W>(quantised + v.first, memory) : load_wide_rows<W>(v, grid_, memory);
      if (!good || !planes_of_codes<W>(memory, &gv, &bound)) return false;
    } else {
      const bool coded = quantised != nullptr && quad_aligned(quantised) &&
                         put_codes<W>(quantised + v.first, static_cast<i32>(grid_.safe), memory);
      if (!coded) load_rows<W>(v, memory);
      if (!planes_of_values<W>(coded ? grid_of_codes_ : grid_, memory, &gv, &bound)) return false;
    }
    if (!parse_ends<W, T>(load_ends<W>(at_a), kGroup, scratch, &ga)) return false;
    ga.memory = gv.memory;
    if (!add_groups<W, T>(ga, gv, false, kGroup, scratch, memory, memory + kStagedWords, s)) return false;
    s->bound = bound;
    return true;
  }
  STRETTO_APART Outcome measure_apart(u64 g, const Memory<C>& memory, u32* kept, Staged* s) const {
    State state;
    const Outcome o = plan(g, memory, &state);
    *s = {state.plan.words, state.plan.count, state.plan.bound};
    if (o == Outcome::ok && state.plan.words <= kKeptWords) write(g, memory, state, kept);
    return o;
  }
  STRETTO_APART void write_apart(u64 g, const Memory<C>& memory, u32* out) const {
    State state;
    if (plan(g, memory, &state) == Outcome::ok) write(g, memory, state, out);
  }
  STRETTO_DEVICE Outcome finish(u64 bound, Header* h) const { return sum_header(ha_, bound, 1, ha_.eps, h); }
  static STRETTO_DEVICE u32 words(const State& s) { return s.plan.words; }
  static STRETTO_DEVICE u64 bound(const State& s) { return s.plan.bound; }
  static STRETTO_DEVICE u64 exceptions(const State& s) { return s.plan.count; }

 private:
  STRETTO_DEVICE void announce(u64 first, int n) const {
    const u64 bytes = sizeof(T) == 8                                ? 8 * kGroup
                      : quantised != nullptr || x.type == Type::f32 ? 4 * kGroup
                                                                    : 2 * kGroup;
    if ((first + static_cast<u64>(n)) * kGroup > count) return;
    const u8* from =
        (quantised != nullptr ? reinterpret_cast<const u8*>(quantised) : static_cast<const u8*>(x.x)) + first * bytes;
    STRETTO_ROLLED
    for (u64 at = 0; at < static_cast<u64>(n) * bytes; at += 32 * 128)
      W::each(
          [=](int j) {
            if (at + 128 * static_cast<u64>(j) < static_cast<u64>(n) * bytes) W::prefetch(from + at + 128 * j);
          },
          W::lane());
  }
  STRETTO_DEVICE Operand<W, T> stream_operand(const Group<W>& g, const Memory<C>& memory) const {
    Operand<W, T> o = operand_of<W, T>(g, false);
    o.codes = memory.wide[0];
    return o;
  }
  STRETTO_DEVICE Operand<W, T> value_operand(typename W::template Lane<u32> lanes, u64 g,
                                             const Memory<C>& memory) const {
    Operand<W, T> o{};
    o.lanes = lanes;
    o.x = x;
    o.first = g * kGroup;
    o.codes = memory.wide[1];
    return o;
  }
  struct SumExceptions {
    const AddValues& op;
    u64 g;
    const Memory<C>& memory;
    const State& s;
    STRETTO_DEVICE void write(const Plan<W>& p, u32* out) const {
      Group<W> ga;
      read_group<W, T>(op.a, op.ha_, g, p.m, memory, 0, &ga);
      const auto oa = op.stream_operand(ga, memory), ob = op.value_operand(s.own, g, memory);
      Sums<W, T>{oa, ob, op.ha_.width, false}.write(p, out);
    }
  };

  Header ha_;
  Grid<T> grid_, grid_of_codes_;
};

}  // namespace stretto::codec::cuda
