// Threads that take turns: one runs at a time, and at each step a seed chooses the next. So blocks that wait for one
// another run in orders that no hardware would choose, and reproducibly.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "../support.hpp"
#include "codec/cuda/warp_emulated.hpp"

namespace stretto::codec {

class Turns {
 public:
  // Runs task(i) for i in [0, n), each on a thread of its own, and waits for all.
  static void run(int n, std::uint64_t seed, const std::function<void(int)>& task) {
    Turns turns(n, seed);
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i)
      threads.emplace_back([&turns, &task, i] {
        Seat seat{&turns, i};
        turns.wait_for(i);
        cuda::EmulatedWarp::step_self = &seat;
        cuda::EmulatedWarp::on_step = [](void* self, bool waiting) {
          auto& s = *static_cast<Seat*>(self);
          s.turns->step(s.index, waiting);
        };
        task(i);
        cuda::EmulatedWarp::on_step = nullptr;
        turns.leave(i);
      });
    for (auto& t : threads) t.join();
  }

 private:
  struct Seat {
    Turns* turns;
    int index;
  };
  Turns(int n, std::uint64_t seed) : random_(seed) {
    for (int i = 0; i < n; ++i) present_.push_back(i);
    turn_ = present_[random_.below(present_.size())];
  }
  void wait_for(int i) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == i; });
  }
  // Only who has the turn comes here, so nothing but the change of turns needs the lock.
  void step(int i, bool waiting) {
    if (!waiting && random_.below(4)) return;
    {
      const std::lock_guard lock(mutex_);
      turn_ = present_[random_.below(present_.size())];
    }
    if (turn_ == i) return;
    changed_.notify_all();
    wait_for(i);
  }
  void leave(int i) {
    const std::lock_guard lock(mutex_);
    std::erase(present_, i);
    if (!present_.empty()) turn_ = present_[random_.below(present_.size())];
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> present_;
  int turn_ = 0;
  Random random_;
};

}  // namespace stretto::codec
