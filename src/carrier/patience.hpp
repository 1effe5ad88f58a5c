// How a rank waits for messages of other processes: it gives its core away at every turn, and after a while without news
// it also sleeps between looks.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <chrono>

namespace stretto::carrier {

class Patience {
 public:
  explicit Patience(double seconds) noexcept : begin_(Clock::now()), limit_(seconds) {}

  // To be called before each look but the first; false: the time is over.
  bool next() noexcept {
    if (looked_) {
      const auto waited = Clock::now() - begin_;
      if (waited > limit_) return false;
      if (waited > awake) usleep(nap_microseconds);
    }
    looked_ = true;
    sched_yield();
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto awake = std::chrono::milliseconds(10);
  static constexpr unsigned nap_microseconds = 50;

  const Clock::time_point begin_;
  const std::chrono::duration<double> limit_;
  bool looked_ = false;
};

}  // namespace stretto::carrier
