// A dense stream to a fixed one of equal groups: those that codec/dense/reader.cpp restores.
#pragma once

#include "codec/cuda/dense/chunk_writer.hpp"

namespace stretto::codec::cuda::dense {

template <class W, class T>
class ToFixed {
 public:
  static constexpr u32 kVersion = kFixedVersion;
  StreamRef s;
  u64 count;
  Type type;

  STRETTO_DEVICE Outcome open() {
    layout_ = layout_of(count);
    return read_header_of(s, type, count, &h_, kDenseVersion);
  }
  STRETTO_DEVICE const Header& header() const { return h_; }
  static STRETTO_DEVICE u64 body(const Layout& l) { return l.body; }

  template <class Block>
  STRETTO_DEVICE void measure(Block& block, u64 c, Found<Block>& found) const {
    ChunkShared& chunk = block.chunk();
    const u32 groups = groups_in(layout_, c);
    block.each_warp([&](int w) {
      if (w) return;
      by_one_lane<W>([&] { locate(c, chunk); });
      const auto [bad, dense] = verdict(chunk);
      if (bad) return;
      if (dense) {
        by_one_lane<W>([&] { read_heads(c, groups, chunk); });
        if (!verdict(chunk).bad) decode(block.room(), groups, chunk);
      } else {
        place_fixed(groups, chunk);
      }
    });
    block.each_warp([&](int w) {
      for (u32 i = static_cast<u32>(w); i < groups && chunk.dense && !chunk.bad; i += Block::kWarps)
        measure_group(block.room(), i, chunk);
    });
    block.each_warp([&](int w) {
      if (w) return;
      const auto [bad, dense] = verdict(chunk);
      if (dense && !bad) by_one_lane<W>([&] { sum_groups(groups, chunk); });
      if (verdict(chunk).bad) note(Outcome::corrupt_stream, &found[w]);
      by_one_lane<W>([&] { chunk.bytes = chunk.bad ? 0 : 4 * chunk.fixed_words; });
    });
  }

  template <class Block>
  STRETTO_DEVICE void write(Block& block, u64 c, u64 at, u8* stream, Found<Block>& found) const {
    ChunkShared& chunk = block.chunk();
    const u32 groups = groups_in(layout_, c);
    block.each_warp([&](int w) {
      if (chunk.bad) return;
      if (w == 0) by_one_lane<W>([&] { *reinterpret_cast<u64*>(stream + kHeaderBytes + 8 * c) = at; });
      for (u32 i = static_cast<u32>(w); i < groups; i += Block::kWarps) {
        const GroupHead& h = chunk.groups[i];
        u32* const out = reinterpret_cast<u32*>(stream + at) + h.head;
        by_one_lane<W>([&] {
          *reinterpret_cast<u16*>(stream + layout_.lengths + 2 * (c * kChunk + i)) = static_cast<u16>(h.words);
        });
        if (chunk.dense)
          write_group(block.room(), i, chunk, block.scratch(w), out);
        else
          W::each(
              [&](int j) {
                for (u32 k = static_cast<u32>(j); k < h.words; k += 32) out[k] = reinterpret_cast<const u32*>(h.at)[k];
              },
              W::lane());
        W::sync();
        Group<W> g;
        if (parse_group<W, T>(out, h.words, group_size(layout_, c * kChunk + i), block.scratch(w),
                              block.room().sum_at + w * kGroup, &g))
          found[w].exceptions += g.count;
        else
          note(Outcome::corrupt_stream, &found[w]);
        W::sync();
      }
    });
  }

 private:
  struct Verdict {
    bool bad, dense;
  };
  // One lane's finding, for all lanes of its warp, which change it only afterwards.
  static STRETTO_DEVICE Verdict verdict(const ChunkShared& chunk) {
    W::sync();
    const Verdict v{chunk.bad != 0, chunk.dense != 0};
    W::sync();
    return v;
  }

