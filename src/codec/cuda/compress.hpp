#pragma once

#include "codec/cuda/rows/compress_rows.hpp"

namespace stretto::codec::cuda {

template <class W, class T>
STRETTO_DEVICE void plan_values(const GroupValues<T>& v, const Grid<T>& grid, Code<T>* q, Plan<W>* p) {
  using C = Code<T>;
  start_plan(v.m, p);
  W::sync();
  const auto summaries = load_codes<W, T>(v, grid, q);
  W::sync();
  p->bound = W::reduce_max(W::map([](const CodeSummary<C>& s) { return s.bound; }, summaries));
  const bool negative = W::any(W::map([](const CodeSummary<C>& s) { return s.negative; }, summaries));
  if (W::any(W::map([](const CodeSummary<C>& s) { return s.exception; }, summaries))) {
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b) {
      const u32 own = W::ballot(W::map([=](int j) { return q[32 * b + j] == no_code<C>(); }, W::lane()));
      p->lanes = W::map([=](int j, u32 l) { return j == b ? own : l; }, W::lane(), p->lanes);
    }
    fill_codes<W, C>(p->lanes, v.m, q);
  }
  p->wide = p->bound > kNarrowLimit;
  const int order = choose_order<W, C>(q, v.m, p->wide);
  p->predictor = order == 2   ? Predictor::second
                 : order == 1 ? Predictor::first
                 : negative   ? Predictor::none_signed
                              : Predictor::none_unsigned;
  fresh_base<C>(q, v.m, p->predictor, p->wide, &p->base, &p->slope);
  W::sync();
  p->width = to_residuals<W, C>(q, v.m, p->predictor, p->wide, p->base, p->slope);
  finish_plan<W>(numbers<W, T>([&](int place) { return v.bits(place); }), p);
  const u32 verbatim = 1 + static_cast<u32>(v.m) * (sizeof(T) / 4);
  if (p->words >= verbatim) {
    p->form = Form::verbatim;
    p->words = verbatim;
    p->count = static_cast<u32>(v.m);
    p->bound = 0;
  }
}

template <class W, class T>
struct Compress {
  using C = Code<T>;
  static constexpr bool kMayWiden = false;
  Values x;
  Header header;  // without bound, bytes and exceptions
  using State = Plan<W>;

  STRETTO_DEVICE Outcome open() {
    make_grid(x.type, header.eps, header.width, &grid_);
    return Outcome::ok;
  }
  STRETTO_DEVICE GroupValues<T> values(u64 g) const {
    return {x, g * kGroup, group_size(layout_of(header.count), g), nullptr};
  }
  STRETTO_DEVICE Outcome plan(u64 g, const Memory<C>& memory, State* p) const {
    plan_values<W, T>(values(g), grid_, memory.codes, p);
    return Outcome::ok;
  }
  STRETTO_DEVICE void write(u64 g, const Memory<C>& memory, const State& p, u32* out) const {
    const GroupValues<T> v = values(g);
    if (p.form == Form::verbatim)
      emit_verbatim<W, T>(v, out);
    else
      emit<W, C>(p, memory.codes, numbers<W, T>([&](int place) { return v.bits(place); }), memory.scratch, out);
  }
  STRETTO_DEVICE Outcome finish(u64 bound, Header* h) const {
    *h = header;
    h->bound = bound;
    return Outcome::ok;
  }
  // float32 groups are written to memory before their places are known.
  STRETTO_DEVICE void load(u64 g, u32* memory) const { load_rows<W>(values(g), memory); }
  STRETTO_DEVICE Staged stage(u64 g, u32* memory, u32* scratch) const {
    u64* group = reinterpret_cast<u64*>(scratch + 34);  // in memory, to save registers
    W::each(
        [=](int j) {
          if (j == 0) *group = g;
        },
        W::lane());
    W::sync();
    return compress_rows<W>([this, group] { return values(*group); }, grid_, memory, scratch);
  }
  STRETTO_DEVICE void announce(u64 g) const {
    const u64 bytes = x.type == Type::f32 ? 4 * kGroup : 2 * kGroup;
    const u8* from = static_cast<const u8*>(x.x) + g * bytes;
    if ((g + 1) * kGroup > header.count) return;
    W::each(
        [=](int j) {
          if (128 * static_cast<u64>(j) < bytes) W::prefetch(from + 128 * j);
        },
        W::lane());
  }
  static STRETTO_DEVICE u32 words(const State& p) { return p.words; }
  static STRETTO_DEVICE u64 bound(const State& p) { return p.bound; }
  static STRETTO_DEVICE u64 exceptions(const State& p) { return p.count; }

 private:
  Grid<T> grid_;
};

}  // namespace stretto::codec::cuda
