// Codes of narrow groups, four neighbours per lane: a run of 128 is four blocks of eight lanes. Three exchanges turn
// eight planes into bytes of a lane's residuals, and each order takes one scan of lanes.
#pragma once

#include "codec/cuda/groups/codes.hpp"

namespace stretto::codec::cuda {

constexpr int kRun = 4 * kBlock, kRuns = kGroup / kRun;

// Bypasses caches. Stores fill whole sectors of 32 bytes: for float64, neighbouring lanes exchange halves.
STRETTO_DEVICE void store_once(float* p, const Quad<float>& q) {
#if defined(__CUDACC__)
  __stcs(reinterpret_cast<float4*>(p), make_float4(q.v[0], q.v[1], q.v[2], q.v[3]));
#else
  *reinterpret_cast<Quad<float>*>(p) = q;
#endif
}
STRETTO_DEVICE void store_once(double* p, double a, double b) {
#if defined(__CUDACC__)
  __stcs(reinterpret_cast<double2*>(p), make_double2(a, b));
#else
  p[0] = a;
  p[1] = b;
#endif
}
template <class W>
STRETTO_DEVICE void store_runs(float* p, u32 at, typename W::template Lane<Quad<float>> a,
                               typename W::template Lane<Quad<float>> b) {
  W::each(
      [=](int j, const Quad<float>& x, const Quad<float>& y) {
        float* to = p + (at + 4 * static_cast<u32>(j));
        store_once(to, x);
        store_once(to + kRun, y);
      },
      W::lane(), a, b);
}
STRETTO_DEVICE u64 halves_of(const Quad<float>& q, bool f16) {
  u64 four = 0;
  STRETTO_UNROLL
  for (int k = 0; k < 4; ++k) four |= u64{f16 ? round_f16(q.v[k]) : round_bf16(q.v[k])} << (16 * k);
  return four;
}
template <class W>
STRETTO_DEVICE void store_runs_of_halves(u16* p, u32 at, bool f16, typename W::template Lane<Quad<float>> a,
                                         typename W::template Lane<Quad<float>> b) {
  W::each(
      [=](int j, const Quad<float>& x, const Quad<float>& y) {
        u64* to = reinterpret_cast<u64*>(p + (at + 4 * static_cast<u32>(j)));
        to[0] = halves_of(x, f16);
        to[kRun / 4] = halves_of(y, f16);
      },
      W::lane(), a, b);
}
template <class W>
STRETTO_DEVICE void store_runs(double* p, u32 at, typename W::template Lane<Quad<double>> a,
                               typename W::template Lane<Quad<double>> b) {
  const auto store = [=](double* from, const auto& v) {
    const auto sent = [&](int k) {
      return W::shuffle_xor(
          W::map([=](int j, const Quad<double>& x) { return j & 1 ? x.v[k] : x.v[2 + k]; }, W::lane(), v), 1);
    };
    W::each(
        [=](int j, const Quad<double>& x, double its, double its_next) {
          const bool odd = j & 1;
          double* to = from + (4 * j - (odd ? 2 : 0));
          store_once(to, odd ? its : x.v[0], odd ? its_next : x.v[1]);
          store_once(to + 4, odd ? x.v[2] : its, odd ? x.v[3] : its_next);
        },
        W::lane(), v, sent(0), sent(1));
  };
  store(p + at, a);
  store(p + at + kRun, b);
}

// Byte k of lane j's result belongs to place 4 (j % 8) + k of its block; its input is plane plane_of(j). Exchanges swap
// lane bits with the places' upper bits. The last two swaps leave the planes' bits in another order.
STRETTO_DEVICE u32 plane_of(int j) { return static_cast<u32>((j & 1) << 2 | (j & 6) >> 1); }
template <class W>
STRETTO_DEVICE auto bytes_of_planes(typename W::template Lane<u32> v) {
  v = W::map([](int j, u32 own, u32 its) { return permute_bytes(own, its, j & 4 ? 0x3276 : 0x5410); }, W::lane(), v,
             W::shuffle_xor(v, 4));
  v = W::map([](int j, u32 own, u32 its) { return permute_bytes(own, its, j & 2 ? 0x3715 : 0x6240); }, W::lane(), v,
             W::shuffle_xor(v, 2));
  return W::map(
      [](int j, u32 own, u32 its) {
        const u32 keep = j & 1 ? 0xf0f0f0f0 : 0x0f0f0f0f;
        u32 x = (own & keep) | (rotated(its, j & 1 ? 28 : 4) & ~keep);
        u32 t = (x ^ x >> 14) & 0x0000cccc;
        x ^= t + (t << 14);
        t = (x ^ x >> 7) & 0x00aa00aa;
        return x ^ (t + (t << 7));
      },
      W::lane(), v, W::shuffle_xor(v, 1));
}

// For four residuals, signed bytes or numbers: the sum; the sum weighted 4, 3, 2, 1; codes after a code and a
// difference. Modulo 2^32.
STRETTO_DEVICE u32 sum_of(u32 bytes) { return dot_bytes(bytes, 0x01010101, 0); }
STRETTO_DEVICE u32 ramp_of(u32 bytes) { return dot_bytes(bytes, 0x01020304, 0); }
template <int kOrder>
STRETTO_DEVICE Quad<i32> codes_after(u32 bytes, u32 code, u32 difference) {
  constexpr u32 weights[3][4] = {{0x00000001, 0x00000100, 0x00010000, 0x01000000},
                                 {0x00000001, 0x00000101, 0x00010101, 0x01010101},
                                 {0x00000001, 0x00000102, 0x00010203, 0x01020304}};
  Quad<i32> q;
  STRETTO_UNROLL
  for (int k = 0; k < 4; ++k) {
    if (kOrder == 2) code += difference;
    q.v[k] = static_cast<i32>(kOrder == 0 ? extended_byte(bytes, k) : dot_bytes(bytes, weights[kOrder][k], code));
  }
  return q;
}
STRETTO_DEVICE u32 sum_of(const Quad<u32>& e) { return e.v[0] + e.v[1] + e.v[2] + e.v[3]; }
STRETTO_DEVICE u32 ramp_of(const Quad<u32>& e) { return 4 * e.v[0] + 3 * e.v[1] + 2 * e.v[2] + e.v[3]; }
template <int kOrder>
STRETTO_DEVICE Quad<i32> codes_after(const Quad<u32>& e, u32 code, u32 difference) {
  Quad<i32> q;
  STRETTO_UNROLL
  for (int k = 0; k < 4; ++k) {
    difference = kOrder == 2 ? difference + e.v[k] : e.v[k];
    code = kOrder == 0 ? e.v[k] : code + difference;
    q.v[k] = static_cast<i32>(code);
  }
  return q;
}

// Signed residuals have at most 8 kBytes bits, unsigned ones one less.
template <class W, int kBytes, int kOrder>
class QuadReader {
  template <class T>
  using Lane = typename W::template Lane<T>;

