// One kernel writes a stream in one pass. Each warp plans a group of the tile, the block finds the tile's place by
// look-back, and each warp writes its group. The last block to end (Control::finished) writes the header. Reading a
// stream, warps take groups in turn and wait for none.
//
// Block is block_hardware.hpp's or block_emulated.hpp's:
//   Warp, kWarps; each_warp(f): f(w) for its warps w, then a barrier; PerWarp<T>: state[w] of a warp
//   shared(): a Shared; memory(w): warp w's Memory; index(), blocks()
// All warps of a block see one operation object.
#pragma once

#include "codec/cuda/look_back.hpp"
#include "codec/cuda/stream.hpp"

namespace stretto::codec::cuda {

constexpr int kMaxWarps = 16;

// In device memory, zeros before the call; the look-back's descriptors follow.
struct Control {
  u64 tiles;       // handed out
  u64 finished;    // blocks
  u64 bound;       // the largest
  u64 exceptions;  // their sum
  u64 words;       // of all groups
  u64 outcome;     // the largest
  u64 range[3];    // as Range finds it
};

struct Shared {
  u64 tile, offset;
  u32 words[kMaxWarps];
  u32 last;
  u32 outcome;  // of opening the operation
  u32 again;
};

struct WarpTotals {
  u64 bound, exceptions;
  Outcome outcome;
};

STRETTO_DEVICE void note(Outcome o, WarpTotals* f) {
  if (static_cast<u32>(o) > static_cast<u32>(f->outcome)) f->outcome = o;
}

struct Output {
  u8* out;
  u64 capacity;
  u64 count;
  Control* control;
  u64* descriptors;
  Result* result;
};

template <class W, class F>
STRETTO_DEVICE void by_one_lane(F f) {
  W::each(
      [&](int j) {
        if (j == 0) f();
      },
      W::lane());
}

template <class Block, class Op>
STRETTO_DEVICE Outcome open_operation(Block& block, Op& op) {
  using W = typename Block::Warp;
  block.each_warp([&](int w) {
    if (w == 0) by_one_lane<W>([&] { block.shared().outcome = static_cast<u32>(op.open()); });
  });
  return static_cast<Outcome>(block.shared().outcome);
}

template <class Block, class PerWarp>
STRETTO_DEVICE bool gather(Block& block, PerWarp& found, Control* control) {
  using W = typename Block::Warp;
  block.each_warp([&](int w) {
    const WarpTotals& f = found[w];
    by_one_lane<W>([&] {
      if (f.bound) W::fetch_max(&control->bound, f.bound);
      if (f.exceptions) W::fetch_add(&control->exceptions, f.exceptions);
      if (f.outcome != Outcome::ok) W::fetch_max(&control->outcome, static_cast<u64>(f.outcome));
    });
  });
  block.each_warp([&](int w) {
    if (w == 0)
      by_one_lane<W>([&] {
        W::fence();  // after the block's barrier, by the thread that announces its end: covers all warps' writes
        block.shared().last = W::fetch_add(&control->finished, 1) + 1 == block.blocks();
        W::fence();
      });
  });
  return block.shared().last != 0;
}

// One lane of the last block calls this.
template <class W, class Op>
STRETTO_DEVICE void finish_stream(const Op& op, const Output& o, const Layout& l, u64 bound, u64 exceptions,
                                  Outcome outcome) {
  Header h;
  if (outcome == Outcome::ok) outcome = op.finish(bound, &h);
  u64 bytes = 0;
  if (outcome == Outcome::ok) {
    for (u64 i = l.lengths + 2 * l.groups; i < l.body; ++i) o.out[i] = 0;
    h.exceptions = exceptions;
    h.bytes = bytes = l.body + 4 * W::read(&o.control->words);
    write_header(h, o.out);
  }
  *o.result = {bytes, static_cast<u32>(outcome), 0};
}

template <class Block, class Op>
class StreamWriter {
  using W = typename Block::Warp;
  using State = typename Op::State;
  static_assert(Block::kWarps > 1);

 public:
  STRETTO_DEVICE StreamWriter(Block& block, Op& op, const Output& o)
      : block_(block),
        op_(op),
        o_(o),
        layout_(layout_of(o.count)),
        tiles_((layout_.groups + Block::kWarps - 1) / Block::kWarps) {}

  STRETTO_DEVICE void run() {
    const Outcome opened = open_operation(block_, op_);
    typename Block::template PerWarp<WarpTotals> found;
    block_.each_warp([&](int w) { found[w] = {0, 0, opened}; });
    if (opened == Outcome::ok) all_tiles(found, false);
    if (!gather(block_, found, o_.control)) return;
    u64 exceptions = W::read(&o_.control->exceptions), outcome = W::read(&o_.control->outcome);
    const u64 bound = W::read(&o_.control->bound);
    if constexpr (Op::kMayWiden) {
      block_.each_warp([&](int w) {
        const auto o = static_cast<Outcome>(outcome);
        const bool fits = o == Outcome::ok || o == Outcome::buffer_too_small || o == Outcome::overflow;
        if (w == 0) by_one_lane<W>([&] { block_.shared().again = fits && op_.widen(bound); });
      });
      if (block_.shared().again) {
        block_.each_warp([&](int w) {
          found[w].outcome = Outcome::ok;
          if (w == 0) by_one_lane<W>([&] { W::write(&o_.control->outcome, u64{0}); });
        });
        all_tiles(found, true);
        block_.each_warp([&](int w) {
          by_one_lane<W>([&] { W::fetch_max(&o_.control->outcome, static_cast<u64>(found[w].outcome)); });
        });
        outcome = W::read(&o_.control->outcome);
      }
    }
    block_.each_warp([&](int w) {
      if (w == 0)
        by_one_lane<W>([&] { finish_stream<W>(op_, o_, layout_, bound, exceptions, static_cast<Outcome>(outcome)); });
    });
  }

