// How a waiting rank passes the time between two checks: it spins, yields its core, and then sleeps.
//
// Every wait of the library asks a Waiting for its next step. The wait itself knows how to sleep: on a bell of shared
// memory (node/group/bell.hpp), on a descriptor of the transport, or for a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace stretto {

enum class WaitMode : std::uint8_t {
  automatic,  // spins briefly, then sleeps; sleeps at once if other programs want the core
  spin,       // never sleeps
  sleep       // sleeps at once
};

// "auto", "spin" or "sleep"; empty: automatic. invalid_argument names the text.
Status parse_wait_mode(std::string_view text, WaitMode* mode) noexcept;

// STRETTO_WAIT, read once; automatic if it is malformed.
WaitMode wait_mode() noexcept;

// invalid_argument if STRETTO_WAIT is malformed.
Status check_wait_mode() noexcept;

// A pause of the processor within a spin.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True if this thread recently saw another program take its core, so that a spin would cost it a time slice. Always
// true in mode sleep, and false in mode spin. Takes about ten nanoseconds.
bool core_is_wanted() noexcept;

// A reading of how often, and how long, the kernel took the core from this runnable thread.
struct Turns {
  long switches = -1;  // involuntary switches
  double queued = -1;  // seconds runnable without a core; negative: not available
  double when = 0;     // seconds of CLOCK_MONOTONIC
};

// True if another program had the core for a time slice between two readings, and for a quarter of the time.
// Interruptions of microseconds do not count: kernel threads cause them, as does each waking.
bool core_was_taken(const Turns& before, const Turns& after) noexcept;

// The events that end a sleep early.
enum class Wakes : std::uint8_t {
  by_nothing,   // a wait without a descriptor or a bell, as for an MPI
  by_the_peer,  // the awaited store; but a transport must progress meanwhile
  by_all        // every event that the wait serves
};

// Longest sleep in seconds, unless every event wakes it.
constexpr double longest_sleep = 2e-3;

// One wait. A sleep that may miss an event takes a fiftieth of the time waited so far, at least 50 µs. So it adds
// little delay, and a wait of a second sleeps some hundred times. Sleeps begin after 2.5 ms if nothing wakes the rank,
// else after 0.3 ms.
class Waiting {
 public:
  // `shares`: ranks may outnumber cores, so each check yields the core.
  explicit Waiting(bool shares, Wakes wakes = Wakes::by_nothing, double longest = longest_sleep) noexcept
      : shares_(shares), wakes_(wakes), longest_(longest) {}

  // Call after success: the next next() begins another wait.
  void reset() noexcept { began_ = -1; }

  // Call after a failed check, at time `now`. Positive: seconds to sleep before the next check. 0: check again; this
  // function has paused or yielded.
  double next(double now) noexcept;

  // Call after a failed check, if only time ends a sleep: does as next() says.
  void rest() noexcept;

  // Seconds of CLOCK_MONOTONIC.
  static double clock() noexcept;

 private:
  void begin(double now) noexcept;
  void give_away(double now) noexcept;

  const bool shares_;
  const Wakes wakes_;
  const double longest_;
  double began_ = -1;
  double yielded_ = 0;
};

void sleep_for(double seconds) noexcept;

// Number of this process' sleeps in waits, for tests.
std::uint64_t sleeps() noexcept;
void count_sleep() noexcept;

}  // namespace stretto