  // All chunks together check the whole index.
  STRETTO_DEVICE void locate(u64 c, ChunkShared& chunk) const {
    const u64* const entries = reinterpret_cast<const u64*>(s.base + kHeaderBytes);
    const u64 entry = entries[c], start = entry & ~kDenseBit;
    const u64 next = c + 1 < layout_.chunks ? entries[c + 1] & ~kDenseBit : h_.bytes;
    chunk.start = start;
    chunk.next = next;
    chunk.dense = entry >= kDenseBit;
    chunk.bad = start % 4 || next % 4 || start > next || next > h_.bytes ||
                (c ? start < layout_.lengths : start != layout_.lengths);
    chunk.low_bits = chunk.fixed_words = chunk.malformed = 0;
  }

  STRETTO_DEVICE void place_fixed(u32 groups, ChunkShared& chunk) const {
    const u64 lengths = (2 * groups + 3) / 4 * 4, room = chunk.next - chunk.start;
    if (room < lengths) {
      by_one_lane<W>([&] { chunk.bad = 1; });
      return;
    }
    const u32* const from = reinterpret_cast<const u32*>(s.base + chunk.start);
    const auto pair = W::map(
        [=](int j) {
          const u32 i = 2 * static_cast<u32>(j);
          return i >= groups ? 0u : i + 1 == groups ? from[j] & 0xffff : from[j];
        },
        W::lane());
    place_groups<W>(pair, s.base + chunk.start + lengths, &chunk);
    W::sync();
    by_one_lane<W>([&] {
      chunk.bad = lengths + 4 * u64{chunk.fixed_words} != room;
      u32 before = 0;
      for (u32 i = 0; i < groups; ++i) {
        chunk.groups[i].head = before;
        before += chunk.groups[i].words;
      }
    });
  }

  // Reads tables, the states' place and all heads. Sets `bad`; low_bits are those found.
  STRETTO_DEVICE void read_heads(u64 c, u32 groups, ChunkShared& chunk) const {
    const u8 *const begin = s.base + chunk.start, *const end = s.base + chunk.next;
    const u64 length = chunk.next - chunk.start;
    chunk.bad = 1;
    if (length < 8) return;
    const u32 word = *reinterpret_cast<const u32*>(begin), low_words = word & (kTwoSetsBit - 1);
    if (word >> 25 || length / 4 - 1 < low_words) return;
    chunk.sets = word & kTwoSetsBit ? 2 : 1;
    chunk.low_bits = 32 * low_words;
    const u8* p = begin + 4 + 4 * u64{low_words};
    const u64 tables = read_tables(p, static_cast<u64>(end - p), &chunk);
    if (tables == 0) return;
    p += tables;
    const u64 states = chunk.widest ? 4 * kStateBits * chunk.sets : 0;
    if (static_cast<u64>(end - p) < states) return;
    i64 base = 0;
    for (u32 i = 0; i < groups; ++i) {
      const auto m = static_cast<u32>(group_size(layout_, c * kChunk + i));
      p = read_head(p, end - states, m, sizeof(T) / 4, &base, &chunk.groups[i]);
      if (!p) return;
    }
    // No chunk takes more words, and so all of it has 32 bits.
    if (static_cast<u64>(end - p) - states >= 64 * u64{kMostSteps} + 4) return;
    chunk.head_bytes = static_cast<u32>(p - begin);  // to the end of the heads
    chunk.bad = 0;
  }

