#include "base/forks.hpp"

#include <pthread.h>

namespace stretto {
namespace {

std::atomic<unsigned> generation{0};

}  // namespace

const std::atomic<unsigned>& fork_counter() noexcept {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return generation;
}

unsigned fork_generation() noexcept { return fork_counter().load(std::memory_order_relaxed); }

}  // namespace stretto
