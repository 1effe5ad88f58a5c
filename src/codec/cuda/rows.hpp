// A whole group of float32 in registers, compressed by a warp: lane b has block b, 32 neighbouring values. So differences,
// widths and planes are each lane's own work, and what lanes exchange is few words a group. Codes are kept with
// kCodeZero added, as the sum with 3/2 2^23 leaves them; differences do not see it.
#pragma once

#include "codec/cuda/group_codes.hpp"

namespace stretto::codec::cuda {

constexpr u32 kCodeZero = 0x4b400000;  // the bits of 0x1.8p23f
// Words that a group takes at most: verbatim. A multiple of four, so that the next begins where vector stores may.
constexpr int kStagedWords = kGroup + 4;

struct Row {
  u32 c[32];
};

// In memory the four quads of a row are permuted, so that lanes meet in no bank, neither by rows nor by columns.
STRETTO_DEVICE int quad_place(int row, int quad) { return (32 * row + ((row & 7) << 2)) ^ (quad << 2); }
STRETTO_DEVICE int value_place(int row, int i) { return quad_place(row, i >> 2) + (i & 3); }

// Values to memory. All loads are issued before the first value is used.
template <class W>
STRETTO_DEVICE void put_floats(const float* x, u32* memory) {
  W::each(
      [=](int j) {
        Quad<i32> in[8];
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) in[k] = *reinterpret_cast<const Quad<i32>*>(x + 4 * j + 128 * k);
        i32* even = reinterpret_cast<i32*>(memory) + quad_place(j >> 3, j & 7);
        i32* odd = reinterpret_cast<i32*>(memory) + (quad_place(j >> 3, j & 7) ^ 16);  // rows 4 k + ... for odd k
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) store_quad((k & 1 ? odd : even) + 128 * k, in[k]);
      },
      W::lane());
}
// The same for values of any type and alignment, and 0 at places at or beyond m.
template <class W>
STRETTO_DEVICE void put_values(const GroupValues<float>& v, u32* memory) {
  const bool quads = v.m == kGroup && quad_aligned(v.x.x) && v.x.type != Type::f32;
  const HalfQuads halves{static_cast<const u16*>(v.x.x), v.x.type == Type::f16};
  STRETTO_ROLLED
  for (int k = 0; k < 8; ++k)
    W::each(
        [&](int j) {
          const int place = 4 * j + 128 * k;
          const u64 at = v.first + static_cast<u64>(place);
          Quad<float> four;
          if (quads) {
            halves.load(at, &four);
          } else {
            STRETTO_UNROLL
            for (int c = 0; c < 4; ++c)
              four.v[c] =
                  place + c < v.m ? value_at(v.x, at + static_cast<u64>(c), static_cast<float*>(nullptr)) : 0.0f;
          }
          Quad<i32> bits;
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) bits.v[c] = static_cast<i32>(bits_of(four.v[c]));
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(4 * k + (j >> 3), j & 7), bits);
        },
        W::lane());
}

template <class W>
STRETTO_DEVICE void load_rows(const GroupValues<float>& v, u32* memory) {
  if (v.m == kGroup && v.x.type == Type::f32 && quad_aligned(v.x.x))
    put_floats<W>(static_cast<const float*>(v.x.x) + v.first, memory);
  else
    put_values<W>(v, memory);
}

// Exceptions of one value, or read where the group's values are.
template <class W>
struct RowExceptions {
  const GroupValues<float>& v;
  u32 value;
  bool differ;
  STRETTO_DEVICE void measure(Plan<W>* p) const {
    p->uniform = !differ;
    p->quiet = !differ && value == QuietNan<float>::bits;
    p->value_words = differ ? p->count : p->quiet ? 0 : 1;
  }
  STRETTO_DEVICE void write(const Plan<W>& p, u32* out) const {
    if (p.uniform) {
      const u32 bits = value;
      W::each(
          [=](int j) {
            if (j == 0) out[0] = bits;
          },
          W::lane());
      return;
    }
    const GroupValues<float>& own = v;
    numbers<W, float>([&](int place) { return own.bits(place); }).write(p, out);
  }
};

