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

// Words of a warp's ring, which holds any group.
constexpr u32 kRing = kStagedWords, kPendings = 8;
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
// What a warp knows from one group to the next.
struct FlowState {
  u64 group, next, asked;
  u32 left, next_left;  // groups of this ticket, and of the next
  u32 fill, begin, end, turn;
  u32 fresh;           // the ticket is new: the next is not asked for yet
  u64 put, put_words;  // the group after the last that was put out, and the words before it
  GroupPlace at[2][4];  // of two tickets: first and second group of either operand
  Pending pending[kPendings];
};
struct FlowShared {
  u32 scans;
  u64 pairs;  // tickets for two groups; later ones are for one, so that warps end together
  Layout layout;
  Places places;
  Found found[kMaxWarps];
};

// A warp's part. What is usual calls no function, so that all its registers are its own; what is not is done by apart().
template <class Block, class Op>
class FlowWorker {
  using W = typename Block::Warp;
  static_assert(Op::kWindow % 4 == 0 && kRing % 4 == 0);

 public:
  STRETTO_DEVICE FlowWorker(typename Block::Handle block, Op* op, const Output* o)
      : block_(Block::of(block)), op_(*in_shared(op)), o_(*in_shared(o)) {}

  STRETTO_DEVICE void begin(int w) {
    FlowState& s = block_.state(w);
    const u64 groups = block_.flow().layout.groups;
    by_one_lane<W>([&] {
      take(W::fetch_add(&o_.control->tiles, 1), &s.group, &s.left);
      take(s.group < groups ? W::fetch_add(&o_.control->tiles, 1) : groups, &s.next, &s.next_left);
      s.fill = s.begin = s.end = s.turn = 0;
      s.fresh = 1;
      s.put = groups;
    });
    W::sync();
    if constexpr (Op::kSums)
      if (s.group < groups) op_.find(s.group, static_cast<int>(s.left), op_.indices(s.group), s.at[0]);
    W::sync();
  }
  // Groups until the end; or true: the group at hand is unusual.
  STRETTO_DEVICE bool usual(int w) {
    FlowState& s = block_.state(w);
    for (;;) {
      const u64 groups = block_.flow().layout.groups;
      if (s.group >= groups) break;
      u32* window = block_.flow_memory(w);
      Staged staged{0, 0, 0};
      if (s.fresh) look_ahead(s, groups);
      const u64 g = s.group;
      if constexpr (Op::kSums) {
        const GroupPlace* at = s.at[s.turn & 1] + (s.turn >> 1);
        if (!op_.stage(g, at[0], at[2], window, block_.flow_scratch(w), &staged)) return true;
      } else {
        if (!op_.load(g, window)) return true;
        if (!op_.stage(g, window, block_.flow_scratch(w), &staged)) return true;
      }
      W::sync();
      const u64 own = s.group;
      publish(w, s, staged);
      push(w, s, own, staged.words, window + (Op::kWindow - staged.words));
    }
    put_out(w, s, s.end - s.begin);
    return false;
  }
  // The group at hand, by codes in device memory. All before it is put out, since its codes take the memory.
  STRETTO_DEVICE void apart(int w) {
    if constexpr (Op::kMayBeUnusual) {
      FlowState& s = block_.state(w);
      const u64 g = s.group;
      put_out(w, s, s.end - s.begin);
      const auto memory = block_.memory(w);
      typename Op::State state;
      Staged staged{0, 0, 0};
      Outcome o = op_.plan(g, memory, &state);
      if (o == Outcome::ok) staged = {Op::words(state), static_cast<u32>(Op::exceptions(state)), Op::bound(state)};
      if (staged.words > kMaxGroupWords) {
        o = Outcome::overflow;
        staged.words = 0;
      }
      by_one_lane<W>([&] { note(o, &block_.flow().found[w]); });
      publish(w, s, staged);
      const u64 at = wait_for_place(w, {g, 0, staged.words});
      if (at && staged.words) op_.write(g, memory, state, reinterpret_cast<u32*>(o_.out + at));
      W::sync();
    }
  }

