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
  static constexpr std::array<StoreMode, 4> all{{{Stores::plain, Stores::plain, false},
                                                 {Stores::plain, Stores::plain, true},
                                                 {Stores::plain, Stores::streaming, true},
                                                 {Stores::streaming, Stores::streaming, false}}};

  const StoreMode& next() const noexcept { return all[calls_ < trials ? calls_ / each : best_]; }

  // Calls in one mode are consecutive and the shortest counts, so that cache lines lie where its stores leave them.
  void record(double seconds) noexcept {
    if (calls_ < trials) {
      double& least = seconds_[calls_ / each];
      if (calls_ % each == 0 || seconds < least) least = seconds;
    }
    if (++calls_ == trials) {
      for (std::size_t m = best_ = 0; m < all.size(); ++m)
        if (seconds_[m] < seconds_[best_]) best_ = m;
    }
    if (calls_ < trials + rest) return;
    // Durations change with caches, neighbours or the use of buffers.
    const double usual = seconds_[best_];
    strange_ = seconds < 0.8 * usual || seconds > 1.25 * usual ? strange_ + 1 : 0;
    if (calls_ >= again || strange_ >= strange) calls_ = strange_ = 0;
  }

 private:
  // In calls.
  static constexpr std::uint32_t each = 3, trials = each * all.size(), rest = 32, strange = 8, again = 1024;

  std::array<double, all.size()> seconds_{};
  std::uint32_t calls_ = 0, strange_ = 0;
  std::size_t best_ = 0;
};

}  // namespace stretto::node