// Residuals of order kOrder in place of codes, and the or of v ^ 2 v, whose bit length is the width that a signed number
// needs. one, two: the codes before the row.
template <int kOrder>
STRETTO_DEVICE u32 difference_row(Row* row, u32 one, u32 two) {
  u32 all = 0, before = one - two;
  STRETTO_UNROLL
  for (int i = 0; i < 32; ++i) {
    const u32 own = row->c[i];
    u32 e;
    if constexpr (kOrder == 0) {
      e = own - kCodeZero;
    } else {
      const u32 d = own - one;
      e = kOrder == 1 ? d : d - before;
      before = d;
      one = own;
    }
    row->c[i] = e;
    all |= e ^ (e + e);
  }
  return all;
}

STRETTO_DEVICE u32 sample_cost(u32 all) {
  const u32 width = static_cast<u32>(bit_width(all));
  return width > 1 ? width : 0;
}

// Costs of the orders for sixteen places of a row from kFrom on: of order 0 in bits 0-7, and in 8-15 if no code is
// negative; of orders 1 and 2 above. Bit 0 of *negative: whether one is.
template <int kFrom>
STRETTO_DEVICE u32 sample_row(const Row& row, int n, bool* negative) {
  u32 zeroth = 0, first = 0, second = 0, sign = 0;
  // At the start of the group the codes before are the first.
  u32 one = row.c[kFrom ? kFrom - 1 : 0], two = row.c[kFrom ? kFrom - 2 : 0];
  u32 before = one - two;
  STRETTO_UNROLL
  for (int i = 0; i < 16; ++i) {
    const u32 own = row.c[kFrom + i], q = own - kCodeZero, d = own - one, e = d - before;
    if (kFrom == 0 && i >= n) break;
    sign |= q;
    zeroth |= q ^ (q + q);
    first |= d ^ (d + d);
    second |= e ^ (e + e);
    one = own;
    before = d;
  }
  *negative = static_cast<i32>(sign) < 0;
  const u32 width = static_cast<u32>(bit_width(zeroth));
  return sample_cost(zeroth) | (width ? width - 1 : 0) << 8 | sample_cost(first) << 16 | sample_cost(second) << 24;
}

// From the sums of what sample_row gives.
STRETTO_DEVICE int order_of_costs(u32 costs, bool negative) {
  const u32 none = (negative ? costs : costs >> 8) & 0xff, first = costs >> 16 & 0xff, second = costs >> 24;
  const int order = first < none ? 1 : 0;
  return second < (order ? first : none) ? 2 : order;
}
// Whether row b ends with a run of sixteen that is a sample: these start at 112 + 160 j.
STRETTO_DEVICE bool ends_with_sample(int b) { return (0x10842108u >> b & 1) != 0; }

template <class W>
STRETTO_DEVICE int choose_row_order(const typename W::template Lane<Row>& rows, int m) {
  struct Sample {
    u32 cost;
    bool negative;
  };
  const auto samples = W::map(
      [=](int b, const Row& row) {
        Sample s{0, false};
        if (m >= 128) {
          const u32 cost = sample_row<16>(row, 16, &s.negative);
          const bool taken = ends_with_sample(b) && 32 * b + 32 <= m;
          s.cost = taken ? cost : 0;
          s.negative = s.negative && taken;
        } else {
          const u32 cost = sample_row<0>(row, m, &s.negative);
          s.cost = b == 0 ? cost : 0;
          s.negative = s.negative && b == 0;
        }
        return s;
      },
      W::lane(), rows);
  const u32 costs = W::reduce_add(W::map([](const Sample& s) { return s.cost; }, samples));
  const bool negative = W::any(W::map([](const Sample& s) { return s.negative; }, samples));
  return order_of_costs(costs, negative);
}

