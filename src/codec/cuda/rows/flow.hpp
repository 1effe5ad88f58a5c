// How warps share an operation on float32 that writes a stream. A warp takes a group, puts it together in memory of its
// own, publishes how many words it has, and takes the next one. It copies a group to the stream when its memory is
// wanted again, by when the group's place is known. One warp of the grid, the scanner, adds up what all publish. So no
// warp waits for another of its block, and nobody for others but for places.
//
// Groups are handed out in order, and a warp publishes a group before it waits for a place. So a warp waits only for
// words that running warps are about to publish, and for the scanner, which runs.
#pragma once

#include "codec/cuda/rows/plane_sum.hpp"
#include "codec/cuda/tile.hpp"

namespace stretto::codec::cuda {

#ifndef FLOW_WORDS
#define FLOW_WORDS (2 * kStagedWords)
#endif
constexpr u32 kFlowWords = FLOW_WORDS, kPendings = 8;
constexpr u32 kWordsKnown = 1u << 31;
constexpr u64 kPlaceKnown = u64{1} << 63;
constexpr u64 kRowGroups = 32;

// In device memory, zeros before the call: of each group its words, with kWordsKnown; of every 32 the words before them,
// with kPlaceKnown.
struct Places {
  u32* words;
  u64* rows;
};
STRETTO_DEVICE u64 rows_of(u64 groups) { return (groups + kRowGroups - 1) / kRowGroups; }
constexpr u64 places_bytes(u64 groups) { return (groups + kRowGroups - 1) / kRowGroups * (4 * kRowGroups + 8); }
STRETTO_DEVICE Places places_of(u64* descriptors, u64 groups) {
  return {reinterpret_cast<u32*>(descriptors), descriptors + rows_of(groups) * (kRowGroups / 2)};
}

// Words before group g; false if they are not known yet.
template <class W>
STRETTO_DEVICE bool words_before(const Places& p, u64 g, u64* before) {
  const u64 row = g / kRowGroups;
  const u32 i = static_cast<u32>(g % kRowGroups);
  const u32* words = p.words + row * kRowGroups;
  const u64* base = p.rows + row;
  const auto seen =
      W::map([=](int j) { return static_cast<u32>(j) < i ? W::read(words + j) : kWordsKnown; }, W::lane());
  const auto start = W::map([=](int) { return W::read(base); }, W::lane());
  if (W::any(W::map([](u32 v, u64 s) { return !(v & kWordsKnown) || !(s & kPlaceKnown); }, seen, start))) return false;
  *before = (W::broadcast(start, 0) & ~kPlaceKnown) + W::reduce_add(W::map([](u32 v) { return v & ~kWordsKnown; }, seen));
  return true;
}

// Adds up the words of all groups, in rounds of up to 1,024.
template <class W>
class Scanner {
 public:
  STRETTO_DEVICE Scanner(const Places& p, u64 groups) : p_(p), rows_(rows_of(groups)) {
    const u64 padded = rows_ * kRowGroups;
    W::each(
        [=](int j) {
          if (groups + static_cast<u64>(j) < padded) W::write(p.words + groups + j, kWordsKnown);
          if (j == 0 && rows_of(groups)) W::write(p.rows, kPlaceKnown);
        },
        W::lane());
    W::sync();
  }
  STRETTO_DEVICE u64 words() const { return sum_; }
  // False: all is known.
  STRETTO_DEVICE bool round() {
    if (row_ >= rows_) return false;
    const u64 first = row_, rows = rows_, sum = sum_;
    const u32* words = p_.words;
    u64* places = p_.rows;
    const auto seen = W::map(
        [=](int j) {
          if (first + static_cast<u64>(j) >= rows) return 0u;
          const u32* row = words + (first + static_cast<u64>(j)) * kRowGroups;
          u32 all = kWordsKnown, total = 0;
          STRETTO_UNROLL
          for (int k = 0; k < 8; ++k) {
            const Quad<u32> q = W::read_quad(row + 4 * k);
            STRETTO_UNROLL
            for (int c = 0; c < 4; ++c) {
              all &= q.v[c];
              total += q.v[c];
            }
          }
          return all ? kWordsKnown | total : 0u;
        },
        W::lane());
    const u32 known = W::ballot(W::map([](u32 v) { return v != 0; }, seen));
    const int n = trailing_zeros(~known);
    if (n == 0) {
      W::pause();
      return true;
    }
    const auto own = W::map([=](int j, u32 v) { return j < n ? v & ~kWordsKnown : 0u; }, W::lane(), seen);
    const auto end = W::scan_add(own);
    W::each(
        [=](int j, u32 last) {
          const u64 next = first + static_cast<u64>(j) + 1;
          if (j < n && next < rows) W::write(places + next, kPlaceKnown | (sum + last));
        },
        W::lane(), end);
    sum_ += W::broadcast(end, 31);
    row_ += static_cast<u64>(n);
    return true;
  }