 public:
  struct Planes {
    Lane<u32> of[kBytes];
  };

  STRETTO_DEVICE explicit QuadReader(const Group<W>& g)
      : planes_(g.planes),
        is_unsigned_(g.predictor == Predictor::none_unsigned),
        code_(static_cast<u32>(g.base)),
        difference_(static_cast<u32>(g.slope)),
        at_(W::map([](u32 w, u32 offset) { return offset << 8 | ((w - 1) & 255); }, g.width, g.offset)) {}

  // Planes beyond a signed residual's width equal its sign plane.
  STRETTO_DEVICE Planes load(int run) const {
    const auto at = W::shuffle(at_, W::map([=](int j) { return 4 * run + (j >> 3); }, W::lane()));
    const u32* planes = planes_;
    const bool is_unsigned = is_unsigned_;
    Planes p;
    STRETTO_UNROLL
    for (int b = 0; b < kBytes; ++b)
      p.of[b] = W::map(
          [=](int j, u32 both) {
            const u32 last = both & 255, i = static_cast<u32>(8 * b) + plane_of(j), plane = smaller(i, last);
            return load_if(last != 255 && (!is_unsigned || plane == i), planes + ((both >> 8) + plane));
          },
          W::lane(), at);
    return p;
  }

  STRETTO_DEVICE auto next(Planes p) {
    STRETTO_UNROLL
    for (int b = 0; b < kBytes; ++b) p.of[b] = bytes_of_planes<W>(p.of[b]);
    if constexpr (kBytes == 1) {
      return summed(p.of[0]);
    } else if constexpr (kBytes == 2) {
      return summed(W::map(
          [](u32 low, u32 high) {
            Quad<u32> e;
            STRETTO_UNROLL
            for (u32 k = 0; k < 4; ++k) e.v[k] = permute_bytes(low, high, 0xcc40 + 0x1111 * k);
            return e;
          },
          p.of[0], p.of[1]));
    } else {
      return summed(W::map(
          [](u32 a, u32 b, u32 c, u32 d) {
            Quad<u32> e;
            STRETTO_UNROLL
            for (u32 k = 0; k < 4; ++k)
              e.v[k] =
                  permute_bytes(permute_bytes(a, b, 0x40 + 0x11 * k), permute_bytes(c, d, 0x40 + 0x11 * k), 0x5410);
            return e;
          },
          p.of[0], p.of[1], p.of[2], p.of[3]));
    }
  }