// Eight planes of a row from bytes of its residuals: those of places r, r + 8, r + 16, r + 24 in p[r]. 8 by 8 bits are
// transposed in each byte.
STRETTO_DEVICE void put_planes(u32 (&p)[8], u32 first, u32 width, u32* out) {
  constexpr u32 low[3] = {0x0f0f0f0f, 0x33333333, 0x55555555};
  STRETTO_UNROLL
  for (int k = 0; k < 3; ++k) {
    const int step = 4 >> k;
    STRETTO_UNROLL
    for (int r = 0; r < 8; ++r) {
      if (r & step) continue;
      const u32 a = p[r], b = p[r + step];
      p[r] = (a & low[k]) | (b << step & ~low[k]);
      p[r + step] = (a >> step & low[k]) | (b & ~low[k]);
    }
  }
  STRETTO_UNROLL
  for (u32 r = 0; r < 8; ++r)
    if (first + r < width) out[first + r] = p[r];
}

template <class W>
STRETTO_DEVICE void write_row_planes(const typename W::template Lane<Row>& rows, typename W::template Lane<u32> width,
                                     u32 most, u32* out) {
  const auto end = W::scan_add(width);
  STRETTO_ROLLED
  for (u32 byte = 0; 8 * byte < most; ++byte)
    W::each(
        [=](const Row& row, u32 w, u32 behind) {
          const u32 two = byte | (4 + byte) << 4;
          u32 p[8];
          STRETTO_UNROLL
          for (int r = 0; r < 8; ++r)
            p[r] = permute_bytes(permute_bytes(row.c[r], row.c[r + 8], two), permute_bytes(row.c[r + 16], row.c[r + 24], two),
                              0x5410);
          put_planes(p, 8 * byte, w, out + (behind - w));
        },
        rows, width, end);
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

// What is known of a group once it has been written.
struct Staged {
  u32 words, exceptions;
  u64 bound;
};

// f of what a lane's row holds.
template <class W, class F>
STRETTO_DEVICE auto read_rows(const u32* memory, F f) {
  return W::map(
      [=](int b) {
        Row row;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(b, k));
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) row.c[4 * k + c] = f(static_cast<u32>(four.v[c]));
        }
        return row;
      },
      W::lane_anew());
}

template <class W>
STRETTO_DEVICE void put_rows(const typename W::template Lane<Row>& rows, u32* memory) {
  W::each(
      [=](int b, const Row& row) {
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          Quad<i32> four;
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) four.v[c] = static_cast<i32>(row.c[4 * k + c]);
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(b, k), four);
        }
      },
      W::lane_anew(), rows);
}

// What is known of a group's exceptions beside their places.
struct ExceptionValues {
  u32 value;    // of the first
  bool differ;  // another has other bits
};

// Sums of a product and 0x1.8p23f that are so large belong to exceptions, NaN among them, and to no code.
STRETTO_DEVICE bool beyond_codes(u32 c) { return c + c >= 0xa1000000; }  // twice the bits of 2^34

// Places whose code is not good as it is, among those that are not exceptions for certain. Values are in memory.
STRETTO_DEVICE u32 unsure_places(int row, const Row& codes, const Grid<float>& grid, const u32* memory) {
  u32 unsure = 0;
  STRETTO_UNROLL
  for (int k = 0; k < 8; ++k) {
    const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(row, k));
    STRETTO_UNROLL
    for (int c = 0; c < 4; ++c)
      if (!code_is_good(float_of(static_cast<u32>(four.v[c])), float_of(codes.c[4 * k + c]) - 0x1.8p23f, grid))
        unsure |= 1u << (4 * k + c);
  }
  return unsure;
}

