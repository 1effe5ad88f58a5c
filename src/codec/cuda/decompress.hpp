#pragma once

#include "codec/cuda/groups/quad_reader.hpp"
#include "codec/cuda/sum.hpp"

namespace stretto::codec::cuda {

// Rounded to float64, then to T. A NaN becomes quiet and keeps its payload.
template <class T>
STRETTO_DEVICE T mean_of(Bits<T> bits, u32 divisor) {
  const T v = number_of<T>(bits);
  if (v != v) return number_of<T>(bits | Bits<T>{1} << (SumShape<T>::kMantissa - 1));
  return static_cast<T>(static_cast<double>(v) / divisor);
}

template <class W, class T>
struct Decompress {
  using C = Code<T>;
  StreamRef s;
  void* y;
  Type type;
  u64 count;
  u32 divisor;

  STRETTO_DEVICE Outcome open() {
    const Outcome o = read_header_of(s, type, count, &h_);
    if (o != Outcome::ok) return o;
    index_ = index_of(s, h_);
    width_ = static_cast<T>(h_.width);
    product_ = h_.width / divisor;
    product_rest_ = fused(-product_, static_cast<double>(divisor), h_.width) / divisor;
    const bool aligned = reinterpret_cast<u64>(y) % 16 == 0, stored = aligned && type == stored_type(type);
    if (aligned && divisor == 1 && (sizeof(T) == 8 || h_.bound <= kSingleLimit))
      quads_ = stored ? Quads::singly : Quads::halves;
    else if (stored && sizeof(T) == 4 && (divisor == 1 || h_.bound <= u64{1} << 29))
      quads_ = Quads::doubly;
    else
      quads_ = Quads::none;
    return Outcome::ok;
  }
  // Decodes groups g, g + stride, ...; the next group's words and index are loaded meanwhile.
  STRETTO_DEVICE Outcome run_from(u64 g, u32 stride, const Memory<C>& memory) const {
    if (g * kGroup >= count) return Outcome::ok;
    u32* room = reinterpret_cast<u32*>(memory.codes);
    u32 side = 0;
    Place next{nullptr, 0};
    auto index = load_index<W>(index_, g);
    for (bool begun = false, more = true; more; begun = true, g += stride) {
      const Place own = next;
      more = g * kGroup < count;
      W::copies_done();
      if (more) {
        next = place(g, index, room + side);
        side = kStage - side;
        index = load_index<W>(index_, (g + stride) * kGroup < count ? g + stride : g);
      }
      if (begun && !(own.p && run(g - stride, own, memory))) return Outcome::corrupt_stream;
    }
    return Outcome::ok;
  }

 private:
  enum class Quads : u32 { none, singly, doubly, halves };

  // In shared memory after copies_done(), or in the stream if the words are many.
  struct Place {
    const u32* p;  // null: the index is malformed
    u32 words;
  };
  static constexpr u32 kStage = 512;  // words, two stages per warp
  STRETTO_DEVICE Place place(u64 g, const IndexWords<W>& index, u32* room) const {
    Place o{nullptr, 0};
    if (!locate<W>(index_, g, index, &o.p, &o.words)) return {nullptr, 0};
    if (o.words <= kStage - 4) o.p = W::copy_ahead(room, o.p, o.words);
    return o;
  }

  STRETTO_DEVICE bool run(u64 g, const Place& own, const Memory<C>& memory) const {
    const u64 first = g * kGroup;
    const int m = count - first < kGroup ? static_cast<int>(count - first) : kGroup;
    Group<W> group;
    if (!parse_group<W, T>(own.p, own.words, m, memory.scratch, memory.sum_at[0], &group)) return false;
    if (group.wide) {
      CodeSum<W, i64> sum(group.predictor, true, group.base, group.slope);
      each_block(group, [&](int b, typename W::template Lane<i64> e) { put(first, b, m, sum.next(e)); });
    } else if (quads_ != Quads::none && m == kGroup) {
      if (!group.verbatim) put_quads(first, group);
    } else {
      CodeSum<W, i32> sum(group.predictor, false, group.base, group.slope);
      each_narrow_block_of<W, 1>(group, [&](int b, typename W::template Lane<u32> e) {
        put(first, b, m, sum.next(W::map([](u32 v) { return static_cast<i32>(v); }, e)));
      });
    }
    W::sync();  // other lanes may have written values at exceptions
    if (group.exceptions) put_exceptions(first, group);
    W::sync();
    return true;
  }

