// A fixed stream to a dense one of equal groups: the bytes of codec/dense/writer.cpp.
#pragma once

#include "codec/cuda/dense/chunk_writer.hpp"

namespace stretto::codec::cuda::dense {

template <class W, class T>
class ToDense {
 public:
  static constexpr u32 kVersion = kDenseVersion;
  StreamRef s;
  u64 count;
  Type type;

  STRETTO_DEVICE Outcome open() {
    const Outcome o = read_header_of(s, type, count, &h_);
    if (o != Outcome::ok) return o;
    index_ = index_of(s, h_);
    layout_ = layout_of(count);
    return Outcome::ok;
  }
  STRETTO_DEVICE const Header& header() const { return h_; }
  static STRETTO_DEVICE u64 body(const Layout& l) { return l.lengths; }

  template <class Block>
  STRETTO_DEVICE void measure(Block& block, u64 c, Found<Block>& found) const {
    ChunkShared& chunk = block.chunk();
    const u32 groups = groups_in(layout_, c);
    block.each_warp([&](int w) {
      for (u32 i = static_cast<u32>(w); i < kRow; i += Block::kWarps)
        W::each(
            [&](int j) {
              for (u32 k = i * kRow + static_cast<u32>(j); k < (i + 1) * kRow; k += 32)
                chunk.widths[k] = chunk.classes[k] = 0;
            },
            W::lane());
      if (w == 0) locate(c, chunk);
    });
    block.each_warp([&](int w) {
      for (u32 i = static_cast<u32>(w); i < groups && !chunk.bad; i += Block::kWarps) scan(block, c, i, w, found[w]);
    });
    block.each_warp([&](int w) {
      if (w) return;
      if (chunk.bad || chunk.malformed) {
        note(Outcome::corrupt_stream, &found[w]);
        by_one_lane<W>([&] { chunk.bytes = 0; });
        return;
      }
      by_one_lane<W>([&] { measure_heads(groups, chunk); });
      W::sync();
      make_tables(chunk);
      W::sync();
      encode(block.room(), groups, chunk);
    });
  }

  template <class Block>
  STRETTO_DEVICE void write(Block& block, u64 c, u64 at, u8* stream, Found<Block>&) const {
    ChunkShared& chunk = block.chunk();
    const u32 groups = groups_in(layout_, c);
    u8* const out = stream + at;
    u32* const words = reinterpret_cast<u32*>(out);
    const u32 low_words = (chunk.low_bits + 31) / 32, head = 1 + low_words + (chunk.table_bits + 31) / 32;
    block.each_warp([&](int w) {
      if (chunk.bytes == 0) return;
      if (w == 0)
        by_one_lane<W>(
            [&] { *reinterpret_cast<u64*>(stream + kHeaderBytes + 8 * c) = at | (chunk.dense ? kDenseBit : 0); });
      if (!chunk.dense)
        copy_groups<Block::kWarps>(w, groups, chunk, words);
      else
        W::each(
            [&](int j) {
              for (u32 i = static_cast<u32>(32 * w + j); i < head; i += 32 * Block::kWarps) words[i] = 0;
            },
            W::lane());
    });
    if (!chunk.dense || chunk.bytes == 0) return;
    block.each_warp([&](int w) {
      if (w == 0) {
        by_one_lane<W>([&] { words[0] = low_words | (chunk.sets == 2 ? kTwoSetsBit : 0); });
        write_tables(chunk, words + 1 + low_words);
      }
      for (u32 i = static_cast<u32>(w); i < groups; i += Block::kWarps) write_low(block, c, i, w, words + 1);
    });
    u8* const heads = out + 4 * (1 + low_words) + (chunk.table_bits + 7) / 8;
    block.each_warp([&](int w) {
      for (u32 i = static_cast<u32>(w); i < groups; i += Block::kWarps) write_group_head(chunk.groups[i], heads);
      write_words<Block::kWarps>(w, chunk, block.room().words, heads + chunk.head_bytes, out + chunk.bytes);
    });
  }

 private:
  STRETTO_DEVICE void locate(u64 c, ChunkShared& chunk) const {
    const Chunk<W> at = chunk_of<W>(index_, c, load_index<W>(index_, c * kChunk));
    place_groups<W>(at.pair, index_.base + at.start, &chunk);
    W::sync();
    const bool holds = chunk_holds<W>(index_, c, at, chunk.fixed_words);
    by_one_lane<W>([&] {
      chunk.start = at.start;
      chunk.bad = !holds;
      chunk.malformed = 0;
      chunk.dense = 1;
      chunk.low_bits = chunk.widest = chunk.sets = 0;
    });
  }

