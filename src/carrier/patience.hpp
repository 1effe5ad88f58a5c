// How a rank waits for messages of other processes: it gives its core away at every turn, and after a moment without news
// it also sleeps between looks (base/waiting.hpp).
#pragma once

#include <algorithm>

#include "base/waiting.hpp"

namespace stretto::carrier {

class Patience {
 public:
  // `waiting` goes on from one Patience to the next, until the caller resets it.
  Patience(double seconds, Waiting& waiting) noexcept : begin_(Waiting::clock()), limit_(seconds), waiting_(waiting) {}

  // To be called before each look but the first; false: the time is over. `sleep(seconds)` sleeps for so long at most.
  template <class Sleep>
  bool next(const Sleep& sleep) noexcept {
    const double now = Waiting::clock();
    if (looked_ && now - begin_ > limit_) return false;
    looked_ = true;
    if (const double nap = waiting_.next(now); nap > 0) sleep(std::min(nap, std::max(begin_ + limit_ - now, 1e-6)));
    return true;
  }
  bool next() noexcept { return next(sleep_for); }

 private:
  const double begin_, limit_;
  Waiting& waiting_;
  bool looked_ = false;
};

}  // namespace stretto::carrier