  // Also writes exceptions of one value, and clears g.exceptions.
  STRETTO_DEVICE void put_quads(u64 first, Group<W>& g) const {
    const bool marked = g.exceptions && g.uniform && !g.sums;
    T mark = 0;
    if (marked) {
      Bits<T> bits = QuietNan<T>::kBits;
      if (!g.quiet) load_bits(operand_of<W, T>(g, false).stored(0), &bits);
      mark = divisor > 1 ? mean_of<T>(bits, divisor) : number_of<T>(bits);
    }
    using Codes = typename W::template Lane<Quad<i32>>;
    using Values4 = typename W::template Lane<Quad<T>>;
    const auto store = [&](int run, const Codes& codes, const Codes& codes_after, auto value, auto put) {
      auto a = W::map(value, codes), b = W::map(value, codes_after);
      if (marked) {
        const auto mark_lanes = [&](int of, const Values4& v) {
          const auto block = W::map([=](int j) { return 4 * of + (j >> 3); }, W::lane());
          return W::map(
              [=](int j, Quad<T> x, u32 lanes) {
                lanes >>= 4 * (j & 7);
                STRETTO_UNROLL
                for (int k = 0; k < 4; ++k) x.v[k] = lanes >> k & 1 ? mark : x.v[k];
                return x;
              },
              W::lane(), v, W::shuffle(g.lanes, block));
        };
        a = mark_lanes(run, a);
        b = mark_lanes(run + 1, b);
      }
      put(static_cast<u32>(kRun * run), a, b);
    };
    T* out = static_cast<T*>(y) + first;
    const auto put_stored = [=](u32 at, const Values4& a, const Values4& b) { store_runs<W>(out, at, a, b); };
    const T width = width_;
    const auto single = [=](const Quad<i32>& q) {
      Quad<T> x;
      STRETTO_UNROLL
      for (int k = 0; k < 4; ++k) x.v[k] = static_cast<T>(q.v[k]) * width;
      return x;
    };
    if (quads_ == Quads::singly) {
      each_run<1>(g, [&](int run, const Codes& a, const Codes& b) { store(run, a, b, single, put_stored); });
    } else if constexpr (sizeof(T) == 4) {
      if (quads_ == Quads::doubly) {
        // Rounded to float64, then to float32 (docs/codec.md, "Means").
        const double &product = product_, &rest = product_rest_;
        const auto doubled = [&](const Quad<i32>& q) {
          Quad<float> x;
          STRETTO_UNROLL
          for (int k = 0; k < 4; ++k) {
            const double code = q.v[k];
            x.v[k] = static_cast<float>(fused(code, product, code * rest));
          }
          return x;
        };
        each_run<1>(g, [&](int run, const Codes& a, const Codes& b) { store(run, a, b, doubled, put_stored); });
      } else {
        const bool f16 = type == Type::f16;
        u16* halves = static_cast<u16*>(y) + first;
        const auto put_halves = [=](u32 at, const Values4& a, const Values4& b) {
          store_runs_of_halves<W>(halves, at, f16, a, b);
        };
        each_run<2>(g, [&](int run, const Codes& a, const Codes& b) { store(run, a, b, single, put_halves); });
      }
    }
    if (marked) g.exceptions = false;
  }

  template <class Lane>
  STRETTO_DEVICE void put(u64 first, int b, int m, Lane codes) const {
    const bool single = sizeof(T) == 4 && divisor == 1 && h_.bound <= kSingleLimit;
    W::each(
        [&](int j, auto q) {
          const int i = 32 * b + j;
          if (i >= m) return;
          T v;
          if (single) {
            v = static_cast<T>(q) * width_;
          } else {
            v = static_cast<T>(divisor > 1 ? code_mean(q, h_.width, divisor) : code_value(q, h_.width));
          }
          put_value(y, type, first + static_cast<u64>(i), v);
        },
        W::lane(), codes);
  }
  STRETTO_DEVICE void put_exceptions(u64 first, const Group<W>& g) const {
    const Operand<W, T> o = operand_of<W, T>(g, false);
    u32 before = 0;
    T shared = 0;
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b) {
      const u32 lanes = W::broadcast(g.lanes, b);
      if (!g.sums) {
        W::each(
            [&](int j) {
              if (!(lanes >> j & 1)) return;
              Bits<T> bits = QuietNan<T>::kBits;
              if (!g.quiet) load_bits(o.stored(before + static_cast<u32>(popcount(lanes & ((1u << j) - 1)))), &bits);
              const T v = divisor > 1 ? mean_of<T>(bits, divisor) : number_of<T>(bits);
              put_value(y, type, first + static_cast<u64>(32 * b + j), v);
            },
            W::lane());
        before += static_cast<u32>(popcount(lanes));
        continue;
      }
      STRETTO_ROLLED
      for (u32 left = lanes; left; left &= left - 1) {
        if (before == 0 || !g.uniform) {
          Accumulator<W, T> sum;
          sum.add_sum(o.stored(before), false);
          shared = divisor > 1 ? sum.mean(divisor) : sum.value();
        }
        ++before;
        const int place = 32 * b + trailing_zeros(left);
        W::each(
            [&](int j) {
              if (j == place % 32) put_value(y, type, first + static_cast<u64>(place), shared);
            },
            W::lane());
      }
    }
  }

