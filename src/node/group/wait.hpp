// Waiting: every wait of the node floor is a call of wait().
//
// A waiting rank first looks again and again, a pause apart: the shortest wait when its peer runs on another core. Where
// ranks outnumber cores, or the peer is on this core, it gives the core away between looks instead. After a moment it sleeps on the bell of the rank
// that it waits for, each time for an eighth of the time it has waited (base/waiting.hpp). Between sleeps it lets the
// MPI progress, so that a waiting rank never keeps another from sending. A wait ends when ready() is true, when the watch sees a
// peer that died or gave up, or after the limit, with the watch's diagnosis.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "base/waiting.hpp"
#include "node/group/bell.hpp"

namespace stretto::node {

// How patiently a rank waits.
struct Patience {
  std::uint32_t spins = 2000;         // looks, a pause apart, before all below begins; one where ranks outnumber cores
  bool shares = true;                 // a core may have several ranks, so it is given away at each look
  double limit = 300;                 // seconds until a wait is given up
  void (*progress)(void*) = nullptr;  // called now and then; may be null
  void* context = nullptr;            // its argument
  // For started collectives (node/started): returns control to the driver instead of giving the core away. `anew`: for the first time in a
  // wait, so the collective has moved.
  void (*suspend)(void*, bool anew) = nullptr;
  void* suspended = nullptr;  // its argument
  Bell* own = nullptr;        // of the waiting rank, which tells the others its core; may be null
  Bell* bell = nullptr;       // of a suspended wait: what its driver may sleep on
};

// Looks that a rank takes first: many where it has a core of its own, one where a core may have several ranks.
std::uint32_t spins_for(bool cores_are_shared) noexcept;

// Checks of peers during a wait. Called rarely (some hundred times a second), so looking may cost system calls.
class Watch {
 public:
  // ok: there is still hope. Anything else ends the wait with it.
  virtual Status look() noexcept = 0;
  // The failure of a wait that took `seconds` and is given up: names who is missing, and in what.
  virtual Status give_up(double seconds) noexcept = 0;

 protected:
  ~Watch() = default;
};

// The part of a wait that looks at the clock; state of one wait.
class Respite {
 public:
  Respite(Patience& patience, Watch& watch, Bell& bell) noexcept;
  // Gives the core away, when it is time for that. *sleep: seconds to sleep, if another look is in vain. Not ok: the wait is over.
  Status take(double* sleep) noexcept;
  // After a sleep: the kernel may have woken the rank on another core.
  void wake() const noexcept {
    if (patience_.own != nullptr) patience_.own->note_core();
  }

 private:
  Patience& patience_;
  Watch& watch_;
  Bell& bell_;
  Waiting waiting_;
  double began_ = -1;
  double looked_ = 0, progressed_ = 0, asked_ = 0;

  double suspend(double now, bool anew) noexcept;
  Status interrupt(double waited) noexcept;
};

// Looks before a wait asks whether another program, or the rank that it waits for, wants the core; some microseconds.
constexpr std::uint32_t first_looks = 64;

// Waits until ready() is true. `ready` is called often and must only load; data that it read with acquire order are visible
// afterwards. `bell` is that of the rank whose store makes it true.
template <class Ready>
Status wait(Patience& patience, Watch& watch, Bell& bell, const Ready& ready) noexcept {
  for (std::uint32_t i = 0; i < patience.spins; ++i) {
    if (ready()) return Status::ok;
    if (i == first_looks && patience.suspend == nullptr && (core_is_wanted() || bell.on_this_core())) break;
    pause();
  }
  Respite respite(patience, watch, bell);
  while (!ready()) {
    double sleep = 0;
    if (const Status s = respite.take(&sleep); s != Status::ok) return ready() ? Status::ok : s;
    if (sleep <= 0) continue;
    const std::uint32_t armed = bell.arm();
    if (ready()) break;
    bell.sleep(sleep, armed);
    respite.wake();
  }
  return Status::ok;
}

}  // namespace stretto::node
