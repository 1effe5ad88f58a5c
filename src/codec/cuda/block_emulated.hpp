// Warps run one after another between barriers. Interface: tile.hpp.
#pragma once

#include <array>
#include <vector>

#include "codec/cuda/compress.hpp"
#include "codec/cuda/dense/chunk.hpp"
#include "codec/cuda/rows/staged.hpp"
#include "codec/cuda/rows/sum_writer.hpp"
#include "codec/cuda/tile.hpp"
#include "codec/cuda/warp_emulated.hpp"

namespace stretto::codec::cuda {

template <class C, int Warps>
class EmulatedBlock {
 public:
  using Warp = EmulatedWarp;
  static constexpr int kWarps = Warps;
  template <class T>
  using PerWarp = std::array<T, Warps>;

  EmulatedBlock(u64 index, u64 blocks) : index_(index), blocks_(blocks) {
    for (Room& r : rooms_) {
      r.codes.resize(kGroup + 16 / sizeof(C));
      for (auto& w : r.wide) w.resize(kGroup + 2);
    }
  }
  template <class F>
  void each_warp(F f) {
    for (int w = 0; w < Warps; ++w) f(w);
  }
  template <class F, class G>
  void each_warp_and_helper(F f, G help) {
    early_ = !early_;
    if (early_) help();
    each_warp(f);
    if (!early_) help();
  }
  StagedShared& staged() { return staged_; }
  SumShared& sum_shared() { return sum_shared_; }
  u32* stage(int w, u32 half) {
    return reinterpret_cast<u32*>(
        (reinterpret_cast<std::uintptr_t>(rooms_[static_cast<std::size_t>(w)].stage[half]) + 15) / 16 * 16);
  }
  u32* scratch(int w) { return rooms_[static_cast<std::size_t>(w)].scratch; }
  Shared& shared() { return shared_; }
  u64 index() const { return index_; }
  u64 blocks() const { return blocks_; }
  Memory<C> memory(int w) {
    Room& r = rooms_[static_cast<std::size_t>(w)];
    const auto aligned = [](auto* p) {
      return reinterpret_cast<decltype(p)>((reinterpret_cast<std::uintptr_t>(p) + 15) / 16 * 16);
    };
    return {
        aligned(r.codes.data()),
        r.scratch,
        {aligned(r.wide[0].data()), aligned(r.wide[1].data()), aligned(r.wide[2].data()), aligned(r.wide[3].data())},
        {r.sum_at[0], r.sum_at[1]}};
  }

  Memory<C> memory(int w, u32 half) {
    Memory<C> m = memory(w);
    if (sizeof(C) == 4) m.codes = reinterpret_cast<C*>(stage(w, half));
    return m;
  }
  dense::ChunkShared& chunk() { return chunk_; }
  dense::ChunkRoom room() {
    chunk_room_.resize(dense::kClassBytes + dense::kWordBytes + 2 * kGroup * Warps);
    u8* const p = chunk_room_.data();
    return {p, reinterpret_cast<u16*>(p + dense::kClassBytes),
            reinterpret_cast<u16*>(p + dense::kClassBytes + dense::kWordBytes)};
  }
  u32* kept(int w, u32 half) { return rooms_[static_cast<std::size_t>(w)].kept[half]; }

 private:
  struct Room {
    std::vector<C> codes;
    std::vector<i64> wide[4];
    alignas(8) u32 scratch[kStagedScratch];
    u32 stage[2][kStagedWords + 4];
    alignas(8) u32 kept[2][kKeptWords];
    u16 sum_at[2][kGroup];
  };
  u64 index_, blocks_;
  Shared shared_{};
  StagedShared staged_{};
  SumShared sum_shared_{};
  dense::ChunkShared chunk_{};
  std::vector<u8> chunk_room_;
  bool early_ = false;
  std::array<Room, Warps> rooms_;
};

}  // namespace stretto::codec::cuda
