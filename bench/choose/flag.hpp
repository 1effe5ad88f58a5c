// Latency between two cores. It changes within minutes on virtual machines, so timings record it.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace stretto::bench {

// Binds this thread to any core except `core`: ranks may be bound, and the flag must travel between two cores.
inline void move_away(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (i != core) CPU_SET(i, &set);
  static_cast<void>(sched_setaffinity(0, sizeof set, &set));
}

// Round trip of a flag between two threads, in microseconds: 0.1 to 0.2 near, 0.4 to 0.5 far.
inline double flag_round_trip() {
  const auto seconds = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  constexpr int trips = 2000;
  std::vector<double> samples;
  for (int k = 0; k < 7; ++k) {
    std::atomic<int> flag{0};
    std::thread other([&, core = sched_getcpu()] {
      move_away(core);
      for (int i = 0; i < trips; ++i) {
        for (int spins = 0; flag.load(std::memory_order_acquire) != 2 * i + 1;)
          if (++spins > 100000) std::this_thread::yield();
        flag.store(2 * i + 2, std::memory_order_release);
      }
    });
    const double begun = seconds();
    for (int i = 0; i < trips; ++i) {
      flag.store(2 * i + 1, std::memory_order_release);
      for (int spins = 0; flag.load(std::memory_order_acquire) != 2 * i + 2;)
        if (++spins > 100000) std::this_thread::yield();
    }
    samples.push_back((seconds() - begun) / trips * 1e6);
    other.join();
  }
  return *std::min_element(samples.begin(), samples.end());
}

}  // namespace stretto::bench