  template <class Block>
  STRETTO_DEVICE bool parse(Block& block, u64 c, const u8* p, u32 words, u32 i, int w, Group<W>* g) const {
    return parse_group<W, T>(reinterpret_cast<const u32*>(p), words, group_size(layout_, c * kChunk + i),
                             block.scratch(w), block.room().sum_at + w * kGroup, g);
  }

  template <class Block>
  STRETTO_DEVICE void scan(Block& block, u64 c, u32 i, int w, WarpTotals& found) const {
    ChunkShared& chunk = block.chunk();
    GroupHead& h = chunk.groups[i];
    const u8* const p = h.at;
    const u32 words = h.words;
    Group<W> g;
    if (!parse(block, c, p, words, i, w, &g)) {
      by_one_lane<W>([&] { chunk.malformed = 1; });
      return;
    }
    found.exceptions += g.count;
    const u32 widest = g.most;
    u32 low = 0;
    if (widest) {
      u32* const widths = chunk.widths + kRow * widest;
      W::each(
          [&](int b, u32 own) {
            chunk.width[i][b] = static_cast<u8>(own);
            add_to(widths + own, 1);
          },
          W::lane(), g.width);
      u8* const classes = block.room().classes + kGroup * i;
      W::each(  // for blocks of width 0, whose classes are loaded with their neighbours'
          [=](int j) {
            STRETTO_UNROLL
            for (int q = 0; q < kBlocks / 4; ++q) reinterpret_cast<u32*>(classes)[32 * q + j] = 0;
          },
          W::lane());
      auto bits = W::splat(u32{0});
      each_coded_block(g, [&](int b, auto number) {
        u32* const row = chunk.classes + kRow * W::broadcast(g.width, b);
        const auto own = W::map([](auto v) { return static_cast<u32>(bit_width(v)); }, number);
        W::each(
            [=](int j, u32 k) {
              classes[class_at(b, j)] = static_cast<u8>(k);
              add_to(row + k, 1);
            },
            W::lane(), own);
        bits = W::map([](u32 sum, u32 k) { return sum + (k ? k - 1 : 0); }, bits, own);
      });
      low = W::reduce_add(bits);
    }
    by_one_lane<W>([&] {
      h.base = g.base;
      h.slope = g.slope;
      h.predictor = g.verbatim ? 0 : static_cast<u8>(g.predictor);
      h.wide = g.wide;
      h.verbatim = g.verbatim;
      h.widest = static_cast<u8>(g.verbatim ? kVerbatimWidth : widest);
      h.low = low;
      const u32 word = words ? *reinterpret_cast<const u32*>(p) : 0, code = g.wide ? 2 : 1;
      const u32 before = 1 + (has_base(h) && !(word & kShortBaseBit) ? code : 0) + (has_slope(h) ? code : 0);
      const u32 end = g.planes ? static_cast<u32>(g.planes - reinterpret_cast<const u32*>(p)) : words;
      h.exceptions = p + 4 * (g.exceptions ? before : 0);
      h.exception_words = g.exceptions ? end - before : 0;
      if (words > kMostGroupWords) chunk.dense = 0;
    });
  }

  static STRETTO_DEVICE void measure_heads(u32 groups, ChunkShared& chunk) {
    i64 base = 0;
    u32 bytes = 0, low = 0, widest = 0;
    for (u32 i = 0; i < groups; ++i) {
      GroupHead& h = chunk.groups[i];
      const u32 own = h.low;
      h.head = bytes;
      h.low = low;
      bytes += measure_head(&h, &base);
      low += own;
      if (!h.verbatim && h.widest > widest) widest = h.widest;
    }
    chunk.head_bytes = bytes;
    chunk.low_bits = low;
    chunk.widest = widest;
  }

