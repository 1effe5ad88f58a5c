#include "base/shared_work.hpp"

#include <sched.h>

namespace stretto {

bool SharedWork::offer(int n, Task task, void* arg) noexcept {
  const std::lock_guard lock(claim_);
  if (offered_) return false;
  offered_ = true;
  task_ = task;
  arg_ = arg;
  n_ = n;
  next_ = 0;
  open_.store(n > 1, std::memory_order_release);
  return true;
}

bool SharedWork::part(bool helps) noexcept {
  int i = 0;
  Task task = nullptr;
  void* arg = nullptr;
  {
    const std::lock_guard lock(claim_);
    if (!offered_ || next_ == n_) return false;
    i = next_++;
    if (next_ == n_) open_.store(false, std::memory_order_release);
    task = task_;
    arg = arg_;
    if (helps) helping_.fetch_add(1, std::memory_order_relaxed);
  }
  task(arg, i);
  if (helps && helping_.fetch_sub(1, std::memory_order_acq_rel) == 1) helping_.notify_one();
  return true;
}

// A part that another thread has begun is soon done, unless its core is taken from it.
void SharedWork::finish() noexcept {
  constexpr int looks = 200;
  int looked = 0;
  for (int left = 0; (left = helping_.load(std::memory_order_acquire)) != 0;)
    if (++looked < looks) {
      sched_yield();
    } else {
      helping_.wait(left, std::memory_order_acquire);
    }
  const std::lock_guard lock(claim_);
  offered_ = false;
}

}  // namespace stretto
