// Ranks sleep on this futex until another rank stores its next line.
//
// A rank rings its own bell after each store that others wait for: without sleepers, one load, without a fence. The
// sleeper pays instead: it arms the bell, makes the processors of all ranks pass a barrier (membarrier), and checks
// once more. So either it sees the store, or the other rank sees the armed bell. Without that barrier a ring may be
// missed, which costs the rest of a sleep.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace stretto::node {

class Bell {
 public:
  // Before the process' first ring(). May wait for the kernel (bell.cpp).
  static void prepare() noexcept;

  // By the bell's own rank alone, after the store.
  void ring() noexcept {
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // compiler fence; the sleeper's membarrier orders the processors
    if (is_armed(word_.load(std::memory_order_relaxed))) [[unlikely]]
      wake();
  }

  void wake() noexcept;

  // Before the last check for the store. Returns the argument of sleep().
  std::uint32_t arm() noexcept;
  // At most `seconds`. Returns at once if wake() was called since that arm().
  void sleep(double seconds, std::uint32_t armed) noexcept;

  // By the bell's own rank alone.
  void note_core() noexcept { core_.store(sched_getcpu() + 1, std::memory_order_relaxed); }
  // Its rank was last seen there. Takes about 10 ns.
  bool on_this_core() const noexcept {
    const int core = core_.load(std::memory_order_relaxed);
    return core > 0 && core == sched_getcpu() + 1;
  }

 private:
  static constexpr bool is_armed(std::uint32_t word) noexcept { return (word & 1) != 0; }

  // Odd: a rank sleeps, or is about to. wake() increments an armed word, so that an earlier sleeper does not mistake a
  // later arming for its own.
  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::int32_t> core_{0};
};
static_assert(sizeof(Bell) == sizeof(std::uint64_t));

}  // namespace stretto::node
