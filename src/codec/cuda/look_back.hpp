// Where a tile's groups lie in the stream, in one pass over the tiles (decoupled look-back, after Merrill and Garland):
// a tile publishes the sum of its words as soon as it is known. The tile then adds up its predecessors' sums until it
// meets a tile that knows its own offset. A descriptor is one 64-bit word, so no fence is needed. Tiles are handed out
// in order. So every predecessor is in progress, or is next for a block whose tile in progress is an earlier one. Hence
// the first tile that is not done waits for none, and the wait ends.
#pragma once

#include "codec/cuda/device.hpp"

namespace stretto::codec::cuda {

constexpr u64 kSumKnown = u64{1} << 62, kOffsetKnown = u64{2} << 62, kDescriptorValue = (u64{1} << 62) - 1;

// The words of a tile, by one lane, as soon as they are known. Descriptors start as zeros.
template <class W>
STRETTO_DEVICE void announce_words(u64* descriptors, u64 tile, u64 words) {
  W::write(descriptors + tile, (tile ? kSumKnown : kOffsetKnown) | words);
}

// Descriptors that a lane reads at once: as many tiles as are in flight are looked at in one or two trips to memory.
constexpr int kLookBack = 8;

// Words before a tile whose own words have been announced. Called by one warp.
template <class W>
STRETTO_DEVICE u64 find_place(u64* descriptors, u64 tile, u64 words) {
  if (tile == 0) return 0;
  struct Seen {
    u64 of[kLookBack];
  };
  auto sums = W::splat(u64{0});  // of tiles [end, tile)
  u64 end = tile;
  for (bool known = false; !known;) {
    const auto seen = W::map(
        [=](int j) {
          Seen s;
          STRETTO_UNROLL
          for (int c = 0; c < kLookBack; ++c) {
            const u64 back = static_cast<u64>(32 * c + j) + 1;
            s.of[c] = back <= end ? W::read(descriptors + (end - back)) : kOffsetKnown;
          }
          return s;
        },
        W::lane());
    bool missing = false;
    STRETTO_UNROLL
    for (int c = 0; c < kLookBack; ++c) {
      if (known || missing) break;
      const u32 offsets = W::ballot(W::map([=](const Seen& s) { return (s.of[c] & kOffsetKnown) != 0; }, seen));
      const u32 none = W::ballot(W::map([=](const Seen& s) { return s.of[c] >> 62 == 0; }, seen));
      const u32 used = offsets ? offsets ^ (offsets - 1) : ~0u;  // up to the nearest known offset
      missing = (none & used) != 0;
      if (missing) break;
      sums =
          W::map([=](int j, u64 sum, const Seen& s) { return sum + (used >> j & 1 ? s.of[c] & kDescriptorValue : 0); },
                 W::lane(), sums, seen);
      known = offsets != 0;
      end -= 32;
    }
    if (missing) W::pause();
  }
  const u64 offset = W::reduce_add(sums);
  W::each(
      [=](int j) {
        if (j == 0) W::write(descriptors + tile, kOffsetKnown | (offset + words));
      },
      W::lane());
  return offset;
}

// Both: words before this tile.
template <class W>
STRETTO_DEVICE u64 look_back(u64* descriptors, u64 tile, u64 words) {
  W::each(
      [=](int j) {
        if (j == 0) announce_words<W>(descriptors, tile, words);
      },
      W::lane());
  return find_place<W>(descriptors, tile, words);
}

}  // namespace stretto::codec::cuda
