// StagedWriter for sums: the helper also prefetches the operands' groups of the next tile. Groups outside the fast path
// are written to device memory first; long ones are planned twice.
#pragma once

#include "codec/cuda/rows/plane_sum.hpp"
#include "codec/cuda/tile.hpp"

namespace stretto::codec::cuda {

struct SumShared {
  u64 tile[8];
  u64 place[8][kMaxWarps];
  u32 words[8][kMaxWarps];
  GroupPlace at[2][2][kMaxWarps];
  u64 behind;
  Layout layout;
  u64 tiles;
  WarpTotals found[kMaxWarps];
};
constexpr u32 kLater = 1u << 31;

template <class Block, class Op>
class SumWriter {
  using W = typename Block::Warp;
  static_assert(kChunk % Block::kWarps == 0, "a tile's groups are of one chunk");

 public:
  STRETTO_DEVICE SumWriter(Block& block, Op& op, const Output& o) : block_(block), op_(op), o_(o) {}

  STRETTO_DEVICE void run() {
    const Outcome opened = open_operation(block_, op_);
    WarpTotals* found = block_.sum_shared().found;
    block_.each_warp([&](int w) {
      by_one_lane<W>([&] {
        SumShared& shared = block_.sum_shared();
        found[w] = {0, 0, opened};
        if (w) return;
        shared.layout = layout_of(o_.count);
        shared.tiles = (shared.layout.groups + Block::kWarps - 1) / Block::kWarps;
      });
    });
    bool alone = false;
    u64 bound = 0, exceptions = 0, outcome = 0;
    for (;;) {
      if (opened == Outcome::ok) all_tiles(alone);
      if (alone) {
        block_.each_warp([&](int w) {
          by_one_lane<W>([&] { W::fetch_max(&o_.control->outcome, static_cast<u64>(found[w].outcome)); });
        });
        outcome = W::read(&o_.control->outcome);
        break;
      }
      if (!gather(block_, found, o_.control)) return;
      bound = W::read(&o_.control->bound);
      exceptions = W::read(&o_.control->exceptions);
      outcome = W::read(&o_.control->outcome);
      if (!Op::kMayWiden || !asks_again(found, bound, static_cast<Outcome>(outcome))) break;
      alone = true;
    }
    block_.each_warp([&](int w) {
      if (w == 0)
        by_one_lane<W>([&] {
          finish_stream<W>(op_, o_, block_.sum_shared().layout, bound, exceptions, static_cast<Outcome>(outcome));
        });
    });
  }

 private:
  STRETTO_DEVICE bool asks_again(WarpTotals* found, u64 bound, Outcome outcome) {
    if constexpr (!Op::kMayWiden) {
      return false;
    } else {
      block_.each_warp([&](int w) {
        // Narrow groups may need more room than wide ones.
        const bool fits =
            outcome == Outcome::ok || outcome == Outcome::buffer_too_small || outcome == Outcome::overflow;
        if (w == 0) by_one_lane<W>([&] { block_.shared().again = fits && op_.widen(bound); });
      });
      if (!block_.shared().again) return false;
      block_.each_warp([&](int w) {
        by_one_lane<W>([&] {
          found[w].outcome = Outcome::ok;
          if (w == 0) W::write(&o_.control->outcome, u64{0});
        });
      });
      return true;
    }
  }
  STRETTO_DEVICE void all_tiles(bool alone) {
    SumShared& shared = block_.sum_shared();
    block_.each_warp_and_helper(
        [](int) {},
        [&] {
          by_one_lane<W>([&] {
            const u64 first = alone ? 0 : W::fetch_add(&o_.control->tiles, 1);
            shared.tile[0] = first;
            shared.tile[1] = first >= shared.tiles ? shared.tiles : alone ? 1 : W::fetch_add(&o_.control->tiles, 1);
            shared.behind = 0;
          });
          W::sync();
          find(shared, 0);
        });
    for (u32 k = 0;; ++k) {
      block_.each_warp_and_helper([&](int w) { work(k, w, shared); }, [&] { help(k, shared, alone); });
      if (k && shared.tile[(k - 1) & 7] >= shared.tiles) break;
    }
  }
  STRETTO_DEVICE void find(SumShared& shared, u32 k) {
    const u64 tile = shared.tile[k & 7];
    if (tile < shared.tiles) op_.find(tile * Block::kWarps, Block::kWarps, shared.at[k & 1][0], shared.at[k & 1][1]);
  }