  Header h_;
  Index index_;
  T width_;
  double product_, product_rest_;  // the width divided, to twice float64's precision
  Quads quads_;
};

// Exceptions are no_code.
template <class W, class T>
struct Quantise {
  using C = Code<T>;
  Values x;
  u64 count;
  double eps, width;
  C* q;

  STRETTO_DEVICE Outcome open() {
    make_grid(x.type, eps, width, &grid_);
    return Outcome::ok;
  }
  STRETTO_DEVICE Outcome run(u64 g, const Memory<C>&) const {
    const int m = group_size(layout_of(count), g);
    if (m == kGroup && quad_aligned(x.x) && quad_aligned(q)) {
      load_whole_group<W, T, true>(GroupValues<T>{x, g * kGroup, m, nullptr}, grid_, q + g * kGroup);
      return Outcome::ok;
    }
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b)
      W::each(
          [&](int j) {
            const u64 i = g * kGroup + static_cast<u64>(32 * b + j);
            if (32 * b + j < m) q[i] = code_of<T>(value_at(x, i, static_cast<T*>(nullptr)), grid_);
          },
          W::lane());
    return Outcome::ok;
  }

 private:
  Grid<T> grid_;
};

STRETTO_DEVICE u64 ordered(double v) {
  const u64 bits = bits_of(v + 0.0);
  return bits >> 63 ? ~bits : bits | u64{1} << 63;
}
STRETTO_DEVICE double unordered(u64 v) { return double_of(v >> 63 ? v & ~(u64{1} << 63) : ~v); }

template <class W, class T>
struct Range {
  using C = Code<T>;
  Values x;
  u64 count;
  double above;  // least magnitude left out
  // Maxima of ~ordered(v) and of ordered(v), 0 for none; number left out.
  u64* found;

  struct Tally {
    T low, high;
    u32 left_out;
  };

  STRETTO_DEVICE Outcome open() {
    least_ = static_cast<T>(above);
    if (static_cast<double>(least_) < above) least_ = number_of<T>(bits_of(least_) + 1);
    return Outcome::ok;
  }
  static STRETTO_DEVICE Tally nothing() {
    const T infinity = static_cast<T>(double_of(u64{0x7ff} << 52));
    return {infinity, -infinity, 0};
  }
  STRETTO_DEVICE Outcome run(u64 g, const Memory<C>&, typename W::template Lane<Tally>* tally) const {
    const int m = group_size(layout_of(count), g);
    const T least = least_;
    const auto see_value = [least](T v, Tally t) {
      if (v - v != 0) return t;
      if (absolute(v) >= least) return Tally{t.low, t.high, t.left_out + 1};
      return Tally{least_of(t.low, v), most_of(t.high, v), t.left_out};
    };
    if (m == kGroup && quad_aligned(x.x)) {
      *tally = fold_values<W, Tally>(x, g * kGroup, T{}, *tally, [=](Tally t, int, const Quad<T>* in) {
        // Sixteen at once, or each if one is too large. NaN are ignored.
        T low = in[0].v[0], high = low;
        STRETTO_UNROLL
        for (int k = 1; k < 16; ++k) {
          low = least_of(low, in[k / 4].v[k % 4]);
          high = most_of(high, in[k / 4].v[k % 4]);
        }
        if (-least < low && high < least) return Tally{least_of(t.low, low), most_of(t.high, high), t.left_out};
        STRETTO_UNROLL
        for (int k = 0; k < 16; ++k) t = see_value(in[k / 4].v[k % 4], t);
        return t;
      });
      return Outcome::ok;
    }
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b)
      *tally = W::map(
          [&](int j, Tally t) {
            if (32 * b + j >= m) return t;
            return see_value(value_at(x, g * kGroup + static_cast<u64>(32 * b + j), static_cast<T*>(nullptr)), t);
          },
          W::lane(), *tally);
    return Outcome::ok;
  }
  STRETTO_DEVICE void add(const typename W::template Lane<Tally>& tally) const {
    const auto of_low = [](const Tally& t) { return t.low <= t.high ? ~ordered(static_cast<double>(t.low)) : 0; };
    const auto of_high = [](const Tally& t) { return t.low <= t.high ? ordered(static_cast<double>(t.high)) : 0; };
    const u64 low = W::reduce_max(W::map(of_low, tally)), high = W::reduce_max(W::map(of_high, tally));
    const u64 left_out = W::reduce_add(W::map([](const Tally& t) { return static_cast<u64>(t.left_out); }, tally));
    W::each(
        [&](int j) {
          if (j == 0 && low) W::fetch_max(found, low);
          if (j == 1 && high) W::fetch_max(found + 1, high);
          if (j == 2 && left_out) W::fetch_add(found + 2, left_out);
        },
        W::lane());
  }

 private:
  T least_;
};

}  // namespace stretto::codec::cuda
