// A lane has four neighbouring codes, 16 bytes; planes need every 32nd value in a lane.
#pragma once

#include "codec/cuda/groups/quads.hpp"
#include "codec/cuda/stream.hpp"

namespace stretto::codec::cuda {

template <class C>
struct Memory {
  C* codes;  // kGroup codes, at a multiple of 16 bytes, as wide[]
  u32* scratch;
  i64* wide[4];  // kGroup each, in device memory, for slow paths
  u16* sum_at[2];
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

template <class C>
STRETTO_DEVICE C no_code() {
  return static_cast<C>(u64{1} << (8 * sizeof(C) - 1));
}

template <class C>
struct CodeSummary {
  typename Unsigned<C>::type bound;
  bool negative, exception;
};

// `quantised`: codes (exceptions are no_code), or null.
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
STRETTO_DEVICE void note(C q, CodeSummary<C>* summary) {
  using U = typename Unsigned<C>::type;
  if (q == no_code<C>()) {
    summary->exception = true;
    return;
  }
  const U size = q < 0 ? U{0} - static_cast<U>(q) : static_cast<U>(q);
  summary->bound = size > summary->bound ? size : summary->bound;
  summary->negative = summary->negative || q < 0;
}

// `redo`: a bit for each half of the group with codes to check.
template <class C>
struct QuickScan {
  typename Unsigned<C>::type bound;
  C signs;
  u32 redo;
};

// One fused multiply-add a code; one comparison checks sixteen, or each is judged. kGlobal: q lies in device memory.
template <class W, class T, bool kGlobal = false>
STRETTO_DEVICE auto load_whole_group(const GroupValues<T>& v, const Grid<T>& grid, Code<T>* q) {
  using C = Code<T>;
  using U = typename Unsigned<C>::type;
  const T r = grid.r;
  const U limit = static_cast<U>(grid.safe + 1);
  const auto quick = fold_values<W, QuickScan<C>>(
      v.x, v.first, T{}, W::splat(QuickScan<C>{0, 0, 0}), [=](QuickScan<C> s, int place, const Quad<T>* in) {
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
          if constexpr (kGlobal)
            store_quad_global(q + place + 128 * k, out);
          else
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
      [&](int j, const QuickScan<C>& found) {
        CodeSummary<C> s{found.bound, found.signs < 0, false};
        STRETTO_ROLLED
        for (int k = found.redo & 1 ? 0 : 4; k < (found.redo & 2 ? 8 : 4); ++k) {
          const int place = 128 * k + 4 * j;
          const u64 at = v.first + static_cast<u64>(place);
          T x[4];
          u32 unsure = 0;
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) x[c] = value_at(v.x, at + static_cast<u64>(c), static_cast<T*>(nullptr));
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) {
            const Judgement judged = judge(x[c], grid);
            const C code = judged == Judgement::good ? quick_code(x[c], r) : no_code<C>();
            if (judged == Judgement::unsure)
              unsure |= 1u << c;
            else
              note(code, &s);
            q[place + c] = code;
          }
          STRETTO_ROLLED
          for (; unsure; unsure &= unsure - 1) {
            const int c = trailing_zeros(unsure);
            const C code = code_of<T>(value_at(v.x, at + static_cast<u64>(c), static_cast<T*>(nullptr)), grid);
            note(code, &s);
            q[place + c] = code;
          }
        }
        return s;
      },
      W::lane(), quick);
}

template <class W, class T>
STRETTO_DEVICE auto load_found_codes(const GroupValues<T>& v, Code<T>* q) {
  using C = Code<T>;
  return fold_quads<W, C, CodeSummary<C>>(StoredQuads<C>{v.quantised}, v.first,
                                          W::splat(CodeSummary<C>{0, false, false}),
                                          [=](CodeSummary<C> s, int place, const Quad<C>* in) {
                                            STRETTO_UNROLL
                                            for (int k = 0; k < 4; ++k) {
                                              STRETTO_UNROLL
                                              for (int c = 0; c < 4; ++c) note(in[k].v[c], &s);
                                              store_quad(q + place + 128 * k, in[k]);
                                            }
                                            return s;
                                          });
}

// Places beyond m get 0.
template <class W, class T>
STRETTO_DEVICE auto load_codes(const GroupValues<T>& v, const Grid<T>& grid, Code<T>* q) {
  using C = Code<T>;
  if (v.m == kGroup && v.quantised == nullptr && quad_aligned(v.x.x)) return load_whole_group<W, T>(v, grid, q);
  if (v.m == kGroup && v.quantised != nullptr && quad_aligned(v.quantised)) return load_found_codes<W, T>(v, q);
  auto summaries = W::splat(CodeSummary<C>{0, false, false});
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b)
    summaries = W::map(
        [&](int j, CodeSummary<C> s) {
          const int i = 32 * b + j;
          const u64 at = v.first + static_cast<u64>(i);
          C code = 0;
          if (i < v.m) {
            code = v.quantised ? v.quantised[at] : code_of<T>(value_at(v.x, at, static_cast<T*>(nullptr)), grid);
            note(code, &s);
          }
          q[i] = code;
          return s;
        },
        W::lane(), summaries);
  return summaries;
}

}  // namespace stretto::codec::cuda
