// A lock for what one thread drives at a time and others do not wait for: they try, and go on. Whoever must have it gives its core away
// meanwhile. To try it is allowed to its holder, too, and fails.
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
