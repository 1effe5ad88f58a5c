// Compression of one group by a warp: values to codes in memory, then a plan. Codes are found four neighbouring values
// a lane, by loads of 16 bytes; after that a lane has every 32nd value, as planes need it.
#pragma once

#include "codec/cuda/sources.hpp"
#include "codec/cuda/stream.hpp"

namespace stretto::codec::cuda {

// Memory that a warp has to itself.
template <class C>
struct Memory {
  C* codes;        // kGroup, at a multiple of 16 bytes, as wide[] is
  u32* scratch;    // 32
  i64* wide[4];    // kGroup each; in device memory, for what is unusual. Not for compression
  u16* sum_at[2];  // kGroup each
};

template <class T>
struct CodeOf {
  using type = i32;
};
template <>
struct CodeOf<double> {
  using type = i64;
};
template <class T>
using Code = typename CodeOf<T>::type;

STRETTO_DEVICE bool quad_aligned(const void* p) { return reinterpret_cast<u64>(p) % 16 == 0; }

// Four values from i on, of an array that is aligned for it: stored as they are, or as halves.
template <class T>
struct StoredQuads {
  const T* x;
  STRETTO_DEVICE void load(u64 i, Quad<T>* q) const { *q = *reinterpret_cast<const Quad<T>*>(x + i); }
};
struct HalfQuads {
  const u16* x;
  bool f16;
  STRETTO_DEVICE void load(u64 i, Quad<float>* q) const {
    const u64 four = *reinterpret_cast<const u64*>(x + i);
    STRETTO_UNROLL
    for (int k = 0; k < 4; ++k) {
      const u16 h = static_cast<u16>(four >> (16 * k));
      q->v[k] = f16 ? widen_f16(h) : widen_bf16(h);
    }
  }
};

// state = f(state, place, in) for all values of a whole group: in[k] are the four from place + 128 k on, and all four
// quads are loaded before the first is used.
template <class W, class T, class State, class Source, class F>
STRETTO_DEVICE auto fold_quads(const Source& source, u64 first, typename W::template Lane<State> state, F f) {
  STRETTO_ROLLED
  for (int half = 0; half < kGroup; half += kGroup / 2)
    state = W::map(
        [&](int j, State s) {
          Quad<T> in[4];
          const int place = half + 4 * j;
          STRETTO_UNROLL
          for (int k = 0; k < 4; ++k) source.load(first + static_cast<u64>(place + 128 * k), &in[k]);
          return f(s, place, in);
        },
        W::lane(), state);
  return state;
}
// The same for values as the caller has them: how they are stored is asked once.
template <class W, class State, class F>
STRETTO_DEVICE auto fold_values(const Values& x, u64 first, float, typename W::template Lane<State> state, F f) {
  if (x.type == Type::f32)
    return fold_quads<W, float, State>(StoredQuads<float>{static_cast<const float*>(x.x)}, first, state, f);
  return fold_quads<W, float, State>(HalfQuads{static_cast<const u16*>(x.x), x.type == Type::f16}, first, state, f);
}
template <class W, class State, class F>
STRETTO_DEVICE auto fold_values(const Values& x, u64 first, double, typename W::template Lane<State> state, F f) {
  return fold_quads<W, double, State>(StoredQuads<double>{static_cast<const double*>(x.x)}, first, state, f);
}

// No code is this: it marks an exception.
template <class C>
STRETTO_DEVICE C no_code() {
  return static_cast<C>(u64{1} << (8 * sizeof(C) - 1));
}

// What a lane learns of its codes.
template <class C>
struct Seen {
  typename Unsigned<C>::type bound;
  bool negative, exception;
};

// A group's values, or its codes where they were found before (quantised != nullptr; exceptions are no_code).
template <class T>
struct GroupValues {
  Values x;
  u64 first;
  int m;
  const Code<T>* quantised;
  STRETTO_DEVICE Bits<T> bits(int place) const {
    return bits_of(value_at(x, first + static_cast<u64>(place), static_cast<T*>(nullptr)));
  }
};

template <class T>
STRETTO_DEVICE Code<T> code_of(T x, const Grid<T>& grid) {
  i64 q = 0;
  return quantise(x, grid, &q) ? static_cast<Code<T>>(q) : no_code<Code<T>>();
}

template <class C>
STRETTO_DEVICE void see(C q, Seen<C>* seen) {
  using U = typename Unsigned<C>::type;
  if (q == no_code<C>()) {
    seen->exception = true;
    return;
  }
  const U size = q < 0 ? U{0} - static_cast<U>(q) : static_cast<U>(q);
  seen->bound = size > seen->bound ? size : seen->bound;
  seen->negative = seen->negative || q < 0;
}

// What a lane learns of codes found quickly: `redo` has a bit for each half of the group that holds one not to be trusted.
template <class C>
struct SeenQuickly {
  typename Unsigned<C>::type bound;
  C signs;
  u32 redo;
};

// Codes of a whole, aligned group to q. A code is one fused multiply-add; that all of a lane's sixteen are good is one
// comparison. Where it fails they are done again, one after another, so that the careful way is not in the loop.
template <class W, class T>
STRETTO_DEVICE auto load_whole_group(const GroupValues<T>& v, const Grid<T>& grid, Code<T>* q) {
  using C = Code<T>;
  using U = typename Unsigned<C>::type;
  const T r = grid.r;
  const U limit = static_cast<U>(grid.safe + 1);  // magnitudes below this are good
  const auto quick = fold_values<W, SeenQuickly<C>>(
      v.x, v.first, T{}, W::splat(SeenQuickly<C>{0, 0, 0}), [=](SeenQuickly<C> s, int place, const Quad<T>* in) {
        U most = 0;
        C signs = 0;
        STRETTO_UNROLL
        for (int k = 0; k < 4; ++k) {
          Quad<C> out;
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) {
            const C code = quick_code(in[k].v[c], r);
            const U size = code < 0 ? U{0} - static_cast<U>(code) : static_cast<U>(code);
            most = size > most ? size : most;
            signs |= code;
            out.v[c] = code;
          }
          store_quad(q + place + 128 * k, out);
        }
        if (most < limit) {
          s.bound = most > s.bound ? most : s.bound;
          s.signs |= signs;
        } else {
          s.redo |= place < kGroup / 2 ? 1 : 2;
        }
        return s;
      });
  return W::map(
      [&](int j, const SeenQuickly<C>& found) {
        Seen<C> s{found.bound, found.signs < 0, false};
        STRETTO_ROLLED
        for (int i = found.redo & 1 ? 0 : 16; i < (found.redo & 2 ? 32 : 16); ++i) {
          const int place = 128 * (i >> 2) + 4 * j + (i & 3);
          const C code = code_of<T>(value_at(v.x, v.first + static_cast<u64>(place), static_cast<T*>(nullptr)), grid);
          see(code, &s);
          q[place] = code;
        }
        return s;
      },
      W::lane(), quick);
}