  STRETTO_DEVICE void work(u32 k, int w, SumShared& shared) {
    const u32 now = k & 7, old = (k - 2) & 7;
    const u64 tile = shared.tile[now], g = tile * Block::kWarps + static_cast<u64>(w);
    const auto memory = block_.memory(w, k & 1);
    if (k >= 2) {
      const u64 tile_old = shared.tile[old], g_old = tile_old * Block::kWarps + static_cast<u64>(w);
      if (tile_old < shared.tiles && g_old < shared.layout.groups)
        put(shared, w, k & 1, g_old, shared.place[old][w], shared.words[old][w], memory);
    }
    u32 words = 0;
    if (tile < shared.tiles && g < shared.layout.groups) {
      W::sync();
      Staged s;
      if (op_.stage(g, shared.at[k & 1][0][w], shared.at[k & 1][1][w], block_.stage(w, k & 1), memory.scratch, &s)) {
        words = s.words;
      } else {
        const auto own = memory;
        const Outcome o = op_.measure_apart(g, own, block_.kept(w, k & 1), &s);
        by_one_lane<W>([&] {
          note(o, &shared.found[w]);
          if (o == Outcome::ok && s.words > kMaxGroupWords) note(Outcome::overflow, &shared.found[w]);
        });
        words = o == Outcome::ok && s.words <= kMaxGroupWords ? s.words | kLater : 0;
        if (o != Outcome::ok) s = {0, 0, 0};
      }
      by_one_lane<W>([&] {
        WarpTotals& found = shared.found[w];
        found.bound = larger(found.bound, s.bound);
        found.exceptions += s.exceptions;
      });
    }
    by_one_lane<W>([&] { shared.words[now][w] = words; });
  }

  STRETTO_DEVICE void help(u32 k, SumShared& shared, bool alone) {
    const u32 before = (k - 1) & 7, later = (k + 2) & 7;
    auto asked = W::splat(shared.tiles);
    const u64 next = shared.tile[(k + 1) & 7];
    if (next < shared.tiles)
      asked =
          W::map([&](int j) { return j       ? u64{0}
                                     : alone ? next + 1
                                             : W::fetch_add(&o_.control->tiles, 1); }, W::lane());
    find(shared, k + 1);
    if (k && shared.tile[before] < shared.tiles) {
      const u64 tile = shared.tile[before];
      const auto own =
          W::map([&](int j) { return j < Block::kWarps ? shared.words[before][j] & ~kLater : 0; }, W::lane());
      const auto end = W::scan_add(own);
      const u64 sum = W::broadcast(end, 31);
      const u64 offset = alone ? shared.behind : look_back<W>(o_.descriptors, tile, sum);
      W::sync();
      W::each(
          [&](int j, u32 words, u32 behind) {
            if (j < Block::kWarps) shared.place[before][j] = offset + (behind - words);
            if (j == 0 && tile + 1 == shared.tiles) W::write(&o_.control->words, offset + sum);
            if (j == 0) shared.behind = offset + sum;
          },
          W::lane(), own, end);
    }
    W::each(
        [&](int j, u64 t) {
          if (j == 0) shared.tile[later] = t;
        },
        W::lane(), asked);
  }

  template <class Memory>
  STRETTO_DEVICE void put(SumShared& shared, int w, u32 half, u64 g, u64 words_before, u32 words_of,
                          const Memory& memory) {
    const u64 at = shared.layout.body + 4 * words_before;
    u8* out = o_.out;
    const u64 lengths = shared.layout.lengths;
    const u32 words = words_of & ~kLater;
    by_one_lane<W>([&] {
      *reinterpret_cast<u16*>(out + lengths + 2 * g) = static_cast<u16>(words);
      if (g % kChunk == 0) *reinterpret_cast<u64*>(out + kHeaderBytes + 8 * (g / kChunk)) = at;
    });
    if (at + 4 * u64{words} > o_.capacity) {
      by_one_lane<W>([&] { note(Outcome::buffer_too_small, &shared.found[w]); });
      return;
    }
    u32* to = reinterpret_cast<u32*>(out + at);
    if (!(words_of & kLater)) {
      copy_image<W>(block_.stage(w, half) + kStagedWords - words, words, to);
    } else if (words <= kKeptWords) {
      copy_image<W>(block_.kept(w, half), words, to);
    } else {
      const Memory own = memory;
      op_.write_apart(g, own, to);
    }
  }

  Block& block_;
  Op& op_;
  const Output& o_;
};

}  // namespace stretto::codec::cuda
