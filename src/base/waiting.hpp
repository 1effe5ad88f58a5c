// A waiting rank spins, yields, then sleeps between checks: on a bell, a transport's descriptor, or a timer.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace stretto {

enum class WaitMode : std::uint8_t {
  automatic,  // spins briefly; sleeps at once if other programs want the core
  spin,
  sleep
};

// "auto", "spin" or "sleep"; empty: automatic. invalid_argument names the text.
Status parse_wait_mode(std::string_view text, WaitMode* mode) noexcept;

// STRETTO_WAIT, read once; automatic if malformed.
WaitMode wait_mode() noexcept;

Status check_wait_mode() noexcept;

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// sched_yield() gives the core to a waiting program of the thread's own scheduling group within a few calls: Linux 6.18
// and later. Before, a thread that lags behind others is chosen again until it has caught up.
bool yields_make_way() noexcept;

// Another program recently took this thread's core: a spin would cost a time slice. Mode sleep: always; mode spin:
// never. Takes 10 ns.
bool core_is_wanted() noexcept;

struct SchedulerSample {
  long switches = -1;
  double queued = -1;  // seconds without a core; negative: unavailable
  double when = 0;     // seconds of CLOCK_MONOTONIC
};

// Another program had the core for a time slice, and a quarter of the time. Shorter interruptions are the kernel's.
bool core_was_taken(const SchedulerSample& before, const SchedulerSample& after) noexcept;

enum class Wakes : std::uint8_t {
  by_nothing,   // no descriptor or bell, as for an MPI
  by_the_peer,  // the awaited store; a transport must progress meanwhile
  by_all,
  by_messages  // also by other hosts' messages: a background thread sleeps at once
};

// Other threads want the cores: in mode automatic this thread's waits for messages sleep at once.
void wait_in_background(bool is) noexcept;

// In seconds, unless every event wakes the sleep.
constexpr double kLongestSleep = 5e-3;

// A sleep that may miss an event takes a fiftieth of the time waited so far, at least 50 µs (docs/node.md, "Waiting").
class Waiting {
 public:
  // `shares`: ranks may outnumber cores, so each check yields.
  explicit Waiting(bool shares, Wakes wakes = Wakes::by_nothing, double longest = kLongestSleep) noexcept
      : shares_(shares), wakes_(wakes), longest_(longest) {}

  // Each check gives the core away itself, as an MPI's progress may.
  void check_yields() noexcept { check_yields_ = true; }

  // Other work came before the next check.
  void resume(double now) noexcept {
    if (check_yields_) yielded_ = now;
  }

  void reset() noexcept { began_ = -1; }

  // After a failed check. Positive: seconds to sleep. 0: it has paused or yielded.
  double next(double now) noexcept;

  // The time at the end of next(), if that read the clock; negative otherwise.
  double back() const noexcept { return back_; }

  void rest() noexcept;

  static double clock() noexcept;

 private:
  void begin(double now) noexcept;
  void give_away(double now) noexcept;

  const bool shares_;
  const Wakes wakes_;
  const double longest_;
  double began_ = -1;
  double yielded_ = 0;
  double back_ = -1;
  bool check_yields_ = false;
};

void sleep_for(double seconds) noexcept;

std::uint64_t sleeps() noexcept;
void count_sleep() noexcept;

}  // namespace stretto