  static STRETTO_DEVICE void make_tables(ChunkShared& chunk) {
    const u32 widest = chunk.widest;
    u32 at = 7, blocks = 0;
    for (u32 kind = 0; kind < 2; ++kind) {
      u64 have = 0;
      for (u32 half = 0; half < kMaxWidth; half += 32) {
        const auto width = W::map([=](int j) { return half + static_cast<u32>(j) + 1; }, W::lane());
        u32* const rows = kind ? chunk.classes : chunk.widths;
        const auto values = W::map(
            [=](u32 w) {
              u32 n = 0;
              for (u32 s = 0; kind && w <= widest && s <= w; ++s) n += rows[kRow * w + s];
              return n;
            },
            width);
        const auto here = W::map([=](u32 w) { return w <= widest && normalise(rows + kRow * w, w); }, width);
        const auto bits = W::map(
            [=](u32 w, bool is_here) {
              u32 n = w <= widest ? 1 : 0;
              if (is_here) each_part(rows + kRow * w, w, [&](u32, int length) { n += static_cast<u32>(length); });
              return n;
            },
            width, here);
        const auto end = W::scan_add(bits);
        W::each([&](u32 w, u32 own, u32 behind) { chunk.table_at[kind][w - 1] = at + behind - own; }, width, bits, end);
        at += W::broadcast(end, 31);
        blocks += W::reduce_add(values) / kBlock;
        have |= u64{W::ballot(here)} << half;
      }
      by_one_lane<W>([&] { (kind ? chunk.have_classes : chunk.have_widths) = have; });
    }
    by_one_lane<W>([&] {
      chunk.table_bits = at;
      chunk.sets = blocks >= kBlocksForTwoSets ? 2 : 1;
    });
  }

  // Codes the chunk, unless it cannot be shorter than its fixed form. Sets `dense`, `bytes` and the states.
  static STRETTO_DEVICE void encode(const ChunkRoom& room, u32 groups, ChunkShared& chunk) {
    const u32 fixed = (2 * groups + 3) / 4 * 4 + 4 * chunk.fixed_words;
    const u32 before = 4 * (1 + (chunk.low_bits + 31) / 32) + (chunk.table_bits + 7) / 8 + chunk.head_bytes;
    u32 taken = 0, bytes = (before + 3) / 4 * 4;
    const bool may_be_dense = chunk.dense;
    if (may_be_dense && before < fixed && chunk.widest) {
      typename W::template Lane<u32> states[2] = {W::splat(kLeastState), W::splat(kLeastState)};
      for (u32 i = groups; i-- > 0;) {
        const GroupHead& h = chunk.groups[i];
        if (h.verbatim || h.widest == 0) continue;
        const auto width = W::map([&](int b) { return u32{chunk.width[i][b]}; }, W::lane());
        const u32* const classes = reinterpret_cast<const u32*>(room.classes + kGroup * i);
        const auto load = [&](int q) { return W::map([=](int j) { return classes[32 * q + j]; }, W::lane()); };
        auto next = load(kBlocks / 4 - 1);
        STRETTO_ROLLED
        for (int q = kBlocks / 4 - 1; q >= 0; --q) {
          const auto four = next;
          if (q > 0) next = load(q - 1);
          STRETTO_UNROLL
          for (int k = 3; k >= 0; --k) {
            const u32 w = W::broadcast(width, 4 * q + k);
            if (w == 0) continue;
            const auto symbol = W::map([=](u32 v) { return v >> (8 * k) & 255; }, four);
            const u32* const row = chunk.classes + kRow * w;
            if (k % 2 && chunk.sets == 2)
              encode_step<W>(row, symbol, &states[1], room.words, &taken);
            else
              encode_step<W>(row, symbol, &states[0], room.words, &taken);
          }
        }
        encode_step<W>(chunk.widths + kRow * h.widest, width, &states[0], room.words, &taken);
      }
      W::each(
          [&](int j, u32 first, u32 second) {
            chunk.states[0][j] = first;
            chunk.states[1][j] = second;
          },
          W::lane(), states[0], states[1]);
      bytes = (before + 2 * taken + 3) / 4 * 4 + 4 * kStateBits * chunk.sets;
    }
    W::sync();  // all lanes have read `dense`
    by_one_lane<W>([&] {
      chunk.words_taken = taken;
      chunk.dense = may_be_dense && bytes < fixed;
      chunk.bytes = chunk.dense ? bytes : fixed;
    });
  }

  template <int kWarps>
  STRETTO_DEVICE void copy_groups(int w, u32 groups, const ChunkShared& chunk, u32* out) const {
    const u32 lengths = (groups + 1) / 2;
    const u32* const from = reinterpret_cast<const u32*>(index_.base + chunk.start);
    W::each(
        [&](int j) {
          const u32 first = static_cast<u32>(32 * w + j), step = 32 * kWarps;
          for (u32 i = first; i < lengths; i += step)
            out[i] = chunk.groups[2 * i].words | (2 * i + 1 < groups ? chunk.groups[2 * i + 1].words << 16 : 0);
          for (u32 i = first; i < chunk.fixed_words; i += step) out[lengths + i] = from[i];
        },
        W::lane());
  }

