// Autotuner for stores of reductions into visible outputs, on the calls themselves. Results do not depend on the mode,
// so each rank chooses for itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "node/memory/kernels.hpp"

namespace stretto::node {

struct StoreMode {
  Stores own = Stores::plain;
  Stores theirs = Stores::plain;
  bool ahead = true;  // prefetches operands and other ranks' outputs
};

class StoreTuner {
 public:
  static constexpr std::array<StoreMode, 4> kAll{{{Stores::plain, Stores::plain, false},
                                                  {Stores::plain, Stores::plain, true},
                                                  {Stores::plain, Stores::streaming, true},
                                                  {Stores::streaming, Stores::streaming, false}}};

  const StoreMode& next() const noexcept { return kAll[calls_ < kTrials ? calls_ / kEach : best_]; }

  // Calls in one mode are consecutive and the shortest counts, so that cache lines lie where its stores leave them.
  void record(double seconds) noexcept {
    if (calls_ < kTrials) {
      double& least = seconds_[calls_ / kEach];
      if (calls_ % kEach == 0 || seconds < least) least = seconds;
    }
    if (++calls_ == kTrials) {
      for (std::size_t m = best_ = 0; m < kAll.size(); ++m)
        if (seconds_[m] < seconds_[best_]) best_ = m;
    }
    if (calls_ < kTrials + kRest) return;
    // Durations change with caches, neighbours or the use of buffers.
    const double usual = seconds_[best_];
    strange_ = seconds < 0.8 * usual || seconds > 1.25 * usual ? strange_ + 1 : 0;
    if (calls_ >= kAgain || strange_ >= kStrange) calls_ = strange_ = 0;
  }

 private:
  // In calls.
  static constexpr std::uint32_t kEach = 3, kTrials = kEach * kAll.size(), kRest = 32, kStrange = 8, kAgain = 1024;

  std::array<double, kAll.size()> seconds_{};
  std::uint32_t calls_ = 0, strange_ = 0;
  std::size_t best_ = 0;
};

}  // namespace stretto::node
