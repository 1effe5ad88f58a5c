// The program's time in waits or tests, in seconds of any steady clock; the rest of a collective overlaps its own work.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

namespace stretto::mpi {

class WaitClock {
 public:
  // Concurrent time counts once.
  void enter(double now) noexcept {
    const std::lock_guard lock(mutex_);
    if (inside_++ == 0) since_ = now;
  }
  void leave(double now) noexcept {
    const std::lock_guard lock(mutex_);
    if (--inside_ == 0) total_ += now - since_;
  }

  // Includes functions that have not returned.
  double total(double now) const noexcept {
    const std::lock_guard lock(mutex_);
    return total_at(now);
  }

  // total() since it was `begun`, less earlier charges: all charges sum to at most total().
  double charge(double begun, double now) noexcept {
    const std::lock_guard lock(mutex_);
    const double all = total_at(now), due = all - std::max(begun, charged_);
    charged_ = std::max(charged_, all);
    return std::max(due, 0.0);
  }

 private:
  double total_at(double now) const noexcept { return total_ + (inside_ > 0 ? now - since_ : 0); }

  mutable std::mutex mutex_;
  int inside_ = 0;
  double since_ = 0, total_ = 0, charged_ = 0;
};

inline double hidden(double in_flight, double starting, double waited) noexcept {
  return std::max(0.0, in_flight - starting - waited);
}

inline WaitClock& wait_clock() noexcept {
  static WaitClock all;
  return all;
}

inline double seconds_now() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class CountedWait {
 public:
  CountedWait() noexcept { wait_clock().enter(seconds_now()); }
  ~CountedWait() { wait_clock().leave(seconds_now()); }
  CountedWait(const CountedWait&) = delete;
  CountedWait& operator=(const CountedWait&) = delete;
};

}  // namespace stretto::mpi
