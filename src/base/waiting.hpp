// How a waiting rank passes the time between two looks: it spins, gives its core away, and then sleeps.
//
// Every wait of the library asks a Waiting what to do next. The wait itself knows how to sleep: on a bell of shared
// memory (node/group/bell.hpp), on a descriptor of the transport, or for a time.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"

namespace stretto {

enum class WaitMode : std::uint8_t {
  automatic,  // spins for a moment, then sleeps; sleeps at once where other programs want the core
  spin,       // never sleeps
  sleep       // sleeps at once
};

// "auto", "spin" or "sleep"; empty: automatic. invalid_argument names the text.
Status parse_wait_mode(std::string_view text, WaitMode* mode) noexcept;

// STRETTO_WAIT, read once; automatic where it cannot be read.
WaitMode wait_mode() noexcept;

// invalid_argument where STRETTO_WAIT cannot be read.
Status check_wait_mode() noexcept;

// A pause of the processor within a spin.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True if this thread saw another program take its core lately, so that a spin would cost it a time slice. Always true in
// mode sleep, and false in mode spin. Takes some ten nanoseconds.
bool core_is_wanted() noexcept;

// How often the kernel took the core from a thread that could run, and for how long. One reading.
struct Turns {
  long switches = -1;  // involuntary ones
  double queued = -1;  // seconds that the thread was ready to run without a core; negative: the kernel does not tell
  double when = 0;     // seconds of CLOCK_MONOTONIC
};

// True if another program had the core for a time slice between two readings, and for a quarter of the time. Interruptions
// of microseconds are none: threads of the kernel cause them, and each waking.
bool core_was_taken(const Turns& before, const Turns& after) noexcept;

// The events that end a sleep of a wait before its time.
enum class Wakes : std::uint8_t {
  by_nothing,   // a wait without a descriptor or a bell, as for an MPI
  by_the_peer,  // the awaited store; but a transport must progress meanwhile
  by_all        // every event that the wait serves
};

// Seconds of a sleep at most, unless all wakes it.
constexpr double longest_sleep = 2e-3;

// One wait. A sleep that something might miss takes a fiftieth of the time waited so far, 50 µs at least. So it delays
// nothing by much, and a wait of a second sleeps some hundred times. Where nothing wakes the rank, it sleeps only after
// 2.5 ms; else after 0.3 ms.
class Waiting {
 public:
  // `shares`: ranks may outnumber cores, so the core goes to the others at each look.
  explicit Waiting(bool shares, Wakes wakes = Wakes::by_nothing, double longest = longest_sleep) noexcept
      : shares_(shares), wakes_(wakes), longest_(longest) {}

  // The wait has had success, so the next call of next() begins another one.
  void reset() noexcept { began_ = -1; }

  // After a look in vain, at time `now`. Positive: seconds to sleep before the next look. 0: look again, since this
  // function has paused or given the core away.
  double next(double now) noexcept;

  // After a look in vain, where nothing but time ends a sleep: does what next() says.
  void rest() noexcept;

  // How many seconds of CLOCK_MONOTONIC there are.
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

// Sleeps for so long.
void sleep_for(double seconds) noexcept;

// How often this process slept in waits, for tests.
std::uint64_t sleeps() noexcept;
void count_sleep() noexcept;

}  // namespace stretto
