// Compression of one group by a warp: values to codes in memory, then a plan. Codes are found four neighbouring values
// a lane, by loads of 16 bytes; after that a lane has every 32nd value, as planes need it.
#pragma once

#include "codec/cuda/sources.hpp"
#include "codec/cuda/stream.hpp"

namespace stretto::codec::cuda {

// Memory that a warp has to itself.
template <class C>
struct Memory {
  C* codes;        // kGroup, and two before
  u32* scratch;    // 32
  i64* wide[4];    // kGroup each, and two before; in device memory, for what is unusual. Not for compression
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

template <class T>
struct alignas(16) Quad {
  T v[4];
};

// Four values from i on; x is aligned for it.
STRETTO_DEVICE void load_quad(const Values& x, u64 i, Quad<float>* q) {
  if (x.type == Type::f32) {
    *q = *reinterpret_cast<const Quad<float>*>(static_cast<const float*>(x.x) + i);
    return;
  }
  const u64 four = *reinterpret_cast<const u64*>(static_cast<const u16*>(x.x) + i);
  STRETTO_UNROLL
  for (int k = 0; k < 4; ++k) {
    const u16 h = static_cast<u16>(four >> (16 * k));
    q->v[k] = x.type == Type::f16 ? widen_f16(h) : widen_bf16(h);
  }
}
STRETTO_DEVICE void load_quad(const Values& x, u64 i, Quad<double>* q) {
  *q = *reinterpret_cast<const Quad<double>*>(static_cast<const double*>(x.x) + i);
}
STRETTO_DEVICE bool quad_aligned(const void* p) { return reinterpret_cast<u64>(p) % 16 == 0; }

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

// Codes of all places to q, 0 beyond m.
template <class W, class T>
STRETTO_DEVICE auto load_codes(const GroupValues<T>& v, const Grid<T>& grid, Code<T>* q) {
  using C = Code<T>;
  auto seen = W::splat(Seen<C>{0, false, false});
  if (v.m == kGroup && v.quantised == nullptr && quad_aligned(v.x.x)) {
    STRETTO_ROLLED
    for (int half = 0; half < kGroup; half += kGroup / 2)
      seen = W::map(
          [&](int j, Seen<C> s) {
            Quad<T> in[4];
            STRETTO_UNROLL
            for (int k = 0; k < 4; ++k) load_quad(v.x, v.first + static_cast<u64>(half + 128 * k + 4 * j), &in[k]);
            STRETTO_UNROLL
            for (int k = 0; k < 4; ++k) {
              Quad<C> out;
              STRETTO_UNROLL
              for (int c = 0; c < 4; ++c) {
                out.v[c] = code_of<T>(in[k].v[c], grid);
                see(out.v[c], &s);
              }
              *reinterpret_cast<Quad<C>*>(q + half + 128 * k + 4 * j) = out;
            }
            return s;
          },
          W::lane(), seen);
    return seen;
  }
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
