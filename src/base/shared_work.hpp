// Work of one thread that others share: parts in any order, each by whoever comes for it first. Who has the work does parts, too, so
// nothing waits for a thread that does not come.
#pragma once

#include <atomic>
#include <mutex>

namespace stretto {

class SharedWork {
 public:
  using Task = void (*)(void* arg, int i);

  // task(arg, i) for each i in [0, n), some of them by threads that help(); returns when all are done. `wake` calls such threads, once the
  // parts can be had. While the work of another thread is shared, the caller does all parts.
  template <class Wake>
  void run(int n, Task task, void* arg, const Wake& wake) noexcept {
    if (!offer(n, task, arg)) {
      for (int i = 0; i < n; ++i) task(arg, i);
      return;
    }
    wake();
    while (part(false)) {
    }
    finish();
  }

  // Does a part of the work of another thread. False: there is none.
  bool help() noexcept { return open_.load(std::memory_order_acquire) && part(true); }

 private:
  bool offer(int n, Task task, void* arg) noexcept;
  bool part(bool helps) noexcept;
  void finish() noexcept;

  std::mutex claim_;  // held for some instructions
  std::atomic<bool> open_{false};  // there are parts that nobody does yet
  Task task_ = nullptr;
  void* arg_ = nullptr;
  int n_ = 0, next_ = 0;
  std::atomic<int> helping_{0};
  bool offered_ = false;
};

}  // namespace stretto
