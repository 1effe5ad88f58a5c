#pragma once

#include "codec/cuda/groups/sources.hpp"

namespace stretto::codec::cuda {

STRETTO_DEVICE bool quad_aligned(const void* p) { return reinterpret_cast<u64>(p) % 16 == 0; }

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

// state = f(state, place, in) over a whole group: in[k] holds four values from place + 128 k on. All are loaded before
// the first is used.
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

}  // namespace stretto::codec::cuda