// Codes of values that need care: exceptions are found, and the few places that need float64 done one after another.
// Values are in memory; codes found carefully replace them.
template <class W>
STRETTO_DEVICE void code_carefully(int m, const Grid<float>& grid, u32* memory, typename W::template Lane<Row>* rows,
                                   typename W::template Lane<u32>* lanes) {
  const bool usual = grid.r < 0x1p127f;
  const i32 safe = static_cast<i32>(grid.safe), zero = static_cast<i32>(kCodeZero);
  struct Seen {
    u32 exceptions;
    bool unsafe;
  };
  const auto seen = W::map(
      [=](const Row& row) {
        u32 exceptions = 0;
        i32 low = zero, high = zero;
        STRETTO_UNROLL
        for (int i = 0; i < 32; ++i) {
          const bool beyond = usual && beyond_codes(row.c[i]);
          const i32 c = beyond ? zero : static_cast<i32>(row.c[i]);
          if (beyond) exceptions |= 1u << i;
          low = c < low ? c : low;
          high = c > high ? c : high;
        }
        return Seen{exceptions, high > zero + safe || low < zero - safe};
      },
      *rows);
  *lanes = W::map([](const Seen& s) { return s.exceptions; }, seen);
  if (!W::any(W::map([](const Seen& s) { return s.unsafe; }, seen))) return;
  struct Careful {
    u32 codes, exceptions;
  };
  const auto careful = W::map(
      [&](int b, const Row& row, u32 exceptions) {
        Careful found{unsure_places(b, row, grid, memory) & ~exceptions, exceptions};
        STRETTO_ROLLED
        for (u32 left = found.codes; left; left &= left - 1) {
          u32* at = memory + value_place(b, trailing_zeros(left));
          i64 q = 0;
          if (quantise_carefully(float_of(*at), grid, &q))
            *at = kCodeZero + static_cast<u32>(q);
          else
            found.exceptions |= left & (0 - left);
        }
        found.codes &= ~found.exceptions;
        found.exceptions &= lanes_below(b, m);
        return found;
      },
      W::lane_anew(), *rows, *lanes);
  *lanes = W::map([](const Careful& c) { return c.exceptions; }, careful);
  *rows = W::map(
      [=](int b, Row row, const Careful& found) {
        if (found.codes == 0) return row;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(b, k));
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c)
            if (found.codes >> (4 * k + c) & 1) row.c[4 * k + c] = static_cast<u32>(four.v[c]);
        }
        return row;
      },
      W::lane_anew(), *rows, careful);
}

// Gives exceptions the code of the nearest earlier place that is none, or of the first. Their values are in memory.
template <class W>
STRETTO_DEVICE ExceptionValues fill_rows(int m, const u32* memory, typename W::template Lane<u32> lanes,
                                         typename W::template Lane<Row>* rows) {
  const u32 some = W::ballot(W::map([](u32 l) { return l != 0; }, lanes));
  const auto own =
      W::map([=](int b, u32 l) { return l ? memory[value_place(b, trailing_zeros(l))] : 0; }, W::lane_anew(), lanes);
  const u32 value = W::broadcast(own, trailing_zeros(some) & 31);
  const bool differ = W::any(W::map(
      [=](int b, u32 l) {
        u32 other = 0;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          const auto four = *reinterpret_cast<const Quad<i32>*>(memory + quad_place(b, k));
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) other |= l >> (4 * k + c) & 1 ? static_cast<u32>(four.v[c]) ^ value : 0;
        }
        return other != 0;
      },
      W::lane_anew(), lanes));
  // A row's first code, and its last; 0 if it has none.
  const auto firsts = W::map(
      [](const Row& row, u32 l) {
        u32 code = kCodeZero;
        STRETTO_UNROLL
        for (int i = 31; i >= 0; --i) code = l >> i & 1 ? code : row.c[i];
        return code;
      },
      *rows, lanes);
  const auto lasts = W::map(
      [](const Row& row, u32 l) {
        u32 code = kCodeZero;
        STRETTO_UNROLL
        for (int i = 0; i < 32; ++i) code = l >> i & 1 ? code : row.c[i];
        return code;
      },
      *rows, lanes);
  const u32 kept = W::ballot(W::map([=](int b, u32 l) { return (~l & lanes_below(b, m)) != 0; }, W::lane_anew(), lanes));
  const u32 first = W::broadcast(firsts, trailing_zeros(kept) & 31), none = kept ? first : kCodeZero;
  const auto source = W::map([=](int b) { return bit_width(kept & ((1u << b) - 1)) - 1; }, W::lane_anew());
  const auto last = W::shuffle(lasts, W::map([](int s) { return s < 0 ? 0 : s; }, source));
  *rows = W::map(
      [=](Row row, u32 l, int s, u32 before) {
        u32 code = s < 0 ? none : before;
        STRETTO_UNROLL
        for (int i = 0; i < 32; ++i) row.c[i] = code = l >> i & 1 ? code : row.c[i];
        return row;
      },
      *rows, lanes, source, last);
  return {value, differ};
}

