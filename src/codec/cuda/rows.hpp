// A whole group of float32 in registers, compressed by a warp: lane b has block b, 32 neighbouring values. So differences,
// widths and planes are each lane's own work, and what lanes exchange is few words a group. Codes are kept with
// kCodeZero added, as the sum with 3/2 2^23 leaves them; differences do not see it.
#pragma once

#include "codec/cuda/group_codes.hpp"

namespace stretto::codec::cuda {

constexpr u32 kCodeZero = 0x4b400000;  // the bits of 0x1.8p23f
// Words that a group takes at most: verbatim. A multiple of four, so that the next begins where vector stores may.
constexpr int kStagedWords = kGroup + 4;

// A lane's values on their way: four neighbours from place 4 j + 128 k on.
struct Incoming {
  Quad<i32> quad[8];
};
struct Row {
  u32 c[32];
};

// In memory the four quads of a row are permuted, so that lanes meet in no bank, neither by rows nor by columns.
STRETTO_DEVICE int quad_place(int row, int quad) { return 32 * row + ((quad ^ (row & 7)) << 2); }
STRETTO_DEVICE int value_place(int row, int i) { return quad_place(row, i >> 2) + (i & 3); }

// Whether values are loaded ahead: nearly always.
STRETTO_DEVICE bool loads_ahead(const GroupValues<float>& v) {
  return v.m == kGroup && v.x.type == Type::f32 && quad_aligned(v.x.x);
}
// All loads are issued before the first value is used.
template <class W>
STRETTO_DEVICE auto load_incoming(const GroupValues<float>& v) {
  const float* x = static_cast<const float*>(v.x.x) + v.first;
  return W::map(
      [=](int j) {
        Incoming in;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) in.quad[k] = *reinterpret_cast<const Quad<i32>*>(x + 4 * j + 128 * k);
        return in;
      },
      W::lane());
}
template <class W>
STRETTO_DEVICE void put_incoming(const typename W::template Lane<Incoming>& in, u32* memory) {
  W::each(
      [=](int j, const Incoming& own) {
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k)
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(4 * k + (j >> 3), j & 7), own.quad[k]);
      },
      W::lane(), in);
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
              four.v[c] = place + c < v.m ? value_at(v.x, at + static_cast<u64>(c), static_cast<float*>(nullptr)) : 0.0f;
          }
          Quad<i32> bits;
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c) bits.v[c] = static_cast<i32>(bits_of(four.v[c]));
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(4 * k + (j >> 3), j & 7), bits);
        },
        W::lane());
}

// Codes that were found before, of a whole, aligned group.
template <class W>
STRETTO_DEVICE void put_codes(const GroupValues<float>& v, u32* memory) {
  const i32* q = v.quantised + v.first;
  W::each(
      [=](int j) {
        Incoming in;
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) in.quad[k] = *reinterpret_cast<const Quad<i32>*>(q + 4 * j + 128 * k);
        STRETTO_UNROLL
        for (int k = 0; k < 8; ++k) {
          STRETTO_UNROLL
          for (int c = 0; c < 4; ++c)
            in.quad[k].v[c] = static_cast<i32>(static_cast<u32>(in.quad[k].v[c]) + kCodeZero);
          store_quad(reinterpret_cast<i32*>(memory) + quad_place(4 * k + (j >> 3), j & 7), in.quad[k]);
        }
      },
      W::lane());
}

// What a lane finds in its row where some codes need care.
struct CarefulRow {
  u32 exceptions;   // its places
  u32 bound;        // the largest magnitude of the others
  u32 first, last;  // codes of the first and the last that is none
  u32 value;        // of the first exception
  bool differ;      // another has other bits
};

// A code that is no exception's, by tests in single precision where they are exact: the code is below 2^21, so that the
// product with the width, and the rest, are rounded once.
STRETTO_DEVICE bool code_is_good(float x, u32 c, const Grid<float>& g) {
  const float n = float_of(c) - 0x1.8p23f;
  if (!(absolute(n) < 0x1p21f)) return false;
  const float y = n * g.w;
  return absolute(fused(-n, g.w, x)) <= g.eps_e && absolute(x - y) <= g.eps_y && absolute(y) <= g.largest;
}

