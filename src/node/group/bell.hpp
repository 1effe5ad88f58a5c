// A bell: the futex on which ranks sleep until another rank stores its next line.
//
// A rank rings its own bell after each store that others wait for. Where nobody sleeps, ringing is one load of a cache
// line that this rank owns, without a fence. So the sleeper pays. It sets the bell, makes every processor that runs a rank
// pass a barrier (membarrier), and looks once more for the store. Then either the sleeper sees the store, or the other
// rank sees that the bell is set. Where the kernel has no such barrier, a ring may be missed. That costs the rest of a
// sleep, which has a limit.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace stretto::node {

class Bell {
 public:
  // Registers this process for the barrier. To be called before its first ring().
  static void prepare() noexcept;

  // Wakes all sleepers. To be called by the bell's rank, after the store.
  void ring() noexcept {
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // the compiler keeps the order, and the sleeper's barrier the rest
    if (is_armed(word_.load(std::memory_order_relaxed))) [[unlikely]]
      wake();
  }

  // Wakes all sleepers; by any rank.
  void wake() noexcept;

  // To be called before the last look for the store. Returns what sleep() must be given.
  std::uint32_t arm() noexcept;
  // Sleeps for so many seconds at most, until wake(). Returns at once if wake() was called since that arm().
  void sleep(double seconds, std::uint32_t armed) noexcept;

  // To be called by the bell's rank now and then: where it is.
  void note_core() noexcept { core_.store(sched_getcpu() + 1, std::memory_order_relaxed); }
  // True if the bell's rank was last seen on the caller's core. Takes some ten nanoseconds.
  bool on_this_core() const noexcept {
    const int core = core_.load(std::memory_order_relaxed);
    return core > 0 && core == sched_getcpu() + 1;
  }

 private:
  static constexpr bool is_armed(std::uint32_t word) noexcept { return (word & 1) != 0; }

  // Odd: a rank sleeps, or is about to sleep. Each wake() of an armed bell counts on, so that a sleeper that armed the
  // bell before does not take a later rank's arming for its own.
  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::int32_t> core_{0};  // one more than the core's number; 0: not known
};
static_assert(sizeof(Bell) == sizeof(std::uint64_t));

}  // namespace stretto::node
