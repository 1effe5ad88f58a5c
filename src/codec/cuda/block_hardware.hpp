// Interface: tile.hpp. Shared memory holds all state, also the operation, to save registers.
#pragma once

#include "codec/cuda/compress.hpp"
#include "codec/cuda/dense/chunk.hpp"
#include "codec/cuda/rows/staged.hpp"
#include "codec/cuda/rows/sum_writer.hpp"
#include "codec/cuda/tile.hpp"
#include "codec/cuda/warp_hardware.hpp"

namespace stretto::codec::cuda {

constexpr u64 kWideBytes = 8 * kGroup, kSumBytes = 2 * kGroup;
// Memory of a warp:
// none            nothing
// tables          tables of sums
// selection       tables and arrays
// staged          shared memory for whole groups
// staged_sums     all of these, and device memory for two groups; for sums of streams
// staged_values   equal; for sums of a stream and values
// chunk           shared memory for a chunk's groups and tables, and its share of device memory for classes and words
enum class Scratch : int {
  none = 0,
  tables = 1,
  selection = 2,
  staged = 3,
  staged_sums = 4,
  staged_values = 5,
  chunk = 6
};
constexpr int kChunkWarps = 8;
constexpr u64 scratch_bytes(Scratch s) {
  constexpr u64 arrays = 2 * kSumBytes + 4 * kWideBytes;
  switch (s) {
    case Scratch::none:
    case Scratch::staged: return 0;
    case Scratch::tables: return 2 * kSumBytes;
    case Scratch::selection: return arrays;
    case Scratch::chunk: return (dense::kClassBytes + dense::kWordBytes) / kChunkWarps + kSumBytes;
    default: return arrays + 2 * 4 * kKeptWords;
  }
}

// Codes: for groups' codes, else only words.
template <class C, int Warps, bool Codes>
struct BlockMemory {
  static constexpr int kRow = Codes ? kGroup : 16 / sizeof(C);
  alignas(16) C codes[Warps * kRow];
  u32 scratch[Warps * 32];
  Shared shared;
};

template <int Warps>
struct StagedMemory {
  alignas(16) u32 stage[2 * Warps][kStagedWords];
  alignas(8) u32 scratch[Warps][kStagedScratch];
  Shared shared;
  StagedShared staged;
};
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

template <int Warps>
class HelpedWarps : public HardwareWarps<Warps> {
 public:
  template <class F>
  STRETTO_DEVICE void each_warp(F f) {
    each_warp_and_helper(f, [] {});
  }
  template <class F, class G>
  STRETTO_DEVICE void each_warp_and_helper(F f, G help) {
    const int w = static_cast<int>(threadIdx.x / 32);
    if (w < Warps)
      f(w);
    else
      help();
    __syncthreads();
  }
};

template <int Warps>
class StagedBlock : public HelpedWarps<Warps> {
 public:
  using Room = StagedMemory<Warps>;

  STRETTO_DEVICE explicit StagedBlock(Room& room) : room_(room) {}

  STRETTO_DEVICE Shared& shared() { return room_.shared; }
  STRETTO_DEVICE StagedShared& staged() { return room_.staged; }
  STRETTO_DEVICE u32* stage(int w, u32 half) const { return room_.stage[2 * w + static_cast<int>(half)]; }
  STRETTO_DEVICE u32* scratch(int w) const { return room_.scratch[w]; }

 private:
  Room& room_;
};

template <class C, int Warps, bool Codes, Scratch kScratch>
class HardwareBlock : public HardwareWarps<Warps> {
 public:
  using Room = BlockMemory<C, Warps, Codes>;

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

class ChunkBlock : public HardwareWarps<kChunkWarps> {
 public:
  struct Room {
    dense::ChunkShared chunk;
    u32 scratch[kChunkWarps * 32];
    Shared shared;
  };

  STRETTO_DEVICE ChunkBlock(Room& room, u8* scratch)
      : room_(room), scratch_(scratch + blockIdx.x * kChunkWarps * scratch_bytes(Scratch::chunk)) {}

  template <class F>
  STRETTO_DEVICE void each_warp(F f) {
    f(static_cast<int>(threadIdx.x / 32));
    __syncthreads();
  }
  STRETTO_DEVICE Shared& shared() { return room_.shared; }
  STRETTO_DEVICE dense::ChunkShared& chunk() { return room_.chunk; }
  STRETTO_DEVICE u32* scratch(int w) { return room_.scratch + 32 * w; }
  STRETTO_DEVICE dense::ChunkRoom room() const {
    return {scratch_, reinterpret_cast<u16*>(scratch_ + dense::kClassBytes),
            reinterpret_cast<u16*>(scratch_ + dense::kClassBytes + dense::kWordBytes)};
  }

 private:
  Room& room_;
  u8* scratch_;
};

template <int Warps>
struct SumMemory {
  alignas(16) u32 stage[2 * Warps][kStagedWords];
  u32 scratch[Warps * 32];
  Shared shared;
  SumShared sum_shared;
};
template <class C, int Warps>
class SumBlock : public HelpedWarps<Warps> {
 public:
  using Room = SumMemory<Warps>;

  STRETTO_DEVICE SumBlock(Room& room, u8* scratch) : room_(room), scratch_(scratch) {}

  STRETTO_DEVICE Shared& shared() { return room_.shared; }
  STRETTO_DEVICE SumShared& sum_shared() { return room_.sum_shared; }
  STRETTO_DEVICE u32* stage(int w, u32 half) const { return room_.stage[2 * w + static_cast<int>(half)]; }
  STRETTO_DEVICE u32* kept(int w, u32 half) const {
    return reinterpret_cast<u32*>(rest(w) + 2 * kSumBytes + 4 * kWideBytes) + half * kKeptWords;
  }
  STRETTO_DEVICE Memory<C> memory(int w, u32 half) const {
    u8* own = rest(w);
    u16* sums = reinterpret_cast<u16*>(own);
    i64* wide = reinterpret_cast<i64*>(own + 2 * kSumBytes);
    C* codes = reinterpret_cast<C*>(wide + 3 * kGroup);
    if constexpr (sizeof(C) == 4) codes = reinterpret_cast<C*>(stage(w, half));
    return {codes,
            room_.scratch + 32 * w,
            {wide, wide + kGroup, wide + 2 * kGroup, wide + 3 * kGroup},
            {sums, sums + kGroup}};
  }

 private:
  STRETTO_DEVICE u8* rest(int w) const {
    return scratch_ + (blockIdx.x * u64{Warps} + static_cast<u64>(w)) * scratch_bytes(Scratch::staged_sums);
  }

  Room& room_;
  u8* scratch_;
};

}  // namespace stretto::codec::cuda
