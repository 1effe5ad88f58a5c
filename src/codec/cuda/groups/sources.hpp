#pragma once

#include "codec/cuda/groups/group_writer.hpp"
#include "codec/cuda/groups/number.hpp"
#include "codec/cuda/rows/lane_sum.hpp"

namespace stretto::codec::cuda {

template <class T>
struct QuietNan;
template <>
struct QuietNan<float> {
  static constexpr u32 kBits = 0x7fc00000;
};
template <>
struct QuietNan<double> {
  static constexpr u64 kBits = 0x7ff8000000000000;
};

STRETTO_DEVICE void store_bits(u32* out, u32 v) { *out = v; }
STRETTO_DEVICE void store_bits(u32* out, u64 v) {
  out[0] = static_cast<u32>(v);
  out[1] = static_cast<u32>(v >> 32);
}
STRETTO_DEVICE void load_bits(const u32* p, u32* v) { *v = *p; }
STRETTO_DEVICE void load_bits(const u32* p, u64* v) { *v = static_cast<u64>(p[1]) << 32 | p[0]; }

template <class W, class F>
STRETTO_DEVICE void each_exception(typename W::template Lane<u32> lanes, F f) {
  STRETTO_ROLLED
  for (int b = 0; b < kBlocks; ++b) STRETTO_ROLLED
  for (u32 left = W::broadcast(lanes, b); left; left &= left - 1) f(32 * b + trailing_zeros(left));
}

// Precondition: an exception exists.
template <class W>
STRETTO_DEVICE int first_exception(typename W::template Lane<u32> lanes) {
  const int b = trailing_zeros(W::ballot(W::map([](u32 l) { return l != 0; }, lanes)));
  return 32 * b + trailing_zeros(W::broadcast(lanes, b));
}

template <class W, class T, class At>
struct Numbers {
  At at;
  STRETTO_DEVICE void measure(Plan<W>* p) const {
    const Bits<T> first = at(first_exception<W>(p->lanes));
    bool differ = false;
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks && !differ; ++b) {
      const u32 lanes = W::broadcast(p->lanes, b);
      if (lanes == 0) continue;
      differ = W::any(W::map([&](int j) { return (lanes >> j & 1) != 0 && at(32 * b + j) != first; }, W::lane()));
    }
    p->uniform = !differ;
    p->quiet = !differ && first == QuietNan<T>::kBits;
    p->value_words = (differ ? p->count : p->quiet ? 0 : 1) * (sizeof(T) / 4);
  }
  STRETTO_DEVICE void write(const Plan<W>& p, u32* out) const {
    if (p.uniform) {
      const Bits<T> first = at(first_exception<W>(p.lanes));
      W::each(
          [=](int j) {
            if (j == 0) store_bits(out, first);
          },
          W::lane());
      return;
    }
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b) {
      const u32 lanes = W::broadcast(p.lanes, b);
      if (lanes == 0) continue;
      u32* from = out;
      W::each(
          [&](int j) {
            if (lanes >> j & 1) store_bits(from + popcount(lanes & ((1u << j) - 1)) * (sizeof(T) / 4), at(32 * b + j));
          },
          W::lane());
      out += static_cast<u32>(popcount(lanes)) * (sizeof(T) / 4);
    }
  }
};
template <class W, class T, class At>
STRETTO_DEVICE Numbers<W, T, At> numbers(At at) {
  return {at};
}

template <class W, class T>
struct Operand {
  typename W::template Lane<u32> lanes;
  bool of_stream, uniform, sums, quiet, negate;
  const u32* values;
  const u16* sum_at;
  Values x;
  u64 first;
  const i64* codes;  // needed where only the other operand has an exception

  STRETTO_DEVICE bool has(int place) const { return W::broadcast(lanes, place / 32) >> (place % 32) & 1; }
  STRETTO_DEVICE const u32* stored(u32 rank) const {
    return values + (uniform ? 0 : sums ? sum_at[rank] : rank * (sizeof(T) / 4));
  }
  STRETTO_DEVICE void add_exception(int place, u32 rank, Accumulator<W, T>* sum) const {
    if (of_stream && sums) {
      sum->add_sum(stored(rank), negate);
      return;
    }
    Bits<T> bits = QuietNan<T>::kBits;
    if (!of_stream)
      bits = bits_of(value_at(x, first + static_cast<u64>(place), static_cast<T*>(nullptr)));
    else if (!quiet)
      load_bits(stored(rank), &bits);
    sum->add(bits, negate);
  }
  // `own`: the exceptions of the place's block, after `before` earlier exceptions.
  STRETTO_DEVICE void add_at(int place, u32 own, u32 before, float width, LaneSum* sum) const {
    const int j = place % 32;
    if (!(own >> j & 1)) {
      sum->add_code(codes[place], width);
      return;
    }
    const u32 rank = before + static_cast<u32>(popcount(own & ((1u << j) - 1)));
    if (of_stream && sums) {
      sum->add_sum(stored(rank), negate);
      return;
    }
    u32 bits = QuietNan<float>::kBits;
    if (!of_stream)
      bits = bits_of(value_at(x, first + static_cast<u64>(place), static_cast<float*>(nullptr)));
    else if (!quiet)
      load_bits(stored(rank), &bits);
    sum->add(bits, negate);
  }
  STRETTO_DEVICE void add(int place, u32* rank, double width, Accumulator<W, T>* sum) const {
    if (has(place))
      add_exception(place, (*rank)++, sum);
    else
      sum->add_code(codes[place], width);
  }
};

