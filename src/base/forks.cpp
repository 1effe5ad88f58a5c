#include "base/forks.hpp"

#include <pthread.h>

namespace stretto {

std::atomic<unsigned> fork_counter{0};

unsigned fork_generation() noexcept {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { fork_counter.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return fork_counter.load(std::memory_order_relaxed);
}

}  // namespace stretto