 private:
  Places p_;
  u64 rows_, row_ = 0, sum_ = 0;
};

// A group that waits for its place.
struct Pending {
  u64 g;
  u32 at, words;
};
struct FlowState {
  u64 group, next;
  u32 top, begin, end;
  GroupPlace at[2][2];
  Pending pending[kPendings];
};
struct FlowShared {
  u32 scans;
  Layout layout;
  Places places;
  Found found[kMaxWarps];
};

template <class Block, class Op>
class FlowWriter {
  using W = typename Block::Warp;
  static_assert(Block::kWarps > 1);

 public:
  STRETTO_DEVICE FlowWriter(Block& block, Op& op, const Output& o) : block_(block), op_(op), o_(o) {}

  STRETTO_DEVICE void run() {
    const Outcome opened = open_operation(block_, op_);
    FlowShared& shared = block_.flow();
    block_.each_warp([&](int w) {
      by_one_lane<W>([&] {
        shared.found[w] = {0, 0, opened};
        if (w) return;
        shared.layout = layout_of(o_.count);
        shared.places = places_of(o_.descriptors, shared.layout.groups);
        shared.scans = W::fetch_add(&o_.control->begun, 1) == 0;
      });
    });
    bool alone = false;
    u64 bound = 0, exceptions = 0, outcome = 0;
    for (;;) {
      if (opened == Outcome::ok) all_groups();
      if (alone) {
        block_.each_warp([&](int w) {
          by_one_lane<W>([&] { W::fetch_max(&o_.control->outcome, static_cast<u64>(shared.found[w].outcome)); });
        });
        outcome = W::read(&o_.control->outcome);
        break;
      }
      if (!gather(block_, shared.found, o_.control)) return;
      bound = W::read(&o_.control->bound);
      exceptions = W::read(&o_.control->exceptions);
      outcome = W::read(&o_.control->outcome);
      if (!Op::kMayWiden || !asks_again(bound, static_cast<Outcome>(outcome))) break;
      alone = true;
    }
    block_.each_warp([&](int w) {
      if (w == 0)
        by_one_lane<W>([&] {
          finish_stream<W>(op_, o_, shared.layout, bound, exceptions, static_cast<Outcome>(outcome));
        });
    });
  }

 private:
  // Whether all groups are to be done once more, by this block, which is the last to end.
  STRETTO_DEVICE bool asks_again(u64 bound, Outcome outcome) {
    if constexpr (!Op::kMayWiden) {
      return false;
    } else {
      FlowShared& shared = block_.flow();
      block_.each_warp([&](int w) {
        // Sums that fit no narrow code may take more room than wide ones.
        const bool fits =
            outcome == Outcome::ok || outcome == Outcome::buffer_too_small || outcome == Outcome::overflow;
        if (w == 0) by_one_lane<W>([&] { block_.shared().again = fits && op_.widen(bound); });
      });
      if (!block_.shared().again) return false;
      block_.each_warp([&](int w) {
        by_one_lane<W>([&] {
          shared.found[w].outcome = Outcome::ok;
          if (w) return;
          W::write(&o_.control->outcome, u64{0});
          W::write(&o_.control->tiles, u64{0});
          shared.scans = 1;
        });
        const u64 all = rows_of(shared.layout.groups) * (kRowGroups / 2 + 1);
        u64* descriptors = o_.descriptors;
        for (u64 first = 32 * static_cast<u64>(w); first < all; first += 32 * Block::kWarps)
          W::each(
              [=](int j) {
                if (first + static_cast<u64>(j) < all) W::write(descriptors + first + j, u64{0});
              },
              W::lane());
      });
      return true;
    }
  }
  STRETTO_DEVICE void all_groups() {
    FlowShared& shared = block_.flow();
    block_.each_warp_and_scanner(
        shared.scans != 0, [&](int w) { work(w); }, [&] { return Scanner<W>(shared.places, shared.layout.groups); },
        [&](const Scanner<W>& s) { by_one_lane<W>([&] { W::write(&o_.control->words, s.words()); }); });
  }

