// A dense chunk (docs/format.md, section 8) that a block of warps writes or reads. tests/codec/cuda holds the constants
// equal to codec/dense/layout.hpp.
#pragma once

#include "codec/cuda/groups/group_reader.hpp"
#include "codec/cuda/groups/group_writer.hpp"
#include "codec/cuda/tile.hpp"

namespace stretto::codec::cuda::dense {

constexpr u32 kProbabilityBits = 12, kOne = 1u << kProbabilityBits, kLeastState = 1u << 12, kStateBits = 28;
constexpr u32 kTwoSetsBit = 1u << 24, kBlocksForTwoSets = 768, kMostGroupWords = 4096;
constexpr u32 kMaxWidth = 64, kRow = kMaxWidth + 1, kVerbatimWidth = 255, kLongWidth = 15;
constexpr u32 kHeadWide = 1u << 2, kHeadExceptions = 1u << 3;
constexpr u64 kDenseBit = u64{1} << 63;
constexpr u32 kMostSteps = kChunk * (kBlocks + 1);

struct GroupHead {
  i64 base, slope;
  u64 base_number;       // the base less that of the group before, as its head has it
  const u8* at;          // the group, in a fixed stream
  const u8* exceptions;  // the section, or the values of a verbatim group
  u32 exception_words;
  u32 words;  // of the fixed form
  // In the chunk before this group. head: bytes of heads, or words of groups where these are written. low: low bits;
  // until all groups are known, its own.
  u32 head, low;
  u8 predictor, wide, verbatim, widest;
};

struct ChunkShared {
  GroupHead groups[kChunk];
  u8 width[kChunk][kBlocks];
  // Row w: how often each symbol occurs; later frequency | start << 16.
  u32 widths[kRow * kRow], classes[kRow * kRow];
  u32 table_at[2][kMaxWidth];  // bits of tables before each
  u32 states[2][32];
  u64 have_widths, have_classes, start, next;
  u32 widest, sets, low_bits, table_bits, words_taken, fixed_words;
  u32 head_bytes;  // of all heads; in a read chunk from its beginning to their end
  u32 bytes;       // of the chunk as it is written
  u32 dense;
  u32 bad;        // set by one lane; read by all behind a sync, or a barrier of the block
  u32 malformed;  // set by any warp
  u64 tile, offset;
};

// In device memory: a class for each value, and a step's words for each step. A group's classes are words of four
// blocks each, one for each lane.
struct ChunkRoom {
  u8* classes;
  u16* words;
  u16* sum_at;  // kGroup for each warp
};
constexpr u64 kClassBytes = u64{kChunk} * kGroup, kWordBytes = u64{kMostSteps} * 32 * 2;

STRETTO_DEVICE u32 class_at(int b, int lane) { return static_cast<u32>(b / 4 * 128 + 4 * lane + b % 4); }

STRETTO_DEVICE u64 zigzag(i64 v) { return static_cast<u64>(v) << 1 ^ static_cast<u64>(v >> 63); }
STRETTO_DEVICE i64 from_zigzag(u64 u) { return static_cast<i64>(u >> 1 ^ (0 - (u & 1))); }

STRETTO_DEVICE u32 number_bytes(u64 v) { return v ? (static_cast<u32>(bit_width(v)) + 6) / 7 : 1; }
STRETTO_DEVICE u8* put_number(u8* p, u64 v) {
  for (; v >= 0x80; v >>= 7) *p++ = static_cast<u8>(v | 0x80);
  *p++ = static_cast<u8>(v);
  return p;
}
// Null if no number ends before `end`, or it exceeds 64 bits.
STRETTO_DEVICE const u8* take_number(const u8* p, const u8* end, u64* v) {
  *v = 0;
  for (int shift = 0; shift < 64 && p != end; shift += 7) {
    const u64 part = *p & 0x7f;
    if (shift == 63 && part > 1) return nullptr;
    *v |= part << shift;
    if (!(*p++ & 0x80)) return p;
  }
  return nullptr;
}

// ------------------------------------------------------------------------------------------------------ heads

STRETTO_DEVICE bool has_base(const GroupHead& h) { return h.predictor >= static_cast<u32>(Predictor::first); }
STRETTO_DEVICE bool has_slope(const GroupHead& h) { return h.predictor == static_cast<u32>(Predictor::second); }

// Bytes of a head, its exceptions among them. Sets base_number, and *base to this group's.
STRETTO_DEVICE u32 measure_head(GroupHead* h, i64* base) {
  u32 bytes = h->widest >= kLongWidth ? 2 : 1;
  if (has_base(*h)) {
    h->base_number = zigzag(static_cast<i64>(static_cast<u64>(h->base) - static_cast<u64>(*base)));
    *base = h->base;
    bytes += number_bytes(h->base_number);
  }
  if (has_slope(*h)) bytes += number_bytes(zigzag(h->slope));
  if (h->exception_words) bytes += (h->verbatim ? 0 : number_bytes(h->exception_words)) + 4 * h->exception_words;
  return bytes;
}

// Writes a head up to the exceptions, and returns their place.
STRETTO_DEVICE u8* write_head(const GroupHead& h, u8* out) {
  const u32 first = h.widest < kLongWidth ? h.widest : kLongWidth;
  *out++ = static_cast<u8>(h.predictor | (h.wide ? kHeadWide : 0) |
                           (h.exception_words && !h.verbatim ? kHeadExceptions : 0) | first << 4);
  if (h.widest >= kLongWidth) *out++ = h.widest;
  if (has_base(h)) out = put_number(out, h.base_number);
  if (has_slope(h)) out = put_number(out, zigzag(h.slope));
  if (h.exception_words && !h.verbatim) out = put_number(out, h.exception_words);
  return out;
}

// Null if [p, end) holds no head of a group of m values of `value` words.
STRETTO_DEVICE const u8* read_head(const u8* p, const u8* end, u32 m, u32 value, i64* base, GroupHead* h) {
  *h = GroupHead{};
  if (p == end) return nullptr;
  const u32 kind = *p++;
  u32 widest = kind >> 4;
  if (widest == kLongWidth) {
    if (p == end) return nullptr;
    widest = *p++;
    if (widest < kLongWidth || (widest > kMaxWidth && widest != kVerbatimWidth)) return nullptr;
  }
  h->widest = static_cast<u8>(widest);
  if (widest == kVerbatimWidth) {
    if (kind & 15) return nullptr;
    h->verbatim = 1;
    h->exception_words = m * value;
  } else {
    u64 number = 0;
    h->predictor = static_cast<u8>(kind & 3);
    h->wide = (kind & kHeadWide) != 0;
    const auto fits = [&](i64 v) { return h->wide || v == static_cast<i32>(v); };
    if (has_base(*h)) {
      if (!(p = take_number(p, end, &number))) return nullptr;
      h->base = *base = static_cast<i64>(static_cast<u64>(*base) + static_cast<u64>(from_zigzag(number)));
      if (!fits(h->base)) return nullptr;
    }
    if (has_slope(*h)) {
      if (!(p = take_number(p, end, &number))) return nullptr;
      h->slope = from_zigzag(number);
      if (!fits(h->slope)) return nullptr;
    }
    if (kind & kHeadExceptions) {
      if (!(p = take_number(p, end, &number)) || number == 0 || number > kMostGroupWords) return nullptr;
      h->exception_words = static_cast<u32>(number);
    }
  }
  if (static_cast<u64>(end - p) < 4 * u64{h->exception_words}) return nullptr;
  h->exceptions = p;
  return p + 4 * h->exception_words;
}

// ----------------------------------------------------------------------------------------------------- tables

STRETTO_DEVICE u32 frequency(u32 entry) { return entry & 0xffff; }
STRETTO_DEVICE u32 start_of(u32 entry) { return entry >> 16; }

// From counts to frequencies, by one lane. False if all counts are 0.
STRETTO_DEVICE bool normalise(u32* row, u32 last) {
  u32 total = 0, most = 0;
  for (u32 s = 0; s <= last; ++s) {
    total += row[s];
    if (row[s] > row[most]) most = s;
  }
  if (total == 0) return false;
  i32 rest = static_cast<i32>(kOne);
  for (u32 s = 0; s <= last; ++s) {
    const u32 n = row[s], share = n * kOne / total;
    row[s] = n == 0 ? 0 : share ? share : 1;
    rest -= static_cast<i32>(row[s]);
  }
  row[most] = static_cast<u32>(static_cast<i32>(row[most]) + rest);
  u32 start = 0;
  for (u32 s = 0; s <= last; ++s) {
    const u32 f = row[s];
    row[s] = f | start << 16;
    start += f;
  }
  return true;
}

// f(value, bits) for all parts of a table.
template <class F>
STRETTO_DEVICE void each_part(const u32* row, u32 last, F f) {
  u32 rest = kOne;
  for (u32 s = 0; s < last && rest; ++s) {
    const u32 own = frequency(row[s]);
    const int length = bit_width(own);
    f(static_cast<u32>(length), 4);
    if (length > 1) f(own ^ 1u << (length - 1), length - 1);
    rest -= own;
  }
}

// At most 13 bits to bits that are 0. Other lanes may write the same words.
STRETTO_DEVICE void put_bits(u32* out, u32 at, u32 v, int n) {
  const u32 shift = at % 32;
  or_bits(out + at / 32, v << shift);
  if (shift + static_cast<u32>(n) > 32) or_bits(out + at / 32 + 1, v >> (32 - shift));
}

// Bits behind the end read as 0; a reader then is beyond it.
struct BitReader {
  const u8* p;
  u64 size, at;
  // At most 24 bits.
  STRETTO_DEVICE u32 take(int n) {
    u32 v = 0;
    const u64 end = at + static_cast<u64>(n);
    for (u64 i = at / 8, shift = 0; 8 * i < end && 8 * i < size; ++i, shift += 8) v |= static_cast<u32>(p[i]) << shift;
    v >>= at % 8;
    at = end;
    return v & ((1u << n) - 1);
  }
};

STRETTO_DEVICE bool read_table(BitReader* in, u32* row, u32 last) {
  u32 rest = kOne, start = 0;
  for (u32 s = 0; s < last; ++s) {
    u32 f = 0;
    if (rest) {
      const int length = static_cast<int>(in->take(4));
      f = length > 1 ? in->take(length - 1) | 1u << (length - 1) : static_cast<u32>(length);
      if (f > rest) return false;
    }
    row[s] = f | start << 16;
    start += f;
    rest -= f;
  }
  row[last] = rest | start << 16;
  return true;
}

// By one lane. Bytes read, 0 if malformed.
STRETTO_DEVICE u64 read_tables(const u8* p, u64 size, ChunkShared* c) {
  BitReader in{p, 8 * size, 0};
  c->widest = in.take(7);
  c->have_widths = c->have_classes = 0;
  if (c->widest > kMaxWidth) return 0;
  for (int kind = 0; kind < 2; ++kind)
    for (u32 w = 1; w <= c->widest; ++w) {
      if (!in.take(1)) continue;
      if (!read_table(&in, (kind ? c->classes : c->widths) + kRow * w, w)) return 0;
      (kind ? c->have_classes : c->have_widths) |= u64{1} << (w - 1);
    }
  return in.at <= in.size ? (in.at + 7) / 8 : 0;
}

STRETTO_DEVICE bool has(u64 set, u32 w) { return set >> (w - 1) & 1; }

// ----------------------------------------------------------------------------------------------------- states

// Codes one symbol a lane; words go to words[*at] and on.
template <class W>
STRETTO_DEVICE void encode_step(const u32* row, typename W::template Lane<u32> symbol,
                                typename W::template Lane<u32>* states, u16* words, u32* at) {
  const auto entry = W::map([=](u32 s) { return row[s]; }, symbol);
  const u32 full = W::ballot(W::map([](u32 x, u32 e) { return x >> 16 >= frequency(e); }, *states, entry));
  u16* out = words + *at;
  W::each(
      [=](int j, u32 x) {
        if (full >> j & 1) out[popcount(full & ((1u << j) - 1))] = static_cast<u16>(x);
      },
      W::lane(), *states);
  *states = W::map(
      [=](int j, u32 x, u32 e) {
        if (full >> j & 1) x >>= 16;
        const u32 f = frequency(e), quotient = x / f;
        return quotient * kOne + start_of(e) + (x - quotient * f);
      },
      W::lane(), *states, entry);
  *at += static_cast<u32>(popcount(full));
}

// Takes words from words[*left - 1] down. False if there are not as many.
template <class W>
STRETTO_DEVICE bool decode_step(const u32* row, u32 last, typename W::template Lane<u32>* states, const u16* words,
                                u32* left, typename W::template Lane<u32>* symbol) {
  *symbol = W::map(
      [=](u32 x) {
        const u32 slot = x & (kOne - 1);
        u32 s = 0;
        for (u32 k = 1; k <= last; ++k) s += start_of(row[k]) <= slot;
        return s;
      },
      *states);
  *states = W::map(
      [=](u32 x, u32 s) {
        const u32 e = row[s];
        return frequency(e) * (x >> kProbabilityBits) + (x & (kOne - 1)) - start_of(e);
      },
      *states, *symbol);
  const u32 wanting = W::ballot(W::map([](u32 x) { return x < kLeastState; }, *states));
  const u32 n = static_cast<u32>(popcount(wanting));
  if (*left < n) return false;
  *left -= n;
  const u16* from = words + *left;
  *states =
      W::map([=](int j, u32 x) { return wanting >> j & 1 ? x << 16 | from[popcount(wanting & ((1u << j) - 1))] : x; },
             W::lane(), *states);
  return true;
}

}  // namespace stretto::codec::cuda::dense
