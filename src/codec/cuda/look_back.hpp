// Places of tiles in the stream, in one pass (decoupled look-back, after Merrill and Garland). A tile publishes its
// words, and adds up its predecessors' until it meets a known offset. A descriptor is one 64-bit word, so no fence is
// needed. Every predecessor is in progress, or is next for a block whose current tile is earlier. So the first
// unfinished tile waits for none, and every wait ends.
#pragma once

#include "codec/cuda/device.hpp"

namespace stretto::codec::cuda {

constexpr u64 kSumKnown = u64{1} << 62, kOffsetKnown = u64{2} << 62, kDescriptorValue = (u64{1} << 62) - 1;

// Called by one warp; descriptors start as zeros.
template <class W>
STRETTO_DEVICE u64 look_back(u64* descriptors, u64 tile, u64 words) {
  const auto publish = [&](u64 v) {
    W::each(
        [=](int j) {
          if (j == 0) W::write(descriptors + tile, v);
        },
        W::lane());
  };
  if (tile == 0) {
    publish(kOffsetKnown | words);
    return 0;
  }
  publish(kSumKnown | words);
  u64 offset = 0, end = tile;  // tiles [end, tile) are in the sum
  for (;;) {
    const auto seen = W::map(
        [=](int j) {
          const u64 back = static_cast<u64>(j) + 1;
          return back <= end ? W::read(descriptors + (end - back)) : kOffsetKnown;
        },
        W::lane());
    const u32 known = W::ballot(W::map([](u64 d) { return (d & kOffsetKnown) != 0; }, seen));
    const u32 missing = W::ballot(W::map([](u64 d) { return d >> 62 == 0; }, seen));
    const u32 used = known ? known ^ (known - 1) : ~0u;
    if (missing & used) {
      W::pause();
      continue;
    }
    offset += W::reduce_add(
        W::map([=](int j, u64 d) { return used >> j & 1 ? d & kDescriptorValue : u64{0}; }, W::lane(), seen));
    if (known) break;
    end -= 32;
  }
  publish(kOffsetKnown | (offset + words));
  return offset;
}

}  // namespace stretto::codec::cuda
