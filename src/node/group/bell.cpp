#include "node/group/bell.hpp"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "base/waiting.hpp"

namespace stretto::node {

void Bell::prepare() noexcept {
  // A second registration does nothing.
  static_cast<void>(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0));
}

// The bell is unset first: a rank that sets it after that looks again before it sleeps.
void Bell::wake() noexcept {
  if (set_.exchange(0, std::memory_order_seq_cst) == 0) return;
  static_cast<void>(syscall(SYS_futex, &set_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0));
}

void Bell::arm() noexcept {
  set_.exchange(1, std::memory_order_seq_cst);
  static_cast<void>(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0));
}

void Bell::sleep(double seconds) noexcept {
  timespec t{};
  t.tv_sec = static_cast<time_t>(seconds);
  t.tv_nsec = static_cast<long>(1e9 * (seconds - static_cast<double>(t.tv_sec)));
  count_sleep();
  static_cast<void>(syscall(SYS_futex, &set_, FUTEX_WAIT, 1, &t, nullptr, 0));
}

}  // namespace stretto::node
