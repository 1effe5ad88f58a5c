// How a rank stores sums that it makes of memory that it sees, straight into outputs: by trial, on the calls themselves.
//
// Which manner is fastest depends on the caches, on where the other cores are, and on what the program does with its
// buffers between two calls. A trial on buffers of our own would miss the last. Results do not depend on the manner, so
// a rank chooses for itself, by the time that its own part took.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "node/memory/kernels.hpp"

namespace stretto::node {

struct Manner {
  Stores own = Stores::plain;     // into this rank's output
  Stores theirs = Stores::plain;  // into the outputs of others
  bool ahead = true;              // prefetches what is read next, and what is written next to others
};

// The trial of one kind and length of calls.
class Manners {
 public:
  static constexpr std::array<Manner, 4> all{{{Stores::plain, Stores::plain, false},
                                              {Stores::plain, Stores::plain, true},
                                              {Stores::plain, Stores::streaming, true},
                                              {Stores::streaming, Stores::streaming, false}}};

  // Of the call that follows.
  const Manner& next() const noexcept { return all[calls_ < trials ? calls_ / each : best_]; }

  // What that call took. The calls of one manner follow each other, and the shortest counts: lines then lie where such
  // stores leave them.
  void took(double seconds) noexcept {
    if (calls_ < trials) {
      double& least = seconds_[calls_ / each];
      if (calls_ % each == 0 || seconds < least) least = seconds;
    }
    if (++calls_ == trials) {
      for (std::size_t m = best_ = 0; m < all.size(); ++m)
        if (seconds_[m] < seconds_[best_]) best_ = m;
    }
    if (calls_ < trials + rest) return;
    // Other caches, other neighbours or another use of the buffers show in what the calls take.
    const double usual = seconds_[best_];
    strange_ = seconds < 0.8 * usual || seconds > 1.25 * usual ? strange_ + 1 : 0;
    if (calls_ >= again || strange_ >= strange) calls_ = strange_ = 0;
  }

 private:
  // Calls.
  static constexpr std::uint32_t each = 3, trials = each * all.size(), rest = 32, strange = 8, again = 1024;

  std::array<double, all.size()> seconds_{};
  std::uint32_t calls_ = 0, strange_ = 0;
  std::size_t best_ = 0;
};

}  // namespace stretto::node