  static STRETTO_DEVICE void write_tables(const ChunkShared& chunk, u32* out) {
    const u32 widest = chunk.widest;
    by_one_lane<W>([&] { put_bits(out, 0, widest, 7); });
    for (u32 kind = 0; kind < 2; ++kind)
      W::each(
          [&](int j) {
            for (u32 w = static_cast<u32>(j) + 1; w <= widest; w += 32) {
              u32 at = chunk.table_at[kind][w - 1];
              const bool here = has(kind ? chunk.have_classes : chunk.have_widths, w);
              put_bits(out, at++, here, 1);
              if (!here) continue;
              each_part((kind ? chunk.classes : chunk.widths) + kRow * w, w, [&](u32 v, int length) {
                put_bits(out, at, v, length);
                at += static_cast<u32>(length);
              });
            }
          },
          W::lane());
  }

  // Writes a group's low bits, by planes. Groups share words at their ends.
  template <class Block>
  STRETTO_DEVICE void write_low(Block& block, u64 c, u32 i, int w, u32* out) const {
    const ChunkShared& chunk = block.chunk();
    const GroupHead& h = chunk.groups[i];
    if (h.verbatim || h.widest < 2) return;
    Group<W> g;
    parse(block, c, h.at, h.words, i, w, &g);
    u32 at = h.low / 32, bits = h.low % 32;
    u64 held = 0;
    each_coded_block(g, [&](int b, auto number) {
      const u32 width = W::broadcast(g.width, b);
      const auto own = W::map([](auto v) { return static_cast<u32>(bit_width(v)); }, number);
      STRETTO_ROLLED
      for (u32 k = 2; k <= width; ++k) {
        const u32 mask = W::ballot(W::map([=](u32 n) { return n >= k; }, own));
        const u32 part = W::reduce_or(W::map(
            [=](int j, auto v) {
              return mask >> j & 1 ? static_cast<u32>(v >> (k - 2) & 1) << popcount(mask & ((1u << j) - 1)) : 0u;
            },
            W::lane(), number));
        held |= u64{part} << bits;
        bits += static_cast<u32>(popcount(mask));
        if (bits >= 32) {
          const u32 full = static_cast<u32>(held);
          by_one_lane<W>([&] { or_bits(out + at, full); });
          ++at;
          held >>= 32;
          bits -= 32;
        }
      }
    });
    const u32 rest = static_cast<u32>(held);
    if (bits) by_one_lane<W>([&] { or_bits(out + at, rest); });
  }

  static STRETTO_DEVICE void write_group_head(const GroupHead& h, u8* heads) {
    u8* const out = heads + h.head;
    const u32 before = head_bytes(h);
    by_one_lane<W>([&] { write_head(h, out); });
    W::each(
        [&](int j) {
          for (u32 k = static_cast<u32>(j); k < 4 * h.exception_words; k += 32) out[before + k] = h.exceptions[k];
        },
        W::lane());
  }
  static STRETTO_DEVICE u32 head_bytes(const GroupHead& h) {
    return (h.widest >= kLongWidth ? 2u : 1u) + (has_base(h) ? number_bytes(h.base_number) : 0) +
           (has_slope(h) ? number_bytes(zigzag(h.slope)) : 0) +
           (h.exception_words && !h.verbatim ? number_bytes(h.exception_words) : 0);
  }

  // Padding, words and states, which end at `end`.
  template <int kWarps>
  static STRETTO_DEVICE void write_words(int w, const ChunkShared& chunk, const u16* words, u8* from, u8* end) {
    u8* const states = chunk.widest ? end - 4 * kStateBits * chunk.sets : end;
    u16* const first = reinterpret_cast<u16*>(states) - chunk.words_taken;
    W::each(
        [&](int j) {
          for (u32 k = static_cast<u32>(32 * w + j); k < chunk.words_taken; k += 32 * kWarps) first[k] = words[k];
          if (w == 0 && from + j < reinterpret_cast<u8*>(first)) from[j] = 0;
        },
        W::lane());
    if (w || chunk.widest == 0) return;
    for (u32 set = 0; set < chunk.sets; ++set) {
      const auto bits = transpose<W>(W::map([&](int j) { return chunk.states[set][j]; }, W::lane()));
      W::each(
          [&](int i, u32 v) {
            if (static_cast<u32>(i) < kStateBits)
              reinterpret_cast<u32*>(states)[kStateBits * set + static_cast<u32>(i)] = v;
          },
          W::lane(), bits);
    }
  }

  Header h_;
  Index index_;
  Layout layout_;
};

}  // namespace stretto::codec::cuda::dense
