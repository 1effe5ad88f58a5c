// A block of warps on the host: warps run one after another between the points where all wait for all. See tile.hpp.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "codec/cuda/compress.hpp"
#include "codec/cuda/rows/flow.hpp"
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
  using Handle = EmulatedBlock*;
  using Held = EmulatedBlock&;
  static EmulatedBlock& of(Handle h) { return *h; }
  Handle handle() { return this; }

  EmulatedBlock(u64 index, u64 blocks) : index_(index), blocks_(blocks) {
    for (Room& r : rooms_) {
      r.codes.resize(2 * kGroup + 48 + 16 / sizeof(C));
      for (auto& w : r.wide) w.resize(kGroup + 2);
    }
  }
  template <class F>
  void each_warp(F f) {
    for (int w = 0; w < Warps; ++w) f(w);
  }
  // The scanner has turns where a warp of its block waits, and after them all.
  template <class F, class S, class D>
  void each_warp_and_scanner(bool scans, F work, S scanner, D done) {
    if (!scans) return each_warp(work);
    auto s = scanner();
    waiting_ = [&s] { s.round(); };
    each_warp(work);
    waiting_ = nullptr;
    while (s.round()) {
    }
    done(s);
  }
  void while_waiting() {
    if (waiting_) waiting_();
  }
  FlowShared& flow() { return flow_; }
  FlowState& state(int w) { return rooms_[static_cast<std::size_t>(w)].state; }
  u32* flow_memory(int w) {
    return reinterpret_cast<u32*>(
        (reinterpret_cast<std::uintptr_t>(rooms_[static_cast<std::size_t>(w)].memory) + 15) / 16 * 16);
  }
  u32* flow_scratch(int w) { return rooms_[static_cast<std::size_t>(w)].scratch; }
  Shared& shared() { return shared_; }
  u64 index() const { return index_; }
  u64 blocks() const { return blocks_; }
  Memory<C> memory(int w) {
    Room& r = rooms_[static_cast<std::size_t>(w)];
    // Places start at a multiple of 16 bytes, as vector stores need it.
    const auto aligned = [](auto* p) {
      return reinterpret_cast<decltype(p)>((reinterpret_cast<std::uintptr_t>(p) + 15) / 16 * 16);
    };
    return {
        aligned(r.codes.data()),
        r.scratch,
        {aligned(r.wide[0].data()), aligned(r.wide[1].data()), aligned(r.wide[2].data()), aligned(r.wide[3].data())},
        {r.sum_at[0], r.sum_at[1]}};
  }


 private:
  struct Room {
    std::vector<C> codes;
    std::vector<i64> wide[4];
    alignas(8) u32 scratch[kStagedScratch];
    u32 memory[2 * kStagedWords + 4];
    FlowState state{};
    u16 sum_at[2][kGroup];
  };
  u64 index_, blocks_;
  Shared shared_{};
  FlowShared flow_{};
  std::function<void()> waiting_;
  std::array<Room, Warps> rooms_;
};

}  // namespace stretto::codec::cuda