  STRETTO_DEVICE void work(int w) {
    const FlowShared& shared = block_.flow();
    FlowState& s = block_.state(w);
    const u64 groups = shared.layout.groups;
    u32* memory = block_.flow_memory(w);
    by_one_lane<W>([&] {
      s.group = W::fetch_add(&o_.control->tiles, 1);
      s.next = s.group < groups ? W::fetch_add(&o_.control->tiles, 1) : groups;
      s.top = kFlowWords;
      s.begin = s.end = 0;
    });
    W::sync();
    if constexpr (Op::kSums)
      if (s.group < groups) op_.find(s.group, op_.indices(s.group), s.at[0]);
    for (u32 k = 0;; k ^= 1) {
      W::sync();
      const u64 g = s.group, next = s.next;
      if (g >= groups) break;
      auto asked = W::splat(groups);
      if (next < groups)
        asked = W::map([&](int j) { return j == 0 ? W::fetch_add(&o_.control->tiles, 1) : u64{0}; }, W::lane());
      const bool more = next < groups;
      u32 top = s.top;
      if (top < kStagedWords) top = kFlowWords;
      u32* window = memory + (top - kStagedWords);
      Staged staged{0, 0, 0};
      bool later = false;
      if constexpr (Op::kSums) {
        const auto index = op_.indices(more ? next : g);
        make_room(w, s, top);
        W::sync();
        if (more) op_.find(next, index, s.at[k ^ 1]);
        W::sync();
        later = !op_.stage(g, s.at[k][0], s.at[k][1], reinterpret_cast<i32*>(window), block_.flow_scratch(w), &staged);
        if (later) {
          const auto own = block_.memory(w, window);
          const Outcome o = op_.measure_apart(g, own, &staged);
          by_one_lane<W>([&] {
            note(o, &block_.flow().found[w]);
            if (o == Outcome::ok && staged.words > kMaxGroupWords) note(Outcome::overflow, &block_.flow().found[w]);
          });
          if (o != Outcome::ok) staged = {0, 0, 0};
          if (staged.words > kMaxGroupWords) staged.words = 0;
        }
      } else {
        if (more) op_.announce(next);
        make_room(w, s, top);
        W::sync();
        op_.load(g, window);
        staged = op_.stage(g, window, block_.flow_scratch(w));
      }
      const u64 after = W::broadcast(asked, 0);
      by_one_lane<W>([&] {
        W::write(block_.flow().places.words + g, kWordsKnown | staged.words);
        Found& found = block_.flow().found[w];
        found.bound = larger(found.bound, staged.bound);
        found.exceptions += staged.exceptions;
        s.pending[s.end % kPendings] = {g, later ? kFlowWords : top - staged.words, staged.words};
        ++s.end;
        s.top = later ? kFlowWords : (top - staged.words) & ~3u;
        s.group = next;
        s.next = after;
      });
      W::sync();
      if (Op::kSums && later) put_out(w, s, s.end - s.begin);
    }
    put_out(w, s, s.end - s.begin);
  }

  // Copies out what lies where the next group is to be put together.
  STRETTO_DEVICE void make_room(int w, FlowState& s, u32 top) {
    const u32 begin = s.begin, n = s.end - begin;
    const u32 in_the_way = W::ballot(W::map(
        [&](int j) {
          const Pending& p = s.pending[(begin + static_cast<u32>(j)) % kPendings];
          return static_cast<u32>(j) < n && p.at < top && p.at + p.words > top - kStagedWords;
        },
        W::lane()));
    const u32 most = static_cast<u32>(bit_width(in_the_way)), full = n == kPendings;
    put_out(w, s, most > full ? most : full);
  }
  STRETTO_DEVICE void put_out(int w, FlowState& s, u32 n) {
    STRETTO_ROLLED
    for (; n; --n) {
      const Pending p = s.pending[s.begin % kPendings];
      u64 before = 0;
      while (!words_before<W>(block_.flow().places, p.g, &before)) {
        block_.while_waiting();
        W::pause();
      }
      put(w, p, before);
      W::sync();
      by_one_lane<W>([&] { ++s.begin; });
      W::sync();
    }
  }
  STRETTO_DEVICE void put(int w, const Pending& p, u64 words_before) {
    const Layout& layout = block_.flow().layout;
    const u64 at = layout.body + 4 * words_before, lengths = layout.lengths, g = p.g;
    const u32 words = p.words;
    u8* out = o_.out;
    by_one_lane<W>([&] {
      *reinterpret_cast<u16*>(out + lengths + 2 * g) = static_cast<u16>(words);
      if (g % kChunk == 0) *reinterpret_cast<u64*>(out + kHeaderBytes + 8 * (g / kChunk)) = at;
    });
    if (at + 4 * u64{words} > o_.capacity) {
      by_one_lane<W>([&] { note(Outcome::buffer_too_small, &block_.flow().found[w]); });
      return;
    }
    u32* to = reinterpret_cast<u32*>(out + at);
    if constexpr (Op::kSums) {
      if (p.at == kFlowWords) {
        if (words == 0) return;
        W::sync();
        const auto own = block_.memory(w, block_.flow_memory(w));
        op_.write_apart(g, own, to);
        return;
      }
    }
    const u32* image = block_.flow_memory(w) + p.at;
    W::each(
        [=](int j) {
          u32 i = static_cast<u32>(j);
          const u32* own = image + i;
          u32* its = to + i;
          STRETTO_ROLLED
          for (; i + 96 < words; i += 128, own += 128, its += 128) {
            const u32 v0 = own[0], v1 = own[32], v2 = own[64], v3 = own[96];
            its[0] = v0;
            its[32] = v1;
            its[64] = v2;
            its[96] = v3;
          }
          if (i < words) its[0] = own[0];
          if (i + 32 < words) its[32] = own[32];
          if (i + 64 < words) its[64] = own[64];
        },
        W::lane());
  }

  Block& block_;
  Op& op_;
  const Output& o_;
};

}  // namespace stretto::codec::cuda
