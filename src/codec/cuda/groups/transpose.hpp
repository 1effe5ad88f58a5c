// Swaps bit j of lane i and bit i of lane j, in about fifteen instructions; ballots would take four per plane.
#pragma once

#include "codec/cuda/device.hpp"

namespace stretto::codec::cuda {

template <class W>
STRETTO_DEVICE auto transpose(typename W::template Lane<u32> v) {
  constexpr u32 low[5] = {0x0000ffff, 0x00ff00ff, 0x0f0f0f0f, 0x33333333, 0x55555555};
  STRETTO_UNROLL
  for (int k = 0; k < 5; ++k) {
    const int step = 16 >> k;
    const u32 keep_low = low[k];
    const auto other = W::shuffle_xor(v, step);
    v = W::map(
        [=](int lane, u32 own, u32 its) {
          const bool upper = lane & step;
          const u32 keep = upper ? ~keep_low : keep_low;
          const int by = upper ? 32 - step : step;  // wrapped bits are masked
          return (own & keep) | ((its << by | its >> (32 - by)) & ~keep);
        },
        W::lane(), v, other);
  }
  return v;
}

}  // namespace stretto::codec::cuda