template <class W, class T>
STRETTO_DEVICE Operand<W, T> operand_of(const Group<W>& g, bool negate) {
  Operand<W, T> o;
  o.lanes = g.lanes;
  o.of_stream = true;
  o.uniform = g.uniform;
  o.sums = g.sums;
  o.quiet = g.quiet;
  o.negate = negate;
  o.values = g.values;
  o.sum_at = g.sum_at;
  o.x = {nullptr, Type::f32};
  o.first = 0;
  o.codes = nullptr;
  return o;
}

// Float32 has one sum per lane; all lanes compute each sum of float64.
template <class W, class T>
struct Sums {
  const Operand<W, T>&a, &b;
  double width;
  bool alike;

  STRETTO_DEVICE void measure(Plan<W>* p) const {
    u32 n = 0, words = 0, first_words = 0;
    bool same = true;
    const bool known = alike;
    if constexpr (sizeof(T) == 4) {
      LaneSum first;
      each_block(p->lanes, [&](u32 lanes, const typename W::template Lane<LaneSum>& sums) {
        if (n++ == 0) {
          first = LaneSum::of_lane<W>(sums, trailing_zeros(lanes));
          first_words = first.words();
        }
        const auto own =
            W::map([=](int j, const LaneSum& s) { return lanes >> j & 1 ? s.words() : 0u; }, W::lane(), sums);
        words += W::reduce_add(own);
        same =
            same && !W::any(W::map([&](int j, const LaneSum& s) { return (lanes >> j & 1) != 0 && !s.equals(first); },
                                   W::lane(), sums));
        return !known;
      });
    } else {
      Accumulator<W, T> first;
      each(p->lanes, [&](const Accumulator<W, T>& sum) {
        if (n++ == 0) {
          first = sum;
          first_words = sum.words();
          words = first_words;
        } else {
          same = same && sum.equals(first);
          words += sum.words();
        }
        return !known;
      });
    }
    p->uniform = same;
    p->quiet = false;
    p->value_words = same ? first_words : words;
  }
  STRETTO_DEVICE void write(const Plan<W>& p, u32* out) const {
    const bool once = p.uniform;
    if constexpr (sizeof(T) == 4) {
      each_block(p.lanes, [&](u32 lanes, const typename W::template Lane<LaneSum>& sums) {
        const u32 written = once ? lanes & (0 - lanes) : lanes;
        const auto own =
            W::map([=](int j, const LaneSum& s) { return written >> j & 1 ? s.words() : 0u; }, W::lane(), sums);
        const auto end = W::scan_add(own);
        u32* from = out;
        W::each(
            [=](u32 words, u32 behind, const LaneSum& s) {
              if (words) s.write(from + (behind - words));
            },
            own, end, sums);
        out += W::broadcast(end, 31);
        return !once;
      });
    } else {
      each(p.lanes, [&](const Accumulator<W, T>& sum) {
        sum.write(out);
        out += sum.words();
        return !once;
      });
    }
  }

 private:
  template <class F>
  STRETTO_DEVICE void each(typename W::template Lane<u32> lanes, F f) const {
    u32 rank_a = 0, rank_b = 0;
    bool more = true;
    each_exception<W>(lanes, [&](int place) {
      if (!more) return;
      Accumulator<W, T> sum;
      a.add(place, &rank_a, width, &sum);
      b.add(place, &rank_b, width, &sum);
      more = f(sum);
    });
  }
  template <class F>
  STRETTO_DEVICE void each_block(typename W::template Lane<u32> lanes, F f) const {
    u32 rank_a = 0, rank_b = 0;
    bool more = true;
    const float w = static_cast<float>(width);
    STRETTO_ROLLED
    for (int block = 0; block < kBlocks && more; ++block) {
      const u32 own = W::broadcast(lanes, block);
      if (own == 0) continue;
      const u32 of_a = W::broadcast(a.lanes, block), of_b = W::broadcast(b.lanes, block), before_a = rank_a,
                before_b = rank_b;
      const auto sums = W::map(
          [&](int j) {
            LaneSum s;
            if (own >> j & 1) {
              STRETTO_ROLLED
              for (int k = 0; k < 2; ++k)
                (k ? b : a).add_at(32 * block + j, k ? of_b : of_a, k ? before_b : before_a, w, &s);
            }
            s.close();
            return s;
          },
          W::lane());
      rank_a += static_cast<u32>(popcount(of_a));
      rank_b += static_cast<u32>(popcount(of_b));
      more = f(own, sums);
    }
  }
};

}  // namespace stretto::codec::cuda