 private:
  template <class E>
  STRETTO_DEVICE auto summed(const E& e) {
    if constexpr (kOrder == 0) {
      return W::map([](const auto& x) { return codes_after<0>(x, 0, 0); }, e);
    } else {
      const auto sum = W::map([](const auto& x) { return sum_of(x); }, e);
      const auto sums = W::scan_add(sum);
      const u32 code = code_, difference = difference_;
      if constexpr (kOrder == 1) {
        code_ += W::broadcast(sums, 31);
        return W::map([=](const auto& x, u32 own, u32 all) { return codes_after<1>(x, code + (all - own), 0); }, e, sum,
                      sums);
      } else {
        // Without the run's first difference.
        const auto part =
            W::map([](const auto& x, u32 own, u32 all) { return 4 * (all - own) + ramp_of(x); }, e, sum, sums);
        const auto parts = W::scan_add(part);
        code_ += W::broadcast(parts, 31) + kRun * difference;
        difference_ += W::broadcast(sums, 31);
        return W::map(
            [=](int j, const auto& x, u32 own, u32 all, u32 own_part, u32 all_parts) {
              return codes_after<2>(x, code + 4 * static_cast<u32>(j) * difference + (all_parts - own_part),
                                    difference + (all - own));
            },
            W::lane(), e, sum, sums, part, parts);
      }
    }
  }

  const u32* planes_;
  bool is_unsigned_;
  u32 code_, difference_;
  Lane<u32> at_;  // words before a block's planes, and in the lowest byte the last plane; 255: none
};

template <class W, int kBytes, int kOrder, class F>
STRETTO_DEVICE void each_run_of(const Group<W>& g, F f) {
  QuadReader<W, kBytes, kOrder> reader(g);
  // Two runs at a time hide each other's latency.
  STRETTO_ROLLED
  for (int run = 0; run < kRuns; run += 2) {
    const auto a = reader.load(run), b = reader.load(run + 1);
    const auto first = reader.next(a), second = reader.next(b);
    f(run, first, second);
  }
}
template <class W, int kBytes, class F>
STRETTO_DEVICE void each_run_of(const Group<W>& g, F f) {
  if (g.predictor < Predictor::first)
    each_run_of<W, kBytes, 0>(g, f);
  else if (g.predictor == Predictor::first)
    each_run_of<W, kBytes, 1>(g, f);
  else
    each_run_of<W, kBytes, 2>(g, f);
}

template <class W, class F>
STRETTO_DEVICE void each_run_of_none(const Group<W>& g, F f) {
  const u32 base = static_cast<u32>(g.base), slope = static_cast<u32>(g.slope);
  const auto codes = [=](int run) {
    return W::map(
        [=](int j) {
          Quad<i32> q;
          STRETTO_UNROLL
          for (int k = 0; k < 4; ++k)
            q.v[k] = static_cast<i32>(base + slope * static_cast<u32>(kRun * run + 4 * j + k + 1));
          return q;
        },
        W::lane());
  };
  STRETTO_ROLLED
  for (int run = 0; run < kRuns; run += 2) f(run, codes(run), codes(run + 1));
}

// Calls f(run, codes, next run's codes) for every second run, with Lane<Quad<i32>>. kLeast 2 makes less code.
template <int kLeast, class W, class F>
STRETTO_DEVICE void each_run(const Group<W>& g, F f) {
  const u32 bits = g.most + (g.predictor == Predictor::none_unsigned ? 1 : 0);
  if (g.most == 0)
    each_run_of_none(g, f);
  else if (kLeast == 1 && bits <= 8)
    each_run_of<W, kLeast>(g, f);
  else if (bits <= 16)
    each_run_of<W, 2>(g, f);
  else
    each_run_of<W, 4>(g, f);
}

}  // namespace stretto::codec::cuda