  // Reads widths and classes of all groups. Sets `bad` unless words and states end as they must.
  STRETTO_DEVICE void decode(const ChunkRoom& room, u32 groups, ChunkShared& chunk) const {
    const u32 length = static_cast<u32>(chunk.next - chunk.start);
    const u32 sets = chunk.widest ? chunk.sets : 0, states_at = length - 4 * kStateBits * sets;
    u32 left = (states_at - chunk.head_bytes) / 2;
    const u16* const words = reinterpret_cast<const u16*>(s.base + chunk.start + states_at) - left;
    typename W::template Lane<u32> states[2] = {W::splat(kLeastState), W::splat(kLeastState)};
    bool valid = true;
    for (u32 set = 0; set < sets; ++set) {
      const u32* const from = reinterpret_cast<const u32*>(s.base + chunk.start + states_at) + kStateBits * set;
      const auto x =
          transpose<W>(W::map([=](int i) { return static_cast<u32>(i) < kStateBits ? from[i] : 0u; }, W::lane()));
      valid = valid && !W::any(W::map([](u32 v) { return v < kLeastState; }, x));
      if (set)
        states[1] = x;
      else
        states[0] = x;
    }
    for (u32 i = 0; i < groups && valid; ++i) {
      const GroupHead& h = chunk.groups[i];
      if (h.verbatim || h.widest == 0) continue;
      u8* const classes = room.classes + kGroup * i;
      auto width = W::splat(u32{0});
      valid = h.widest <= chunk.widest && has(chunk.have_widths, h.widest) &&
              decode_step<W>(chunk.widths + kRow * h.widest, h.widest, &states[0], words, &left, &width);
      W::each([&](int b, u32 own) { chunk.width[i][b] = static_cast<u8>(own); }, W::lane(), width);
      STRETTO_ROLLED
      for (int b = 0; b < kBlocks && valid; ++b) {
        const u32 w = W::broadcast(width, b);
        if (w == 0) continue;
        auto symbol = W::splat(u32{0});
        const u32* const row = chunk.classes + kRow * w;
        valid = has(chunk.have_classes, w) &&
                (sets == 2 && b % 2 ? decode_step<W>(row, w, &states[1], words, &left, &symbol)
                                    : decode_step<W>(row, w, &states[0], words, &left, &symbol));
        W::each([=](int j, u32 k) { classes[class_at(b, j)] = static_cast<u8>(k); }, W::lane(), symbol);
      }
    }
    const auto at_start = [](u32 a, u32 b) { return a == kLeastState && b == kLeastState; };
    const bool ended = !W::any(W::map([=](u32 a, u32 b) { return !at_start(a, b); }, states[0], states[1]));
    // At most 3 bytes lie between heads and words.
    const bool tight = 2 * left + (states_at - chunk.head_bytes) % 2 < 4;
    by_one_lane<W>([&] { chunk.bad = !(valid && ended && tight); });
  }

  // Finds the words of a group's fixed form, and the low bits that it takes.
  static STRETTO_DEVICE void measure_group(const ChunkRoom& room, u32 i, ChunkShared& chunk) {
    GroupHead& h = chunk.groups[i];
    const auto plan = plan_of(h, chunk.width[i]);
    auto bits = W::splat(u32{0});
    if (plan.most) {
      const u8* const classes = room.classes + kGroup * i;
      STRETTO_ROLLED
      for (int b = 0; b < kBlocks; ++b) {
        if (W::broadcast(plan.width, b) < 2) continue;
        bits = W::map(
            [=](int j, u32 sum) {
              const u32 k = classes[class_at(b, j)];
              return sum + (k ? k - 1 : 0);
            },
            W::lane(), bits);
      }
    }
    const u32 low = W::reduce_add(bits), words = plan.words;
    by_one_lane<W>([&] {
      h.low = low;
      h.words = words;
      if (words > kMostGroupWords) chunk.malformed = 1;
    });
  }

  static STRETTO_DEVICE Plan<W> plan_of(const GroupHead& h, const u8* widths) {
    Plan<W> p;
    start_plan(kGroup, &p);
    p.predictor = static_cast<Predictor>(h.predictor);
    p.wide = h.wide;
    p.base = h.base;
    p.slope = h.slope;
    const bool coded = !h.verbatim && h.widest;
    p.width = W::map([=](int b) { return coded ? u32{widths[b]} : 0u; }, W::lane());
    plan_widths(&p);
    p.count = h.exception_words != 0;
    p.map.words = h.exception_words;
    // A head may name a width that no block has: such a group has a word, as on the host.
    const bool zero = h.widest == 0 && p.count == 0 && !p.wide && p.predictor == Predictor::none_unsigned;
    p.words = h.verbatim ? 1 + h.exception_words
              : zero     ? 0
                         : head_words(p) + h.exception_words + p.planes + p.width_words;
    return p;
  }

