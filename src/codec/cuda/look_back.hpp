// Where a tile's groups lie in the stream, in one pass over the tiles (decoupled look-back, after Merrill and Garland):
// a tile publishes the sum of its words as soon as it is known. The tile then adds up its predecessors' sums until it
// meets a tile that knows its own offset. A descriptor is one 64-bit word, so no fence is needed. Tiles are handed out
// in order. So every predecessor is in progress, or is next for a block whose tile in progress is an earlier one. Hence
// the first tile that is not done waits for none, and the wait ends.
#pragma once

#include "codec/cuda/device.hpp"

namespace stretto::codec::cuda {

constexpr u64 kSumKnown = u64{1} << 62, kOffsetKnown = u64{2} << 62, kDescriptorValue = (u64{1} << 62) - 1;

template <class W>
STRETTO_DEVICE void publish(u64* descriptors, u64 tile, u64 v) {
  W::each(
      [=](int j) {
        if (j == 0) W::write(descriptors + tile, v);
      },
      W::lane());
}
// Says how many words a tile has, so that later ones need not wait until its place is known.
template <class W>
STRETTO_DEVICE void publish_sum(u64* descriptors, u64 tile, u64 words) {
  publish<W>(descriptors, tile, (tile ? kSumKnown : kOffsetKnown) | words);
}

// Words before this tile, whose sum has been published. Called by one warp; descriptors start as zeros.
template <class W>
STRETTO_DEVICE u64 place_of(u64* descriptors, u64 tile, u64 words) {
  if (tile == 0) return 0;
  // A trip to memory takes so many times 32 descriptors: as many tiles are in progress as a device has room for.
  constexpr int kWindows = 4;
  u64 offset = 0, end = tile;  // tiles [end, tile) are in the sum
  for (bool done = false; !done;) {
    typename W::template Lane<u64> seen[kWindows];
    STRETTO_UNROLL
    for (int i = 0; i < kWindows; ++i)
      seen[i] = W::map(
          [=](int j) {
            const u64 back = static_cast<u64>(32 * i + j) + 1;
            return back <= end ? W::read(descriptors + (end - back)) : kOffsetKnown;
          },
          W::lane());
    bool waits = false;
    STRETTO_UNROLL
    for (int i = 0; i < kWindows; ++i) {
      const u32 known = W::ballot(W::map([](u64 d) { return (d & kOffsetKnown) != 0; }, seen[i]));
      const u32 missing = W::ballot(W::map([](u64 d) { return d >> 62 == 0; }, seen[i]));
      const u32 used = known ? known ^ (known - 1) : ~0u;  // up to the nearest known offset
      waits = (missing & used) != 0;
      if (waits) break;
      offset += W::reduce_add(
          W::map([=](int j, u64 d) { return used >> j & 1 ? d & kDescriptorValue : u64{0}; }, W::lane(), seen[i]));
      done = known != 0;
      if (done) break;
      end -= 32;
    }
    if (waits) W::pause();
  }
  publish<W>(descriptors, tile, kOffsetKnown | (offset + words));
  return offset;
}

// Both.
template <class W>
STRETTO_DEVICE u64 look_back(u64* descriptors, u64 tile, u64 words) {
  publish_sum<W>(descriptors, tile, words);
  return place_of<W>(descriptors, tile, words);
}

}  // namespace stretto::codec::cuda