 private:
  // Groups of a ticket.
  STRETTO_DEVICE void take(u64 ticket, u64* first, u32* n) {
    const u64 pairs = block_.flow().pairs;
    *first = ticket < pairs ? 2 * ticket : pairs + ticket;
    *n = ticket < pairs ? 2 : 1;
  }
  // Asks for a ticket more, and has what the next needs brought to the cache.
  STRETTO_DEVICE void look_ahead(FlowState& s, u64 groups) {
    const u64 next = s.next;
    const bool more = next < groups;
    auto asked = W::splat(groups);
    if (more) asked = W::map([&](int j) { return j == 0 ? W::fetch_add(&o_.control->tiles, 1) : u64{0}; }, W::lane());
    if constexpr (Op::kSums) {
      const auto index = op_.indices(more ? next : s.group);
      if (more) op_.find(next, static_cast<int>(s.next_left), index, s.at[(s.turn & 1) ^ 1]);
    } else {
      if (more) op_.announce(next, s.next_left);
    }
    W::each(
        [&](int j, u64 ticket) {
          if (j == 0) {
            s.asked = ticket;
            s.fresh = 0;
          }
        },
        W::lane(), asked);
    W::sync();
  }
  // The group at hand is put together, or planned; on to the next.
  STRETTO_DEVICE void publish(int w, FlowState& s, const Staged& staged) {
    by_one_lane<W>([&] {
      W::write(block_.flow().places.words + s.group, kWordsKnown | staged.words);
      Found& found = block_.flow().found[w];
      found.bound = larger(found.bound, staged.bound);
      found.exceptions += staged.exceptions;
      if (--s.left) {
        ++s.group;
        s.turn += 2;
      } else {
        s.group = s.next;
        s.left = s.next_left;
        take(s.asked, &s.next, &s.next_left);
        s.turn = (s.turn & 1) ^ 1;
        s.fresh = 1;
      }
    });
  }
  // Keeps a group until its place is known: in a ring, whose oldest are put out where room is wanted.
  STRETTO_DEVICE void push(int w, FlowState& s, u64 g, u32 words, const u32* image) {
    const u32 begin = s.begin, n = s.end - begin, fill = s.fill, at = fill + words > kRing ? 0 : fill;
    const u32 in_the_way = W::ballot(W::map(
        [&](int j) {
          const Pending& p = s.pending[(begin + static_cast<u32>(j)) % kPendings];
          return static_cast<u32>(j) < n && p.at < at + words && p.at + p.words > at;
        },
        W::lane()));
    const u32 most = static_cast<u32>(bit_width(in_the_way)), full = n == kPendings;
    put_out(w, s, most > full ? most : full);
    copy(image, words, block_.flow_memory(w) + Op::kWindow + at);
    by_one_lane<W>([&] {
      s.pending[s.end % kPendings] = {g, at, words};
      ++s.end;
      s.fill = at + words;
    });
    W::sync();
  }
  STRETTO_DEVICE void put_out(int w, FlowState& s, u32 n) {
    STRETTO_ROLLED
    for (; n; --n) {
      const Pending p = s.pending[s.begin % kPendings];
      if (const u64 at = wait_for_place(w, p)) copy(block_.flow_memory(w) + Op::kWindow + p.at, p.words, reinterpret_cast<u32*>(o_.out + at));
      W::sync();
      by_one_lane<W>([&] { ++s.begin; });
      W::sync();
    }
  }
  // Where the group goes, which the index is told; 0 if there is no room for it.
  STRETTO_DEVICE u64 wait_for_place(int w, const Pending& p) {
    FlowState& s = block_.state(w);
    u64 before = s.put_words;
    if (p.g != s.put)
      while (!words_before<W>(block_.flow().places, p.g, &before)) {
        block_.while_waiting();
        W::rest();
      }
    const Layout& layout = block_.flow().layout;
    const u64 at = layout.body + 4 * before, lengths = layout.lengths, g = p.g;
    const u32 words = p.words;
    u8* out = o_.out;
    W::sync();
    by_one_lane<W>([&] {
      s.put = g + 1;
      s.put_words = before + words;
      *reinterpret_cast<u16*>(out + lengths + 2 * g) = static_cast<u16>(words);
      if (g % kChunk == 0) *reinterpret_cast<u64*>(out + kHeaderBytes + 8 * (g / kChunk)) = at;
    });
    if (at + 4 * u64{words} <= o_.capacity) return at;
    by_one_lane<W>([&] { note(Outcome::buffer_too_small, &block_.flow().found[w]); });
    return 0;
  }
  static STRETTO_DEVICE void copy(const u32* image, u32 words, u32* to) {
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

  typename Block::Held block_;
  Op& op_;
  const Output& o_;
};
template <class Block, class Op>
STRETTO_APART bool flow_usual(typename Block::Handle block, Op* op, const Output* o, int w) {
  return FlowWorker<Block, Op>(block, op, o).usual(w);
}
template <class Block, class Op>
STRETTO_APART void flow_apart(typename Block::Handle block, Op* op, const Output* o, int w) {
  FlowWorker<Block, Op>(block, op, o).apart(w);
}

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
        const u64 groups = shared.layout.groups, warps = block_.blocks() * Block::kWarps;
        shared.pairs = groups > 2 * warps ? (groups - warps) / 2 : 0;
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
        shared.scans != 0,
        [&](int w) {
          FlowWorker<Block, Op> worker(block_.handle(), &op_, &o_);
          worker.begin(w);
          while (flow_usual<Block, Op>(block_.handle(), &op_, &o_, w))
            if constexpr (Op::kMayBeUnusual) flow_apart<Block, Op>(block_.handle(), &op_, &o_, w);
        },
        [&] { return Scanner<W>(shared.places, shared.layout.groups); },
        [&](const Scanner<W>& s) { by_one_lane<W>([&] { W::write(&o_.control->words, s.words()); }); });
  }

  Block& block_;
  Op& op_;
  const Output& o_;
};

}  // namespace stretto::codec::cuda