// Codes of a row in place of its values, one after another; exceptions get the code of the nearest earlier place of the
// row that is none.
STRETTO_DEVICE CarefulRow careful_row(int row, int m, const Grid<float>& grid, u32* memory) {
  CarefulRow r{0, 0, kCodeZero, kCodeZero, 0, false};
  const bool usual = grid.r < 0x1p127f;
  u32 good = 0;
  STRETTO_ROLLED
  for (int i = 0; i < 32; ++i) {
    u32* at = memory + value_place(row, i);
    const u32 bits = *at;
    const float x = float_of(bits);
    u32 c = bits_of(fused(x, grid.r, 0x1.8p23f));
    bool exception = false;
    if (!code_is_good(x, c, grid)) {
      // A product that rounds to 2^33 or more is beyond every code.
      exception = usual && !(absolute(x * grid.r) < 0x1p33f);
      if (!exception) {
        i64 q = 0;
        exception = !quantise_carefully(x, grid, &q);
        c = kCodeZero + static_cast<u32>(q);
      }
    }
    exception = exception && 32 * row + i < m;
    if (exception) {
      c = r.last;
      if (r.exceptions == 0) r.value = bits;
      r.differ = r.differ || bits != r.value;
      r.exceptions |= 1u << i;
    } else {
      const u32 q = c - kCodeZero, size = static_cast<i32>(q) < 0 ? 0 - q : q;
      r.bound = size > r.bound ? size : r.bound;
      r.last = c;
      if (good == 0) r.first = c;
      good = 1;
    }
    *at = c;
  }
  return r;
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

template <class W>
STRETTO_DEVICE int choose_row_order(const typename W::template Lane<Row>& rows, int m) {
  struct Sample {
    u32 cost;
    bool negative;
  };
  const auto samples = W::map(
      [=](int b, const Row& row) {
        Sample s{0, false};
        // Runs of sixteen that start at 112 + 160 j.
        if (m >= 128) {
          const u32 cost = sample_row<16>(row, 16, &s.negative);
          const bool taken = (0x10842108u >> b & 1) != 0 && 32 * b + 32 <= m;
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
  const u32 none = (negative ? costs : costs >> 8) & 0xff, first = costs >> 16 & 0xff, second = costs >> 24;
  const int order = first < none ? 1 : 0;
  return second < (order ? first : none) ? 2 : order;
}

// Eight planes of a row, from 8 byte on: bytes of residuals put together, and 8 by 8 bits transposed in each byte.
STRETTO_DEVICE void planes_of_row(const Row& row, u32 byte, u32* p) {
  const u32 two = byte | (4 + byte) << 4;
  STRETTO_UNROLL
  for (int r = 0; r < 8; ++r)
    p[r] = pick_bytes(pick_bytes(row.c[r], row.c[r + 8], two), pick_bytes(row.c[r + 16], row.c[r + 24], two),
                      0x5410);
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
}

// Planes of all blocks, eight at a time.
template <class W>
STRETTO_DEVICE void write_row_planes(const typename W::template Lane<Row>& rows,
                                     typename W::template Lane<u32> width, u32 most, u32* out) {
  const auto end = W::scan_add(width);
  STRETTO_ROLLED
  for (u32 byte = 0; 8 * byte < most; ++byte) {
    W::each(
        [=](const Row& row, u32 w, u32 behind) {
          u32 p[8];
          planes_of_row(row, byte, p);
          u32* at = out + (behind - w);
          STRETTO_UNROLL
          for (int r = 0; r < 8; ++r)
            if (8 * byte + static_cast<u32>(r) < w) at[8 * byte + static_cast<u32>(r)] = p[r];
        },
        rows, width, end);
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
      W::lane());
}

// What is known of a group's exceptions beside their places.
struct ExceptionValues {
  u32 value;    // of the first
  bool differ;  // another has other bits
};

// Codes of all rows in memory, in place of values, where some need care; gives the bound.
template <class W>
STRETTO_DEVICE u32 code_carefully(int m, const Grid<float>& grid, u32* memory, typename W::template Lane<u32>* lanes,
                                  ExceptionValues* values) {
  const auto careful = W::map([&](int b) { return careful_row(b, m, grid, memory); }, W::lane());
  *lanes = W::map([](const CarefulRow& c) { return c.exceptions; }, careful);
  const u32 bound = W::reduce_max(W::map([](const CarefulRow& c) { return c.bound; }, careful));
  const u32 some = W::ballot(W::map([](u32 l) { return l != 0; }, *lanes));
  if (some == 0) return bound;
  const u32 value = W::broadcast(W::map([](const CarefulRow& c) { return c.value; }, careful), trailing_zeros(some));
  values->value = value;
  values->differ = W::any(
      W::map([=](const CarefulRow& c) { return c.exceptions != 0 && (c.differ || c.value != value); }, careful));
  // Exceptions before a row's first code.
  const u32 kept = W::ballot(W::map([=](int b, u32 l) { return (~l & lanes_below(b, m)) != 0; }, W::lane(), *lanes));
  const u32 first = W::broadcast(W::map([](const CarefulRow& c) { return c.first; }, careful), trailing_zeros(kept) & 31);
  const u32 none = kept ? first : kCodeZero;
  const auto source = W::map([=](int b) { return bit_width(kept & ((1u << b) - 1)) - 1; }, W::lane());
  const auto last = W::shuffle(W::map([](const CarefulRow& c) { return c.last; }, careful),
                               W::map([](int s) { return s < 0 ? 0 : s; }, source));
  W::each(
      [=](int b, u32 l, int s, u32 before) {
        const int n = trailing_zeros(~l);
        STRETTO_ROLLED
        for (int i = 0; i < n; ++i) memory[value_place(b, i)] = s < 0 ? none : before;
      },
      W::lane(), *lanes, source, last);
  return bound;
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

// The residuals of a group whose values, or codes, are in `memory`, and all of its plan that finish_plan() asks for.
template <class W>
STRETTO_DEVICE Residuals<W> plan_rows(const GroupValues<float>& v, bool coded, const Grid<float>& grid, u32* memory,
                                      Plan<W>* plan, ExceptionValues* values) {
  const int m = v.m;
  Plan<W>& p = *plan;
  start_plan(m, &p);
  W::sync();
  const float r = grid.r;
  const i32 safe = static_cast<i32>(grid.safe), zero = static_cast<i32>(kCodeZero);
  auto rows = coded ? read_rows<W>(memory, [](u32 code) { return code; })
                    : read_rows<W>(memory, [=](u32 bits) { return bits_of(fused(float_of(bits), r, 0x1.8p23f)); });
  // The largest magnitude, and ~0 beyond what is safe.
  u32 bound = W::reduce_max(W::map(
      [=](const Row& row) {
        i32 low = zero, high = zero;
        STRETTO_UNROLL
        for (int i = 0; i < 32; ++i) {
          const i32 c = static_cast<i32>(row.c[i]);
          low = c < low ? c : low;
          high = c > high ? c : high;
        }
        if (high > zero + safe || low < zero - safe) return ~0u;
        return static_cast<u32>(high - zero > zero - low ? high - zero : zero - low);
      },
      rows));
  if (bound == ~0u) {
    W::sync();
    if (coded) put_values<W>(v, memory);
    W::sync();
    bound = code_carefully<W>(m, grid, memory, &p.lanes, values);
    W::sync();
    rows = read_rows<W>(memory, [](u32 code) { return code; });
  }
  p.bound = bound;
  const int order = choose_row_order<W>(rows, m);
  const u32 q0 = W::broadcast(W::map([](const Row& row) { return row.c[0]; }, rows), 0);
  const u32 q1 = W::broadcast(W::map([](const Row& row) { return row.c[1]; }, rows), 0);
  const u32 slope = order == 2 && m > 1 ? q1 - q0 : 0, base = q0 - slope;
  if (order) {
    p.base = static_cast<i32>(base - kCodeZero);
    p.slope = static_cast<i32>(slope);
  }
  const Residuals<W> residuals = difference_rows<W>(rows, m, order, base, slope);
  const bool negative = order == 0 && W::any(W::map(
                                          [](const Row& row) {
                                            u32 sign = 0;
                                            STRETTO_UNROLL
                                            for (int i = 0; i < 32; ++i) sign |= row.c[i];
                                            return static_cast<i32>(sign) < 0;
                                          },
                                          residuals.rows));
  p.predictor = order == 2   ? Predictor::second
                : order == 1 ? Predictor::first
                : negative   ? Predictor::none_signed
                             : Predictor::none_unsigned;
  const bool positive = p.predictor == Predictor::none_unsigned;
  p.width = W::map(
      [=](u32 all) {
        const u32 width = static_cast<u32>(bit_width(all));
        return positive && width ? width - 1 : width;
      },
      residuals.all);
  return residuals;
}

// A group compressed from `memory`, where its values are, to the same memory: kStagedWords. `scratch`: 32 words.
template <class W>
STRETTO_DEVICE Staged compress_rows(const GroupValues<float>& v, const Grid<float>& grid, u32* memory, u32* scratch) {
  Plan<W> p;
  ExceptionValues values{0, false};
  const Residuals<W> residuals = plan_rows<W>(v, false, grid, memory, &p, &values);
  const RowExceptions<W> source{v, values.value, values.differ};
  finish_plan<W>(source, &p);
  W::sync();  // rows are read, so their memory may be written
  const u32 verbatim = 1 + static_cast<u32>(v.m);
  if (p.words >= verbatim) {
    emit_verbatim<W, float>(v, memory);
    W::sync();
    return {verbatim, static_cast<u32>(v.m), 0};
  }
  if (p.words) {
    u32* at = emit_head<W>(p, source, memory);
    if (p.most) {
      write_row_planes<W>(residuals.rows, p.width, p.most, at);
      write_widths<W>(p, scratch, at + p.planes);
    }
  }
  W::sync();
  return {p.words, p.count, p.bound};
}

}  // namespace stretto::codec::cuda
