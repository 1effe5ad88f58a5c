// A lock for one driver, while others only try it. lock() yields; try_lock() by the holder fails.
#pragma once

#include <atomic>
#include <thread>

namespace stretto {

class Exclusive {
 public:
  bool try_lock() noexcept {
    return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
  }
  void lock() noexcept {
    while (!try_lock()) std::this_thread::yield();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace stretto
