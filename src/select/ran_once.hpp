// The shapes that ran once and may come to a trial.
#pragma once

#include <array>
#include <cstddef>

#include "select/decision.hpp"

namespace stretto::select {

// A set that never allocates: its content must not depend on the memory that a rank has left. When full, it forgets
// all.
class RanOnce {
 public:
  static constexpr std::size_t most = 1024;

  bool contains(Trial t) const noexcept { return slots_[place_of(t)] == t; }
  void insert(Trial t) noexcept {
    if (contains(t)) return;
    if (size_ == most) {
      slots_ = {};
      size_ = 0;
    }
    slots_[place_of(t)] = t;
    ++size_;
  }

 private:
  // Where it is, or would be: half of the places are empty at least.
  std::size_t place_of(Trial t) const noexcept {
    std::size_t at = t / 2 % slots_.size();  // the lowest bit of all is set
    while (slots_[at] != 0 && slots_[at] != t) at = (at + 1) % slots_.size();
    return at;
  }

  std::array<Trial, 2 * most> slots_{};  // 0: empty
  std::size_t size_ = 0;
};

}  // namespace stretto::select