  static STRETTO_DEVICE void sum_groups(u32 groups, ChunkShared& chunk) {
    u32 low = 0, words = 0;
    for (u32 i = 0; i < groups; ++i) {
      GroupHead& h = chunk.groups[i];
      const u32 own = h.low;
      h.low = low;
      h.head = words;
      low += own;
      words += h.words;
    }
    chunk.fixed_words = words;
    if ((low + 31) / 32 * 32 != chunk.low_bits || chunk.malformed) chunk.bad = 1;
  }

  struct Section {
    const u8* from;
    STRETTO_DEVICE void write_places(const Plan<W>& p, u32, u32* out) const {
      const u32 words = p.map.words;
      const u8* const bytes = from;
      W::each(
          [=](int j) {
            for (u32 k = static_cast<u32>(j); k < words; k += 32) {
              const u8* const b = bytes + 4 * k;
              out[k] = b[0] | u32{b[1]} << 8 | u32{b[2]} << 16 | u32{b[3]} << 24;
            }
          },
          W::lane());
    }
    STRETTO_DEVICE void write(const Plan<W>&, u32*) const {}
  };

  STRETTO_DEVICE void write_group(const ChunkRoom& room, u32 i, const ChunkShared& chunk, u32* scratch,
                                  u32* out) const {
    const GroupHead& h = chunk.groups[i];
    if (h.words == 0) return;
    const Plan<W> p = plan_of(h, chunk.width[i]);
    const Section section{h.exceptions};
    if (h.verbatim) {
      by_one_lane<W>([&] { *out = kVerbatimWord; });
      section.write_places(p, 0, out + 1);
      return;
    }
    u32* const planes = emit_head(p, section, out);
    if (p.most == 0) return;
    const u32* const low = reinterpret_cast<const u32*>(s.base + chunk.start) + 1;
    if (p.most > 32)
      write_planes_of<u64>(room.classes + kGroup * i, p, low, h.low, planes);
    else
      write_planes_of<u32>(room.classes + kGroup * i, p, low, h.low, planes);
    write_widths<W>(p, scratch, planes + p.planes);
  }

  template <class Z>
  static STRETTO_DEVICE void write_planes_of(const u8* classes, const Plan<W>& p, const u32* low, u32 at, u32* out) {
    const bool is_unsigned = p.predictor == Predictor::none_unsigned;
    STRETTO_ROLLED
    for (int b = 0; b < kBlocks; ++b) {
      const u32 width = W::broadcast(p.width, b);
      if (width == 0) continue;
      const auto own = W::map([=](int j) { return u32{classes[class_at(b, j)]}; }, W::lane());
      auto number = W::map([](u32 k) { return k ? Z{1} << (k - 1) : Z{0}; }, own);
      STRETTO_ROLLED
      for (u32 k = 2; k <= width; ++k) {
        const u32 mask = W::ballot(W::map([=](u32 n) { return n >= k; }, own));
        if (mask == 0) continue;
        const u32 *const from = low + at / 32, shift = at % 32;
        const u32 part = static_cast<u32>((static_cast<u64>(from[1]) << 32 | from[0]) >> shift);
        at += static_cast<u32>(popcount(mask));
        number = W::map(
            [=](int j, Z v) {
              const u32 bit = part >> popcount(mask & ((1u << j) - 1)) & 1;
              return mask >> j & 1 ? v | Z{bit} << (k - 2) : v;
            },
            W::lane(), number);
      }
      const auto residual = W::map([=](Z z) { return is_unsigned ? z : z >> 1 ^ (Z{0} - (z & 1)); }, number);
      STRETTO_ROLLED
      for (u32 first = 0; first < width; first += 32) {
        const auto plane = transpose<W>(W::map([=](Z e) { return static_cast<u32>(e >> first); }, residual));
        W::each(
            [=](int i, u32 v) {
              if (first + static_cast<u32>(i) < width) out[first + static_cast<u32>(i)] = v;
            },
            W::lane(), plane);
      }
      out += width;
    }
  }

  Header h_;
  Layout layout_;
};

}  // namespace stretto::codec::cuda::dense
