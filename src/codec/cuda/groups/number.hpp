// docs/format.md, sections 4 and 5. docs/codec.md proves the codes of float32's fast path, which needs no float64.
#pragma once

#include "codec/cuda/layout.hpp"

namespace stretto::codec::cuda {

template <class T>
struct Grid {
  T w, r, eps_y, eps_e;
  T largest;
  T safe;  // codes up to this are good without a check
  double width, R;
};

STRETTO_DEVICE float float_towards_zero_of(float f) { return f > 0 ? float_of(bits_of(f) - 1) : f; }
STRETTO_DEVICE float largest_float_at_most(double v) {
  constexpr float most = 3.402823466e+38f;
  if (v >= static_cast<double>(most)) return most;
  const float f = static_cast<float>(v);
  return static_cast<double>(f) > v ? float_towards_zero_of(f) : f;
}

STRETTO_DEVICE void make_grid(Type t, double eps, double width, Grid<float>* g) {
  g->largest = t == Type::f16 ? 0x1.ffdffep15f : t == Type::bf16 ? 0x1.fefffep127f : 0x1.fffffep127f;
  g->width = width;
  g->w = static_cast<float>(width);
  g->R = 1 / width;
  g->r = static_cast<float>(g->R);
  g->eps_y = float_towards_zero_of(largest_float_at_most(eps));
  g->eps_e = largest_float_at_most(eps * (1 - 0x1p-16));
  const double hair = 1 - width / eps / 2;
  const bool short_width = (bits_of(width) & 0x7fffffff) == 0;
  g->safe = -1;
  const double finite = static_cast<double>(g->largest) / width;
  if (hair > 0x1p-14 && eps < 0x1p126 && short_width)
    g->safe = static_cast<float>(
        integer_below(smaller(finite, smaller(0x1p21 - 1, (smaller(hair, 0.25) - 0x1p-14) * 0x1p22))));
}
STRETTO_DEVICE void make_grid(Type, double eps, double width, Grid<double>* g) {
  g->largest = 0x1.fffffffffffffp1023;
  g->width = g->w = width;
  g->r = g->R = 1 / width;
  g->eps_y = double_of(bits_of(eps) - 1);
  g->eps_e = eps * (1 - 0x1p-16);
  const double hair = 1 - width / eps / 2;
  g->safe = -1;
  if (hair > 0x1p-14 && width > 0x1p-960 && width < 0x1p960)
    g->safe = integer_below(smaller(2147483647.0, (smaller(hair, 0.25) - 0x1p-14) * 0x1p51));
}

STRETTO_DEVICE bool good(float x, i64 q, const Grid<float>& g) {
  const double at = static_cast<double>(q) * g.width;  // exact
  const float y = static_cast<float>(at);
  return absolute(static_cast<float>(static_cast<double>(x) - at)) <= g.eps_e && absolute(x - y) <= g.eps_y &&
         absolute(y) <= g.largest;
}
STRETTO_DEVICE bool good(double x, i64 q, const Grid<double>& g) {
  return absolute(fused(-static_cast<double>(q), g.width, x)) <= g.eps_e &&
         absolute(x - static_cast<double>(q) * g.width) <= g.eps_y;
}
STRETTO_DEVICE bool below_grid(float x, i64 q, const Grid<float>& g) {
  return static_cast<float>(static_cast<double>(x) - static_cast<double>(q) * g.width) < 0;
}
STRETTO_DEVICE bool below_grid(double x, i64 q, const Grid<double>& g) {
  return fused(-static_cast<double>(q), g.width, x) < 0;
}

STRETTO_DEVICE bool nearest_code(float x, const Grid<float>& g, i64* q) {
  const double product = static_cast<double>(x) * static_cast<double>(g.r);  // exact
  if (absolute(product) < 0x1p21) {
    *q = static_cast<i64>(nearest_integer(product));
    return true;
  }
  if (!(absolute(static_cast<double>(x) * g.R) < 0x1p32)) return false;
  const double n = fused(static_cast<double>(x), g.R, 0x1.8p52) - 0x1.8p52;
  *q = static_cast<i64>(n);
  return absolute(n) <= static_cast<double>(kNarrowLimit);
}
STRETTO_DEVICE bool nearest_code(double x, const Grid<double>& g, i64* q) {
  if (!(absolute(x * g.r) < 0x1p51)) return false;
  *q = static_cast<i64>(fused(x, g.r, 0x1.8p52) - 0x1.8p52);
  return true;
}

template <class T>
STRETTO_DEVICE bool quantise_carefully(T x, const Grid<T>& g, i64* q) {
  if (!nearest_code(x, g, q)) return false;
  if (good(x, *q, g)) return true;
  *q += below_grid(x, *q, g) ? -1 : 1;
  if (sizeof(T) == 4 && magnitude(*q) > kNarrowLimit) return false;
  return good(x, *q, g);
}

// False: x is an exception. If |x r| rounded is below 2^21, so is the exact product, and its sum with 3 * 2^22 rounds
// it to an integer.
STRETTO_DEVICE bool quantise(float x, const Grid<float>& g, i64* q) {
  if (absolute(x * g.r) < 0x1p21f) {
    const float n = fused(x, g.r, 0x1.8p23f) - 0x1.8p23f;
    *q = static_cast<i32>(n);
    if (absolute(n) <= g.safe) return true;
  }
  return quantise_carefully(x, g, q);
}
STRETTO_DEVICE bool quantise(double x, const Grid<double>& g, i64* q) {
  if (absolute(x * g.r) < 0x1p51) {
    const double n = fused(x, g.r, 0x1.8p52) - 0x1.8p52;
    *q = static_cast<i64>(n);
    if (absolute(n) <= g.safe) return true;
  }
  return quantise_carefully(x, g, q);
}

// The low bits of a sum with units of one are the code of x, if its magnitude is at most grid.safe. Any other x, NaN
// included, gives a larger magnitude: both roundings are monotonic.
STRETTO_DEVICE i32 quick_code(float x, float r) {
  return static_cast<i32>(bits_of(fused(x, r, 0x1.8p23f)) - bits_of(0x1.8p23f));
}
STRETTO_DEVICE i64 quick_code(double x, double r) {
  return static_cast<i64>(bits_of(fused(x, r, 0x1.8p52)) - bits_of(0x1.8p52));
}

// Single precision is exact for codes below 2^21.
STRETTO_DEVICE bool code_is_good(float x, float n, const Grid<float>& g) {
  const float y = n * g.w;
  return absolute(n) < 0x1p21f && absolute(fused(-n, g.w, x)) <= g.eps_e && absolute(x - y) <= g.eps_y &&
         absolute(y) <= g.largest;
}

enum class Judgement { good, exception, unsure };
STRETTO_DEVICE Judgement judge(float x, const Grid<float>& g) {
  if (code_is_good(x, fused(x, g.r, 0x1.8p23f) - 0x1.8p23f, g)) return Judgement::good;
  // Products from 2^33 on are beyond every code.
  return g.r < 0x1p127f && !(absolute(x * g.r) < 0x1p33f) ? Judgement::exception : Judgement::unsure;
}
STRETTO_DEVICE Judgement judge(double x, const Grid<double>& g) {
  if (!(absolute(x * g.r) < 0x1p51)) return Judgement::exception;
  const double n = fused(x, g.r, 0x1.8p52) - 0x1.8p52;
  return absolute(fused(-n, g.width, x)) <= g.eps_e && absolute(x - n * g.width) <= g.eps_y ? Judgement::good
                                                                                            : Judgement::unsure;
}

// Codes of more than 53 bits are not rounded first.
STRETTO_DEVICE double code_value(i64 q, double width) {
  if (magnitude(q) <= u64{1} << 53) return static_cast<double>(q) * width;
  const i64 low = q % (i64{1} << 32);
  return fused(static_cast<double>(q - low), width, static_cast<double>(low) * width);
}

// Exact or overflowing, for integers v below 2^54 and k >= -1074.
STRETTO_DEVICE double scaled(double v, int k) {
  const int far = k < -500 ? -300 : k > 500 ? 600 : 0;
  const int near = k - far;
  const auto power = [](int e) { return double_of(static_cast<u64>(e + 1023) << 52); };
  return v * power(near) * power(far);
}

// (high 2^64 + low) 2^exponent / n, rounded once. `more`: the true value is greater by a fraction; the leading bit is
// then set.
STRETTO_DEVICE double quotient(u64 high, u64 low, bool more, int exponent, u32 n) {
  if ((high | low) == 0) return 0;
  const auto shift_left = [](u64* h, u64* l, int by) {
    if (by >= 64) *h = *l, *l = 0, by -= 64;
    if (by > 0) *h = *h << by | *l >> (64 - by), *l <<= by;
  };
  const auto leading_zeros = [](u64 h, u64 l) { return h ? 64 - bit_width(h) : 128 - bit_width(l); };
  const int zeros = leading_zeros(high, low);
  shift_left(&high, &low, zeros);
  u64 part[4] = {high >> 32, high & 0xffffffff, low >> 32, low & 0xffffffff}, rest = 0;
  STRETTO_UNROLL
  for (int i = 0; i < 4; ++i) {
    const u64 dividend = rest << 32 | part[i];
    part[i] = dividend / n;
    rest = dividend % n;
  }
  high = part[0] << 32 | part[1];
  low = part[2] << 32 | part[3];
  const int again = leading_zeros(high, low);
  shift_left(&high, &low, again);
  exponent += 64 - zeros - again;
  const int drop = exponent < -1074 - 11 ? -1074 - exponent : 11;
  if (drop > 64) return 0;
  const u64 half = u64{1} << (drop - 1);
  u64 kept = drop == 64 ? 0 : high >> drop;
  more = more || rest || low || (high & (half - 1));
  if ((high & half) && (more || (kept & 1))) ++kept;
  return scaled(static_cast<double>(kept), exponent + drop);
}

// Rounded once. Fast path: docs/codec.md, "Means".
STRETTO_DEVICE double code_mean(i64 q, double width, u32 n) {
  if (magnitude(q) <= u64{1} << 31 && width > 0x1p-900 && width < 0x1p992) {
    const double code = static_cast<double>(q), divisor = n, inverse = 1 / divisor, v = code * width,
                 near = v * inverse;
    const double rest = fused(-near, divisor, v) + fused(code, width, -v), part = rest * inverse;
    return near + fused(fused(-part, divisor, rest), inverse, part);
  }
  const u64 bits = bits_of(width), fraction = bits & ((u64{1} << 52) - 1), c = magnitude(q);
  const int exponent = static_cast<int>(bits >> 52);
  const u64 w = exponent ? fraction | u64{1} << 52 : fraction;
  const u64 cl = c & 0xffffffff, ch = c >> 32, wl = w & 0xffffffff, wh = w >> 32;
  const u64 middle = ch * wl + (cl * wl >> 32), other = cl * wh + (middle & 0xffffffff);
  const double v = quotient(ch * wh + (middle >> 32) + (other >> 32), other << 32 | (cl * wl & 0xffffffff), false,
                            (exponent ? exponent : 1) - 1075, n);
  return q < 0 ? -v : v;
}

STRETTO_DEVICE float widen_f16(u16 h) {
  const u32 sign = static_cast<u32>(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
  if (exponent == 31) return float_of(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) return float_of(sign | bits_of(static_cast<float>(mantissa) * 0x1p-24f));
  return float_of(sign | (exponent + 112) << 23 | mantissa << 13);
}
STRETTO_DEVICE float widen_bf16(u16 b) { return float_of(static_cast<u32>(b) << 16); }

STRETTO_DEVICE u16 round_bf16(float x) {
  const u32 u = bits_of(x);
  if ((u & 0x7fffffff) > 0x7f800000) return static_cast<u16>(u >> 16 | (u & 0x7f0000 ? 0 : 0x40));
  return static_cast<u16>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
STRETTO_DEVICE u16 round_f16(float x) {
  const u32 u = bits_of(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
  if (a > 0x7f800000) return static_cast<u16>(sign | 0x7c00 | (a >> 13 & 0x3ff ? a >> 13 & 0x3ff : 0x200));
  if (a >= 0x477ff000) return static_cast<u16>(sign | 0x7c00);
  if (a < 0x38800000) return static_cast<u16>(sign | (bits_of(float_of(a) * 0x1p24f + 0x1p23f) & 0x7ff));
  return static_cast<u16>(sign | ((a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13));
}

struct Values {
  const void* x;
  Type type;
};
STRETTO_DEVICE float value_at(const Values& v, u64 i, float*) {
  if (v.type == Type::f32) return static_cast<const float*>(v.x)[i];
  const u16 h = static_cast<const u16*>(v.x)[i];
  return v.type == Type::f16 ? widen_f16(h) : widen_bf16(h);
}
STRETTO_DEVICE double value_at(const Values& v, u64 i, double*) { return static_cast<const double*>(v.x)[i]; }

STRETTO_DEVICE void put_value(void* y, Type type, u64 i, float v) {
  if (type == Type::f32)
    static_cast<float*>(y)[i] = v;
  else
    static_cast<u16*>(y)[i] = type == Type::f16 ? round_f16(v) : round_bf16(v);
}
STRETTO_DEVICE void put_value(void* y, Type, u64 i, double v) { static_cast<double*>(y)[i] = v; }

}  // namespace stretto::codec::cuda
