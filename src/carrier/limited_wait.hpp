#pragma once

#include <algorithm>

#include "base/waiting.hpp"

namespace stretto::carrier {

class LimitedWait {
 public:
  // `waiting` continues over several waits until reset.
  LimitedWait(double seconds, Waiting& waiting) noexcept
      : begin_(Waiting::clock()), limit_(seconds), waiting_(waiting) {
    waiting_.resume(begin_);
  }

  // Before each check but the first; false: time is over.
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