template <class W>
struct Residuals {
  typename W::template Lane<Row> rows;
  typename W::template Lane<u32> all;  // as difference_row gives it
};

// Codes to residuals.
template <class W>
STRETTO_DEVICE Residuals<W> difference_rows(const typename W::template Lane<Row>& rows, int m, int order, u32 base,
                                            u32 slope) {
  const auto previous = W::map([](int j) { return (j + 31) & 31; }, W::lane());
  const auto last = W::shuffle(W::map([](const Row& row) { return row.c[31]; }, rows), previous);
  const auto before = W::shuffle(W::map([](const Row& row) { return row.c[30]; }, rows), previous);
  const auto one = W::map([=](int b, u32 its) { return b ? its : base; }, W::lane(), last);
  const auto two = W::map([=](int b, u32 its) { return b ? its : base - slope; }, W::lane(), before);
  Residuals<W> r;
  r.rows = rows;
  struct Rest {
    Row row;
    u32 all;
  };
  const auto rest = W::map(
      [=](int b, Row row, u32 its, u32 its_before) {
        u32 all = order == 2 ? difference_row<2>(&row, its, its_before)
                  : order    ? difference_row<1>(&row, its, its_before)
                             : difference_row<0>(&row, its, its_before);
        if (m < kGroup) {
          all = 0;
          STRETTO_UNROLL
          for (int i = 0; i < 32; ++i) {
            if (32 * b + i >= m) row.c[i] = 0;
            all |= row.c[i] ^ (row.c[i] + row.c[i]);
          }
        }
        return Rest{row, all};
      },
      W::lane(), rows, one, two);
  r.rows = W::map([](const Rest& x) { return x.row; }, rest);
  r.all = W::map([](const Rest& x) { return x.all; }, rest);
  return r;
}

// The least and the largest of a group's codes, less `zero`.
struct Extremes {
  i32 low, high;
};
template <class W>
STRETTO_DEVICE Extremes extremes(const typename W::template Lane<Row>& rows, u32 zero) {
  constexpr u32 sign = 0x80000000;
  const auto own = W::map(
      [=](const Row& row) {
        Extremes e{static_cast<i32>(row.c[0] - zero), static_cast<i32>(row.c[0] - zero)};
        STRETTO_UNROLL
        for (int i = 1; i < 32; ++i) {
          const i32 c = static_cast<i32>(row.c[i] - zero);
          e.low = c < e.low ? c : e.low;
          e.high = c > e.high ? c : e.high;
        }
        return e;
      },
      rows);
  const u32 low = W::reduce_max(W::map([](const Extremes& e) { return ~(static_cast<u32>(e.low) ^ sign); }, own));
  const u32 high = W::reduce_max(W::map([](const Extremes& e) { return static_cast<u32>(e.high) ^ sign; }, own));
  return {static_cast<i32>(~low ^ sign), static_cast<i32>(high ^ sign)};
}

// A row in pairs: codes of places i and i + 16 in one word, by addition, so that differences of pairs are pairs of
// differences. Pairs are exact for residuals below 2^14: with kPairBias added, each half stands for itself.
struct Pairs {
  u32 p[16];
};
constexpr u32 kPairBias = 0x80008000;
constexpr i32 kPairLimit = 1 << 14;
// What stands before a row's first pair, for orders 1 and 2.
struct PairEdge {
  u32 first, second, before_second;
};

