// Waiting: every wait of the node floor is a call of wait().
//
// A waiting rank first looks again and again, a pause apart: the shortest wait when its peer runs on another core.
// Then, or at once where ranks outnumber cores, it gives the core away between looks, but seldom where it has a core of
// its own. It also lets the MPI progress, so that a waiting rank never keeps another from sending. A wait ends with
// what was waited for, with what the watch sees (a peer that died or gave up), or after the limit, with the watch's
// diagnosis.
#pragma once

#include <cstdint>

#include "base/status.hpp"

namespace stretto::node {

// How patiently a rank waits.
struct Patience {
  std::uint32_t spins = 2000;         // looks, a pause apart, before all below begins; one where ranks outnumber cores
  double between_yields = 0;          // seconds from one time that the core is given away to the next; 0: at each look
  double limit = 300;                 // seconds until a wait is given up
  void (*progress)(void*) = nullptr;  // called now and then; may be null
  void* context = nullptr;            // its argument
  // Of collectives that are started (node/started): gives control back to who drives them, in place of giving the core away. `anew`: for the
  // first time in a wait, so the collective has moved.
  void (*suspend)(void*, bool anew) = nullptr;
  void* suspended = nullptr;  // its argument
};

// Looks that a rank takes first: many where it has a core of its own, one where a core may have several ranks.
std::uint32_t spins_for(bool cores_are_shared) noexcept;

// Seconds between two times that a rank gives its core away. It does so at each look where a core may have several
// ranks, since the rank that is waited for may be among them. A rank with a core of its own would give the core only to
// other programs. These get slices of milliseconds, even at the lowest priority. Where they must run, the scheduler
// takes the core by itself.
double between_yields_for(bool cores_are_shared) noexcept;

// Who is asked while a wait lasts. Called rarely (some hundred times a second), so looking may cost system calls.
class Watch {
 public:
  // ok: there is still hope. Anything else ends the wait with it.
  virtual Status look() noexcept = 0;
  // The failure of a wait that took `seconds` and is given up: names who is missing, and in what.
  virtual Status give_up(double seconds) noexcept = 0;

 protected:
  ~Watch() = default;
};

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The part of a wait that looks at the clock; state of one wait.
class Respite {
 public:
  Respite(const Patience& patience, Watch& watch) noexcept : patience_(patience), watch_(watch) {}
  // Gives the core away, when it is time for that. Not ok: the wait is over.
  Status take() noexcept;

 private:
  const Patience& patience_;
  Watch& watch_;
  double began_ = -1;
  double looked_ = 0, progressed_ = 0, yielded_ = 0, asked_ = 0;

  double suspend(double now, bool anew) noexcept;
  Status interrupt(double waited) noexcept;
};

// Waits until ready() is true. `ready` is called often and must only load; what it saw with acquire order is visible after.
template <class Ready>
Status wait(const Patience& patience, Watch& watch, const Ready& ready) noexcept {
  for (std::uint32_t i = 0; i < patience.spins; ++i) {
    if (ready()) return Status::ok;
    pause();
  }
  Respite respite(patience, watch);
  while (!ready()) {
    if (const Status s = respite.take(); s != Status::ok) return ready() ? Status::ok : s;
  }
  return Status::ok;
}

}  // namespace stretto::node
