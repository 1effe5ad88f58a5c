// Converts streams from one coding to the other. A block of warps measures a chunk, finds its place by look-back, and
// writes it. A block with more members than those of tile.hpp:
//   chunk(): a ChunkShared; room(): a ChunkRoom; scratch(w): 32 words
#pragma once

#include "codec/cuda/dense/chunk.hpp"

namespace stretto::codec::cuda::dense {

template <class Block>
using Found = typename Block::template PerWarp<WarpTotals>;

// Op: open(); measure(block, c, found) sets chunk().bytes; write(block, c, at, out, found) writes chunk c at byte
// `at` of the stream `out`. kVersion: of the result. header(): the operand's. body(layout): where chunks begin.
template <class Block, class Op>
class ChunkWriter {
  using W = typename Block::Warp;

 public:
  STRETTO_DEVICE ChunkWriter(Block& block, Op& op, const Output& o)
      : block_(block), op_(op), o_(o), layout_(layout_of(o.count)) {}

  STRETTO_DEVICE void run() {
    const Outcome opened = open_operation(block_, op_);
    Found<Block> found;
    block_.each_warp([&](int w) { found[w] = {0, 0, opened}; });
    if (opened == Outcome::ok) all_chunks(found);
    if (!gather(block_, found, o_.control)) return;
    block_.each_warp([&](int w) {
      if (w == 0) by_one_lane<W>([&] { finish(); });
    });
  }

 private:
  STRETTO_DEVICE void all_chunks(Found<Block>& found) {
    ChunkShared& chunk = block_.chunk();
    const auto next = [&] {
      block_.each_warp([&](int w) {
        if (w == 0) by_one_lane<W>([&] { chunk.tile = W::fetch_add(&o_.control->tiles, 1); });
      });
    };
    next();
    for (u64 c = chunk.tile; c < layout_.chunks; c = chunk.tile) {
      op_.measure(block_, c, found);
      block_.each_warp([&](int w) {
        if (w) return;
        const u64 words = chunk.bytes / 4, before = look_back<W>(o_.descriptors, c, words);
        by_one_lane<W>([&] {
          chunk.offset = op_.body(layout_) + 4 * before;
          if (c + 1 == layout_.chunks) W::write(&o_.control->words, before + words);
        });
      });
      if (chunk.offset + chunk.bytes <= o_.capacity)
        op_.write(block_, c, chunk.offset, o_.out, found);
      else
        block_.each_warp([&](int w) { note(Outcome::buffer_too_small, &found[w]); });
      next();
    }
  }

  STRETTO_DEVICE void finish() {
    const auto outcome = static_cast<Outcome>(W::read(&o_.control->outcome));
    u64 bytes = 0;
    if (outcome == Outcome::ok) {
      const u64 body = op_.body(layout_);
      if (Op::kVersion == kFixedVersion)
        for (u64 i = layout_.lengths + 2 * layout_.groups; i < body; ++i) o_.out[i] = 0;
      Header h = op_.header();
      h.exceptions = W::read(&o_.control->exceptions);
      h.bytes = bytes = body + 4 * W::read(&o_.control->words);
      write_header(h, o_.out, Op::kVersion);
    }
    *o_.result = {bytes, static_cast<u32>(outcome), 0};
  }

  Block& block_;
  Op& op_;
  const Output& o_;
  Layout layout_;
};

// Sets the place and words of each group, and fixed_words, by one warp. `pair`: a lane has two groups' lengths.
template <class W>
STRETTO_DEVICE void place_groups(typename W::template Lane<u32> pair, const u8* first, ChunkShared* c) {
  const auto sum = W::map([](u32 v) { return sum_of_pair(v); }, pair);
  const auto end = W::scan_add(sum);
  W::each(
      [=](int j, u32 two, u32 own, u32 behind) {
        GroupHead *a = c->groups + 2 * j, *b = a + 1;
        a->words = two & 0xffff;
        b->words = two >> 16;
        a->at = first + 4 * u64{behind - own};
        b->at = a->at + 4 * u64{a->words};
      },
      W::lane(), pair, sum, end);
  const u32 all = W::broadcast(end, 31);
  by_one_lane<W>([&] { c->fixed_words = all; });
}

// f(block, residuals) for each block of a width above 0.
template <class W, class F>
STRETTO_DEVICE void each_coded_block(const Group<W>& g, F f) {
  const bool is_unsigned = g.predictor == Predictor::none_unsigned;
  if (g.wide)
    each_block(g, [&](int b, auto e) {
      if (W::broadcast(g.width, b))
        f(b, W::map([=](i64 v) { return is_unsigned ? static_cast<u64>(v) : zigzag(v); }, e));
    });
  else
    each_narrow_block(g, [&](int b, auto e) {
      if (W::broadcast(g.width, b)) f(b, W::map([=](u32 v) { return is_unsigned ? v : v << 1 ^ (0 - (v >> 31)); }, e));
    });
}

STRETTO_DEVICE u32 groups_in(const Layout& l, u64 c) {
  const u64 left = l.groups - c * kChunk;
  return left < kChunk ? static_cast<u32>(left) : static_cast<u32>(kChunk);
}

}  // namespace stretto::codec::cuda::dense