// Of a pair with kPairBias: v ^ 2 v of both.
STRETTO_DEVICE u32 pair_bits(u32 p) { return p ^ (2 * p - kPairBias); }

// What a lane knows of its pairs' differences: pair_bits, combined.
struct PairBits {
  u32 first, second;
};
STRETTO_DEVICE PairBits pair_differences(const Pairs& x, const PairEdge& e) {
  PairBits bits{0, 0};
  u32 d = x.p[0] - e.first, before = x.p[0] - e.second;
  bits.first = pair_bits(d + kPairBias);
  bits.second = pair_bits(before - (e.second - e.before_second) + kPairBias);
  STRETTO_UNROLL
  for (int i = 1; i < 16; ++i) {
    d = x.p[i] - x.p[i - 1];
    bits.first |= pair_bits(d + kPairBias);
    bits.second |= pair_bits(d - before + kPairBias);
    before = d;
  }
  return bits;
}
// Residuals of the order, in place, with kPairBias.
STRETTO_DEVICE void difference_pairs(int order, const PairEdge& e, Pairs* x) {
  if (order == 0) {
    STRETTO_UNROLL
    for (int i = 0; i < 16; ++i) x->p[i] += kPairBias - kCodeZero;
  } else if (order == 1) {
    STRETTO_UNROLL
    for (int i = 15; i > 0; --i) x->p[i] = x->p[i] - x->p[i - 1] + kPairBias;
    x->p[0] = x->p[0] - e.first + kPairBias;
  } else {
    u32 d = x->p[15] - x->p[14];
    STRETTO_UNROLL
    for (int i = 15; i > 1; --i) {
      const u32 before = x->p[i - 1] - x->p[i - 2];
      x->p[i] = d - before + kPairBias;
      d = before;
    }
    const u32 before = x->p[0] - e.second;
    x->p[1] = d - before + kPairBias;
    x->p[0] = before - (e.second - e.before_second) + kPairBias;
  }
}

template <class W>
STRETTO_DEVICE void write_pair_planes(const typename W::template Lane<Pairs>& pairs,
                                      typename W::template Lane<u32> width, u32 most, u32* out) {
  const auto end = W::scan_add(width);
  STRETTO_ROLLED
  for (u32 byte = 0; 8 * byte < most; ++byte)
    W::each(
        [=](const Pairs& x, u32 w, u32 behind) {
          u32 p[8];
          STRETTO_UNROLL
          for (int r = 0; r < 8; ++r) p[r] = permute_bytes(x.p[r], x.p[r + 8], 0x6240 + 0x1111 * byte);
          put_planes(p, 8 * byte, w, out + (behind - w));
        },
        pairs, width, end);
}

// The cost of order 0 for the last sixteen of a row, as sample_row gives it.
STRETTO_DEVICE u32 sample_codes(const Row& row, bool* negative) {
  u32 all = 0, sign = 0;
  STRETTO_UNROLL
  for (int i = 16; i < 32; ++i) {
    const u32 q = row.c[i] - kCodeZero;
    sign |= q;
    all |= q ^ (q + q);
  }
  *negative = static_cast<i32>(sign) < 0;
  const u32 width = static_cast<u32>(bit_width(all));
  return sample_cost(all) | (width ? width - 1 : 0) << 8;
}

template <class W>
STRETTO_DEVICE u32 base_and_slope(u32 q0, u32 q1, int m, int order, Plan<W>* p) {
  const u32 slope = order == 2 && m > 1 ? q1 - q0 : 0, base = q0 - slope;
  if (order) {
    p->base = static_cast<i32>(base - kCodeZero);
    p->slope = static_cast<i32>(slope);
  }
  return slope;
}

STRETTO_DEVICE Predictor predictor_of(int order, bool negative) {
  return order == 2   ? Predictor::second
         : order == 1 ? Predictor::first
         : negative   ? Predictor::none_signed
                      : Predictor::none_unsigned;
}