// Codes of a whole, aligned group that were found before.
template <class W, class T>
STRETTO_DEVICE auto load_found_codes(const GroupValues<T>& v, Code<T>* q) {
  using C = Code<T>;
  return fold_quads<W, C, Seen<C>>(StoredQuads<C>{v.quantised}, v.first, W::splat(Seen<C>{0, false, false}),
                                   [=](Seen<C> s, int place, const Quad<C>* in) {
                                     STRETTO_UNROLL
                                     for (int k = 0; k < 4; ++k) {
                                       STRETTO_UNROLL
                                       for (int c = 0; c < 4; ++c) see(in[k].v[c], &s);
                                       store_quad(q + place + 128 * k, in[k]);
                                     }
                                     return s;
                                   });
}

// Codes of all places to q, 0 beyond m.
template <class W, class T>
STRETTO_DEVICE auto load_codes(const GroupValues<T>& v, const Grid<T>& grid, Code<T>* q) {
  using C = Code<T>;
  if (v.m == kGroup && v.quantised == nullptr && quad_aligned(v.x.x)) return load_whole_group<W, T>(v, grid, q);
  if (v.m == kGroup && v.quantised != nullptr && quad_aligned(v.quantised)) return load_found_codes<W, T>(v, q);
  auto seen = W::splat(Seen<C>{0, false, false});
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b)
    seen = W::map(
        [&](int j, Seen<C> s) {
          const int i = 32 * b + j;
          const u64 at = v.first + static_cast<u64>(i);
          C code = 0;
          if (i < v.m) {
            code = v.quantised ? v.quantised[at] : code_of<T>(value_at(v.x, at, static_cast<T*>(nullptr)), grid);
            see(code, &s);
          }
          q[i] = code;
          return s;
        },
        W::lane(), seen);
  return seen;
}

// The plan of a group compressed afresh; residuals in q.
template <class W, class T>
STRETTO_DEVICE void plan_values(const GroupValues<T>& v, const Grid<T>& grid, Code<T>* q, Plan<W>* p) {
  using C = Code<T>;
  start_plan(v.m, p);
  W::sync();  // whoever used the memory before is done
  const auto seen = load_codes<W, T>(v, grid, q);
  W::sync();
  p->bound = W::reduce_max(W::map([](const Seen<C>& s) { return s.bound; }, seen));
  const bool negative = W::any(W::map([](const Seen<C>& s) { return s.negative; }, seen));
  if (W::any(W::map([](const Seen<C>& s) { return s.exception; }, seen))) {
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
STRETTO_DEVICE void emit_verbatim(const GroupValues<T>& v, u32* out) {
  constexpr u32 value = sizeof(T) / 4;
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b)
    W::each(
        [&](int j) {
          const int i = 32 * b + j;
          if (i == 0) out[0] = kVerbatimWord;
          if (i < v.m) store_bits(out + 1 + static_cast<u32>(i) * value, v.bits(i));
        },
        W::lane());
}

// compress: an operation of tile.hpp.
template <class W, class T>
struct Compress {
  using C = Code<T>;
  static constexpr bool kMayWiden = false;
  Values x;
  Header header;  // of the result but for bound, bytes and exceptions
  using State = Plan<W>;

  STRETTO_DEVICE Outcome open() {
    make_grid(header.eps, header.width, &grid_);
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
  static STRETTO_DEVICE u32 words(const State& p) { return p.words; }
  static STRETTO_DEVICE u64 bound(const State& p) { return p.bound; }
  static STRETTO_DEVICE u64 exceptions(const State& p) { return p.count; }

 private:
  Grid<T> grid_;
};

}  // namespace stretto::codec::cuda
