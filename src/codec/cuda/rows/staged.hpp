#pragma once

#include "codec/cuda/rows/compress_rows.hpp"
#include "codec/cuda/tile.hpp"

namespace stretto::codec::cuda {

// The latest tiles, by their number modulo 8.
struct StagedShared {
  u64 tile[8];
  u64 place[8][kMaxWarps];
  u32 words[8][kMaxWarps];
  WarpTotals found[kMaxWarps];
};

// Writes a stream by a block with a helper warp. Warps compress a tile to their memory. Meanwhile the helper finds the
// previous tile's place, and the tile before that is copied to the stream. So no warp waits for other blocks. The
// look-back ends: a block announces a tile's words after waiting for its earlier tiles only.
template <class Block, class Op>
class StagedWriter {
  using W = typename Block::Warp;

 public:
  STRETTO_DEVICE StagedWriter(Block& block, Op& op, const Output& o)
      : block_(block),
        op_(op),
        o_(o),
        layout_(layout_of(o.count)),
        tiles_((layout_.groups + Block::kWarps - 1) / Block::kWarps) {}

  STRETTO_DEVICE void run() {
    const Outcome opened = open_operation(block_, op_);
    WarpTotals* found = block_.staged().found;
    block_.each_warp([&](int w) { by_one_lane<W>([&] { found[w] = {0, 0, opened}; }); });
    if (opened == Outcome::ok) all_tiles();
    if (!gather(block_, found, o_.control)) return;
    block_.each_warp([&](int w) {
      if (w == 0)
        by_one_lane<W>([&] {
          finish_stream<W>(op_, o_, layout_, W::read(&o_.control->bound), W::read(&o_.control->exceptions),
                           static_cast<Outcome>(W::read(&o_.control->outcome)));
        });
    });
  }

 private:
  STRETTO_DEVICE void all_tiles() {
    StagedShared& shared = block_.staged();
    block_.each_warp_and_helper([](int) {},
                                [&] {
                                  by_one_lane<W>([&] {
                                    const u64 first = W::fetch_add(&o_.control->tiles, 1);
                                    shared.tile[0] = first;
                                    shared.tile[1] = first < tiles_ ? W::fetch_add(&o_.control->tiles, 1) : tiles_;
                                  });
                                });
    for (u32 k = 0;; ++k) {
      block_.each_warp_and_helper([&](int w) { work(k, w, shared); }, [&] { help(k, shared); });
      if (k && shared.tile[(k - 1) & 7] >= tiles_) break;
    }
  }

  STRETTO_DEVICE void work(u32 k, int w, StagedShared& shared) {
    const u32 now = k & 7, next = (k + 1) & 7, old = (k - 2) & 7;
    const u64 tile = shared.tile[now], g = tile * Block::kWarps + static_cast<u64>(w);
    const u64 g_next = shared.tile[next] * Block::kWarps + static_cast<u64>(w);
    const bool some = tile < tiles_ && g < layout_.groups;
    u32* memory = block_.stage(w, k & 1);
    if (g_next < layout_.groups) op_.announce(g_next);
    if (k >= 2) {
      const u64 g_old = shared.tile[old] * Block::kWarps + static_cast<u64>(w);
      if (g_old < layout_.groups) copy(g_old, shared.place[old][w], shared.words[old][w], memory, shared.found[w]);
    }
    u32 words = 0;
    if (some) {
      W::sync();
      op_.load(g, memory);
      const Staged s = op_.stage(g, memory, block_.scratch(w));
      words = s.words;
      by_one_lane<W>([&] {
        WarpTotals& found = shared.found[w];
        found.bound = larger(found.bound, s.bound);
        found.exceptions += s.exceptions;
      });
    }
    by_one_lane<W>([&] { shared.words[now][w] = words; });
  }

  STRETTO_DEVICE void help(u32 k, StagedShared& shared) {
    const u32 before = (k - 1) & 7, later = (k + 2) & 7;
    auto asked = W::splat(tiles_);
    if (shared.tile[(k + 1) & 7] < tiles_)
      asked = W::map([&](int j) { return j == 0 ? W::fetch_add(&o_.control->tiles, 1) : u64{0}; }, W::lane());
    if (k && shared.tile[before] < tiles_) {
      const u64 tile = shared.tile[before];
      const auto own = W::map([&](int j) { return j < Block::kWarps ? shared.words[before][j] : 0; }, W::lane());
      const auto end = W::scan_add(own);
      const u64 sum = W::broadcast(end, 31), offset = look_back<W>(o_.descriptors, tile, sum);
      W::each(
          [&](int j, u32 words, u32 behind) {
            if (j < Block::kWarps) shared.place[before][j] = offset + (behind - words);
            if (j == 0 && tile + 1 == tiles_) W::write(&o_.control->words, offset + sum);
          },
          W::lane(), own, end);
    }
    W::each(
        [&](int j, u64 t) {
          if (j == 0) shared.tile[later] = t;
        },
        W::lane(), asked);
  }

  STRETTO_DEVICE void copy(u64 g, u64 words_before, u32 words, const u32* from, WarpTotals& found) {
    const u64 at = layout_.body + 4 * words_before;
    u8* out = o_.out;
    const Layout l = layout_;
    by_one_lane<W>([&] {
      *reinterpret_cast<u16*>(out + l.lengths + 2 * g) = static_cast<u16>(words);
      if (g % kChunk == 0) *reinterpret_cast<u64*>(out + kHeaderBytes + 8 * (g / kChunk)) = at;
    });
    if (at + 4 * u64{words} > o_.capacity) {
      by_one_lane<W>([&] { note(Outcome::buffer_too_small, &found); });
      return;
    }
    u32* to = reinterpret_cast<u32*>(out + at);
    W::each(
        [=](int j) {
          u32 i = static_cast<u32>(j);
          const u32* own = from + (kStagedWords - words) + i;
          u32* its = to + i;
          STRETTO_ROLLED
          for (; i + 32 < words; i += 64, own += 64, its += 64) {
            const u32 first = own[0], second = own[32];
            its[0] = first;
            its[32] = second;
          }
          if (i < words) its[0] = own[0];
        },
        W::lane());
  }

  Block& block_;
  Op& op_;
  const Output& o_;
  Layout layout_;
  u64 tiles_;
};

}  // namespace stretto::codec::cuda