template <class W>
STRETTO_DEVICE auto widths_of_bits(typename W::template Lane<u32> bits, Predictor p) {
  const bool positive = p == Predictor::none_unsigned;
  return W::map(
      [=](u32 all) {
        const u32 width = static_cast<u32>(bit_width(all));
        return positive && width ? width - 1 : width;
      },
      bits);
}

// Where planes and widths go, once they are planned: the end of a group's memory, since what stands before them is known
// later. Nothing if the group is verbatim for them alone.
template <class W>
STRETTO_DEVICE u32* place_body(Plan<W>* p, u32* memory) {
  plan_widths(p);
  W::sync();  // rows are read, so their memory may be written
  const u32 body = p->planes + p->width_words;
  return p->most && body < 1 + static_cast<u32>(p->m) ? memory + kStagedWords - body : nullptr;
}

// Order, widths and planes of a whole group with codes close to one another. False if order 0 is best and needs more bits.
template <class W>
STRETTO_DEVICE bool write_pairs(const typename W::template Lane<Row>& rows, const Extremes& e, u32* memory,
                                u32* scratch, Plan<W>* p) {
  struct Sample {
    u32 cost;
    bool negative;
  };
  const auto zeroth = W::map(
      [](const Row& row) {
        Sample s{0, false};
        s.cost = sample_codes(row, &s.negative);
        return s;
      },
      rows);
  const auto previous = W::map([](int j) { return (j + 31) & 31; }, W::lane());
  const auto last = W::shuffle(W::map([](const Row& row) { return row.c[31]; }, rows), previous);
  const auto before = W::shuffle(W::map([](const Row& row) { return row.c[30]; }, rows), previous);
  const u32 q0 = W::broadcast(W::map([](const Row& row) { return row.c[0]; }, rows), 0);
  const u32 q1 = W::broadcast(W::map([](const Row& row) { return row.c[1]; }, rows), 0);
  const auto edges = W::map(
      [=](int b, const Row& row, u32 its, u32 its_before) {
        const u32 high_last = row.c[15] << 16, high_before = row.c[14] << 16, slope = q1 - q0;
        return PairEdge{(b ? its : q0) + high_last, (b ? its : q0 - slope) + high_last,
                        (b ? its_before : q0 - 2 * slope) + high_before};
      },
      W::lane(), rows, last, before);
  auto pairs = W::map(
      [](const Row& row) {
        Pairs x;
        STRETTO_UNROLL
        for (int i = 0; i < 16; ++i) x.p[i] = row.c[i] + row.c[i + 16] * 0x10000u;
        return x;
      },
      rows);
  const auto bits = W::map([](const Pairs& x, const PairEdge& e) { return pair_differences(x, e); }, pairs, edges);
  const u32 costs = W::reduce_add(W::map(
      [](int b, const Sample& s, const PairBits& x) {
        const u32 cost = s.cost | sample_cost(x.first >> 16) << 16 | sample_cost(x.second >> 16) << 24;
        return ends_with_sample(b) ? cost : 0;
      },
      W::lane(), zeroth, bits));
  const bool negative =
      e.low < 0 &&
      W::any(W::map([](int b, const Sample& s) { return ends_with_sample(b) && s.negative; }, W::lane(), zeroth));
  const int order = order_of_costs(costs, negative);
  if (order == 0 && (e.high >= kPairLimit || e.low <= -kPairLimit)) return false;
  base_and_slope(q0, q1, kGroup, order, p);
  pairs = W::map(
      [=](Pairs x, const PairEdge& e) {
        difference_pairs(order, e, &x);
        return x;
      },
      pairs, edges);
  p->predictor = predictor_of(order, e.low < 0);
  p->width = widths_of_bits<W>(W::map(
                                   [=](const Pairs& x, const PairBits& known) {
                                     u32 all = order == 2 ? known.second : known.first;
                                     if (order == 0) {
                                       all = 0;
                                       STRETTO_UNROLL
                                       for (int i = 0; i < 16; ++i) all |= pair_bits(x.p[i]);
                                     }
                                     return (all | all >> 16) & 0xffff;
                                   },
                                   pairs, bits),
                               p->predictor);
  if (u32* out = place_body(p, memory)) {
    write_pair_planes<W>(pairs, p->width, p->most, out);
    write_widths<W>(*p, scratch, out + p->planes);
  }
  return true;
}

