// A block of warps of the GPU; see tile.hpp. What its warps share, the operation's parameters among it, lies in shared
// memory, so that registers are left for the work.
#pragma once

#include "codec/cuda/compress.hpp"
#include "codec/cuda/rows/flow.hpp"
#include "codec/cuda/tile.hpp"
#include "codec/cuda/warp_hardware.hpp"

namespace stretto::codec::cuda {

// Device memory of a warp's own, for what is unusual: four arrays of codes and two tables of sums.
constexpr u64 kWideBytes = 8 * kGroup, kSumBytes = 2 * kGroup;
// Only tables; tables and three arrays; and four. Nothing, but shared memory for whole groups. As sums, with that; of
// streams, or of a stream and values.
enum class Scratch : int {
  none = 0,
  tables = 1,
  sums = 2,
  selection = 3,
  staged = 4,
  staged_sums = 5,
  staged_values = 6
};
constexpr u64 scratch_bytes(Scratch s) {
  return s == Scratch::none || s == Scratch::staged ? 0
         : s == Scratch::tables                     ? 2 * kSumBytes
         : s == Scratch::selection                  ? 2 * kSumBytes + 4 * kWideBytes
                                                    : 2 * kSumBytes + 3 * kWideBytes;
}

// Shared memory of a block. Groups: how many codes and words of streams take.
template <class C, int Warps, int Groups>
struct BlockMemory {
  static constexpr int kRow = Groups ? Groups * kGroup + (Groups > 1 ? 48 : 0) : 16 / sizeof(C);
  alignas(16) C codes[Warps * kRow];
  u32 scratch[Warps * 32];
  Shared shared;
};

// What all blocks have: the state of a warp is a thread's own.
template <int Warps>
class HardwareWarps {
 public:
  using Warp = HardwareWarp;
  static constexpr int kWarps = Warps;
  template <class T>
  struct PerWarp {
    T own;
    STRETTO_DEVICE T& operator[](int) { return own; }
    STRETTO_DEVICE const T& operator[](int) const { return own; }
  };

  STRETTO_DEVICE u64 blocks() const { return gridDim.x; }
};

template <class C, int Warps, int Groups, Scratch kScratch>
class HardwareBlock : public HardwareWarps<Warps> {
 public:
  using Room = BlockMemory<C, Warps, Groups>;

  STRETTO_DEVICE HardwareBlock(Room& room, u8* scratch) : room_(room), scratch_(scratch) {}

  template <class F>
  STRETTO_DEVICE void each_warp(F f) {
    f(static_cast<int>(threadIdx.x / 32));
    __syncthreads();
  }
  STRETTO_DEVICE Shared& shared() { return room_.shared; }
  STRETTO_DEVICE u64 index() const { return blockIdx.x; }
  STRETTO_DEVICE Memory<C> memory(int w) const {
    u8* own = scratch_ + (blockIdx.x * u64{Warps} + static_cast<u64>(w)) * scratch_bytes(kScratch);
    u16* sums = reinterpret_cast<u16*>(own);
    i64* wide = reinterpret_cast<i64*>(own + 2 * kSumBytes);
    return {room_.codes + w * Room::kRow,
            room_.scratch + 32 * w,
            {wide, wide + kGroup, wide + 2 * kGroup, wide + 3 * kGroup},
            {sums, sums + kGroup}};
  }

 private:
  Room& room_;
  u8* scratch_;
};

// A block for FlowWriter.
template <int Warps, u32 Words>
struct FlowMemory {
  alignas(16) u32 memory[Warps][Words];
  alignas(8) u32 scratch[Warps][kStagedScratch];
  FlowState state[Warps];
  Shared shared;
  FlowShared flow;
  u8* rest;
};
template <class C, int Warps, u32 Words, Scratch kScratch>
class FlowBlock : public HardwareWarps<Warps> {
 public:
  static_assert(4 * Words >= sizeof(C) * kGroup);
  using Room = FlowMemory<Warps, Words>;

  using Handle = Room*;
  using Held = FlowBlock;

  STRETTO_DEVICE explicit FlowBlock(Room& room) : room_(room) {}
  STRETTO_DEVICE Handle handle() const { return &room_; }
  static STRETTO_DEVICE FlowBlock of(Handle h) { return FlowBlock(*in_shared(h)); }

  template <class F>
  STRETTO_DEVICE void each_warp(F f) {
    f(static_cast<int>(threadIdx.x / 32));
    __syncthreads();
  }
  template <class F, class S, class D>
  STRETTO_DEVICE void each_warp_and_scanner(bool scans, F work, S scanner, D done) {
    const int w = static_cast<int>(threadIdx.x / 32);
    if (scans && w == 0) {
      auto s = scanner();
      while (s.round()) {
      }
      done(s);
    } else {
      work(w);
    }
    __syncthreads();
  }
  STRETTO_DEVICE void while_waiting() {}
  STRETTO_DEVICE Shared& shared() { return room_.shared; }
  STRETTO_DEVICE FlowShared& flow() { return room_.flow; }
  STRETTO_DEVICE FlowState& state(int w) { return room_.state[w]; }
  STRETTO_DEVICE u32* flow_memory(int w) const { return room_.memory[w]; }
  STRETTO_DEVICE u32* flow_scratch(int w) const { return room_.scratch[w]; }
  STRETTO_DEVICE Memory<C> memory(int w) const {
    u8* own = room_.rest + (blockIdx.x * u64{Warps} + static_cast<u64>(w)) * scratch_bytes(kScratch);
    u16* sums = reinterpret_cast<u16*>(own);
    i64* wide = reinterpret_cast<i64*>(own + 2 * kSumBytes);
    return {reinterpret_cast<C*>(room_.memory[w]),
            room_.scratch[w],
            {wide, wide + kGroup, wide + 2 * kGroup, wide + 3 * kGroup},
            {sums, sums + kGroup}};
  }

 private:
  Room& room_;
};

}  // namespace stretto::codec::cuda