 private:
  STRETTO_DEVICE void all_tiles(typename Block::template PerWarp<WarpTotals>& found, bool alone) {
    Shared& shared = block_.shared();
    typename Block::template PerWarp<State> state;
    u64 behind = 0;
    block_.each_warp([&](int w) {
      if (w == 0) by_one_lane<W>([&] { shared.tile = alone ? 0 : W::fetch_add(&o_.control->tiles, 1); });
    });
    for (u64 tile = shared.tile; tile < tiles_; tile = shared.tile) {
      block_.each_warp([&](int w) {
        const u64 g = tile * Block::kWarps + static_cast<u64>(w);
        const u32 words = g < layout_.groups ? plan(g, block_.memory(w), state[w], found[w]) : 0;
        by_one_lane<W>([&] { shared.words[w] = words; });
      });
      block_.each_warp([&](int w) {
        // Another warp's request overlaps the latencies.
        if (w == 1) by_one_lane<W>([&] { shared.tile = alone ? tile + 1 : W::fetch_add(&o_.control->tiles, 1); });
        if (w) return;
        u64 sum = 0;
        for (int k = 0; k < Block::kWarps; ++k) sum += shared.words[k];
        const u64 offset = alone ? behind : look_back<W>(o_.descriptors, tile, sum);
        by_one_lane<W>([&] {
          shared.offset = offset;
          if (tile + 1 == tiles_) W::write(&o_.control->words, offset + sum);
        });
      });
      block_.each_warp([&](int w) {
        const u64 g = tile * Block::kWarps + static_cast<u64>(w);
        u64 at = shared.offset;
        for (int k = 0; k < w; ++k) at += shared.words[k];
        if (g < layout_.groups) write(g, at, shared.words[w], block_.memory(w), state[w], found[w]);
      });
      if (alone) {
        for (int k = 0; k < Block::kWarps; ++k) behind += shared.words[k];
        block_.each_warp([](int) {});
      }
    }
  }

  template <class Memory>
  STRETTO_DEVICE u32 plan(u64 g, const Memory& memory, State& state, WarpTotals& found) {
    const Outcome o = op_.plan(g, memory, &state);
    note(o, &found);
    if (o != Outcome::ok) return 0;
    found.bound = larger(found.bound, Op::bound(state));
    found.exceptions += Op::exceptions(state);
    if (Op::words(state) <= kMaxGroupWords) return Op::words(state);
    note(Outcome::overflow, &found);
    return 0;
  }

  template <class Memory>
  STRETTO_DEVICE void write(u64 g, u64 words_before, u32 words, const Memory& memory, const State& state,
                            WarpTotals& found) {
    const u64 at = layout_.body + 4 * words_before;
    u8* out = o_.out;
    const Layout l = layout_;
    by_one_lane<W>([&] {
      *reinterpret_cast<u16*>(out + l.lengths + 2 * g) = static_cast<u16>(words);
      if (g % kChunk == 0) *reinterpret_cast<u64*>(out + kHeaderBytes + 8 * (g / kChunk)) = at;
    });
    if (at + 4 * u64{words} > o_.capacity)
      note(Outcome::buffer_too_small, &found);
    else if (words && found.outcome == Outcome::ok)
      op_.write(g, memory, state, reinterpret_cast<u32*>(out + at));
  }

  Block& block_;
  Op& op_;
  const Output& o_;
  Layout layout_;
  u64 tiles_;
};

// Runs an operation without a result stream: group by group, or by run_from. A Tally (optional) is a lane's sum over
// its groups. After success one lane calls done(control), which returns the result's bytes.
template <class Block, class Op, class Done>
STRETTO_DEVICE void each_group(Block& block, Op& op, u64 count, Control* control, Result* result, Done done) {
  using W = typename Block::Warp;
  const u64 groups = layout_of(count).groups;
  const Outcome opened = open_operation(block, op);
  typename Block::template PerWarp<WarpTotals> found;
  block.each_warp([&](int w) {
    found[w] = {0, 0, opened};
    if (opened != Outcome::ok) return;
    const u32 stride = static_cast<u32>(block.blocks()) * Block::kWarps;
    const u64 first = block.index() * Block::kWarps + static_cast<u64>(w);
    if constexpr (requires { typename Op::Tally; }) {
      auto tally = W::splat(Op::nothing());
      for (u64 g = first; g < groups; g += stride) note(op.run(g, block.memory(w), &tally), &found[w]);
      op.add(tally);
    } else if constexpr (requires { op.run_from(first, stride, block.memory(w)); }) {
      note(op.run_from(first, stride, block.memory(w)), &found[w]);
    } else {
      for (u64 g = first; g < groups; g += stride) note(op.run(g, block.memory(w)), &found[w]);
    }
  });
  if (!gather(block, found, control)) return;
  block.each_warp([&](int w) {
    if (w == 0)
      by_one_lane<W>([&] {
        const u64 outcome = W::read(&control->outcome);
        *result = {outcome ? 0 : done(control), static_cast<u32>(outcome), 0};
      });
  });
}

}  // namespace stretto::codec::cuda