// The same for any group.
template <class W>
STRETTO_DEVICE void write_rows(const typename W::template Lane<Row>& rows, bool any_negative, u32* memory, u32* scratch,
                               Plan<W>* p) {
  const int m = p->m, order = choose_row_order<W>(rows, m);
  const u32 q0 = W::broadcast(W::map([](const Row& row) { return row.c[0]; }, rows), 0);
  const u32 q1 = W::broadcast(W::map([](const Row& row) { return row.c[1]; }, rows), 0);
  const u32 slope = base_and_slope(q0, q1, m, order, p);
  const Residuals<W> residuals = difference_rows<W>(rows, m, order, q0 - slope, slope);
  p->predictor = predictor_of(order, any_negative);
  p->width = widths_of_bits<W>(residuals.all, p->predictor);
  if (u32* out = place_body(p, memory)) {
    write_row_planes<W>(residuals.rows, p->width, p->most, out);
    write_widths<W>(*p, scratch, out + p->planes);
  }
}

// A group compressed from `memory`, where its values are, to the end of the same memory: kStagedWords. `scratch`: 32
// words.
template <class W>
STRETTO_DEVICE Staged compress_rows(const GroupValues<float>& v, const Grid<float>& grid, u32* memory, u32* scratch) {
  Plan<W> p;
  start_plan(v.m, &p);
  W::sync();
  const float r = grid.r;
  const i32 safe = static_cast<i32>(grid.safe), zero = static_cast<i32>(kCodeZero);
  const auto quick = [=](u32 bits) { return bits_of(fused(float_of(bits), r, 0x1.8p23f)); };
  auto rows = read_rows<W>(memory, quick);
  Extremes e = extremes<W>(rows, 0);
  ExceptionValues values{0, false};
  const bool careful = e.high > zero + safe || e.low < zero - safe;
  if (careful) {
    W::sync();
    code_carefully<W>(v.m, grid, memory, &rows, &p.lanes);
    if (W::any(W::map([](u32 l) { return l != 0; }, p.lanes))) values = fill_rows<W>(v.m, memory, p.lanes, &rows);
    W::sync();
    put_rows<W>(rows, memory);
    W::sync();
    e = extremes<W>(rows, kCodeZero);
  } else {
    e = {e.low - zero, e.high - zero};
  }
  const u32 below = 0 - static_cast<u32>(e.low), above = static_cast<u32>(e.high);
  p.bound = e.high < 0 || (e.low < 0 && below > above) ? below : above;
  // Second differences are at most twice the difference of codes.
  const bool close = v.m == kGroup && above + below < kPairLimit / 2;
  if (!close || !write_pairs<W>(rows, e, memory, scratch, &p)) {
    rows = careful ? read_rows<W>(memory, [](u32 code) { return code; }) : read_rows<W>(memory, quick);
    write_rows<W>(rows, e.low < 0, memory, scratch, &p);
  }
  const u32 verbatim = 1 + static_cast<u32>(v.m);
  u32* end = memory + kStagedWords;
  const RowExceptions<W> source{v, values.value, values.differ};
  plan_words(source, &p);
  if (p.words >= verbatim) {
    W::sync();
    emit_verbatim<W, float>(v, end - verbatim);
    W::sync();
    return {verbatim, static_cast<u32>(v.m), 0};
  }
  if (p.words) emit_head<W>(p, source, end - p.words);
  W::sync();
  return {p.words, p.count, p.bound};
}

}  // namespace stretto::codec::cuda
