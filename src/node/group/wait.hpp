// Every wait in a node's memory calls wait(). A rank polls, yields, then sleeps on the awaited rank's bell
// (docs/node.md, "Waiting"). Between sleeps it lets the MPI progress, so that it never blocks another rank's send. A
// wait ends when ready() is true, when the watch finds a peer that died or gave up, or after the limit.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "base/waiting.hpp"
#include "node/group/bell.hpp"

namespace stretto::node {

struct Patience {
  // checks before the rank yields or sleeps; 1 if ranks outnumber cores
  std::uint32_t spins = 2000;
  bool shares = true;                 // ranks may share a core: yield at each check
  double limit = 300;                 // seconds until a wait is given up
  void (*progress)(void*) = nullptr;  // called now and then; may be null
  void* context = nullptr;
  // Returns to a started collective's driver instead of yielding the core. `anew`: the first suspension of a wait, so
  // the collective has moved.
  void (*suspend)(void*, bool anew) = nullptr;
  void* suspended = nullptr;
  Bell* own = nullptr;   // on which the rank records its core; may be null
  Bell* bell = nullptr;  // of a suspended wait: its driver may sleep on it
};

std::uint32_t spins_for(bool cores_are_shared) noexcept;

// Called some hundred times a second, so it may use system calls.
class Watch {
 public:
  // ok: the wait goes on. Any other status ends it.
  virtual Status check() noexcept = 0;
  // Names the missing rank and its call.
  virtual Status give_up(double seconds) noexcept = 0;

 protected:
  ~Watch() = default;
};

class Backoff {
 public:
  Backoff(Patience& patience, Watch& watch, Bell& bell) noexcept;
  // Yields the core when due. *sleep: seconds to sleep if the next check fails. Not ok: the wait is over.
  Status step(double* sleep) noexcept;
  // The kernel may have woken the rank on another core.
  void wake() const noexcept {
    if (patience_.own != nullptr) patience_.own->note_core();
  }

 private:
  Patience& patience_;
  Watch& watch_;
  Bell& bell_;
  Waiting waiting_;
  double began_ = -1;
  double now_ = -1;  // the time at the end of the last step; negative: unknown
  double checked_ = 0, progressed_ = 0, interrupts_checked_ = 0;

  double suspend(double now, bool anew) noexcept;
  Status interrupt(double waited) noexcept;
};

// Checks before a wait asks whether somebody else needs the core, which takes some microseconds.
constexpr std::uint32_t kFirstChecks = 64;

// `ready` is called often and must only load; its acquire loads make the data visible. `bell` belongs to the rank whose
// store makes it true.
template <class Ready>
Status wait(Patience& patience, Watch& watch, Bell& bell, const Ready& ready) noexcept {
  for (std::uint32_t i = 0; i < patience.spins; ++i) {
    if (ready()) return Status::ok;
    if (i == kFirstChecks && patience.suspend == nullptr && (core_is_wanted() || bell.on_this_core())) break;
    pause();
  }
  Backoff backoff(patience, watch, bell);
  while (!ready()) {
    double sleep = 0;
    if (const Status s = backoff.step(&sleep); s != Status::ok) return ready() ? Status::ok : s;
    if (sleep <= 0) continue;
    const std::uint32_t armed = bell.arm();
    if (ready()) break;
    bell.sleep(sleep, armed);
    backoff.wake();
  }
  return Status::ok;
}

}  // namespace stretto::node
