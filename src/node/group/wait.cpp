#include "node/group/wait.hpp"

#include <array>

#include "base/interrupt.hpp"

namespace stretto::node {
namespace {

constexpr double kBetweenChecks = 0.005;          // seconds between two checks of the peers
constexpr double kBetweenInterruptChecks = 0.05;  // seconds
constexpr double kBetweenDrives = 1;              // longest expected seconds between two drives

// Seconds between two calls of the progress function: MPICH sleeps in it if configured for oversubscribed cores.
constexpr double kBetweenProgress = 100e-6;

}  // namespace

// Pauses keep a shared core from the awaited rank: eight checks made short calls of four ranks on two cores a tenth
// slower.
std::uint32_t spins_for(bool cores_are_shared) noexcept { return cores_are_shared ? 1 : 2000; }

Backoff::Backoff(Patience& patience, Watch& watch, Bell& bell) noexcept
    : patience_(patience),
      watch_(watch),
      bell_(bell),
      waiting_(patience.shares || bell.on_this_core(),
               patience.progress != nullptr ? Wakes::by_the_peer : Wakes::by_all, kBetweenChecks) {
  wake();
}

// Long times without a driver do not count.
double Backoff::suspend(double t, bool anew) noexcept {
  patience_.bell = &bell_;
  patience_.suspend(patience_.suspended, anew);
  const double back = Waiting::clock();
  if (back - t > kBetweenDrives) began_ += back - t;
  return back;
}

Status Backoff::interrupt(double waited) noexcept {
  static_cast<void>(watch_.give_up(waited));
  std::array<char, 512> diagnosis{};
  copy_message(diagnosis);
  return fail(Status::timeout, "interrupted: {}", diagnosis.data());
}

Status Backoff::step(double* sleep) noexcept {
  double t = now_ < 0 ? Waiting::clock() : now_;
  now_ = -1;
  const bool anew = began_ < 0;
  if (anew) began_ = checked_ = progressed_ = interrupts_checked_ = t;
  if (patience_.suspend != nullptr)
    t = suspend(t, anew);
  else
    *sleep = waiting_.next(t);
  const bool progresses = patience_.progress != nullptr && t - progressed_ >= kBetweenProgress;
  if (progresses) {
    patience_.progress(patience_.context);
    progressed_ = t;
  }
  if (t - checked_ < kBetweenChecks) {
    if (!progresses) now_ = waiting_.back();
    return Status::ok;
  }
  checked_ = t;
  if (const Status s = watch_.check(); s != Status::ok) return s;
  if (t - began_ > patience_.limit) return watch_.give_up(t - began_);
  if (t - interrupts_checked_ < kBetweenInterruptChecks) return Status::ok;
  interrupts_checked_ = t;
  return interrupted() ? interrupt(t - began_) : Status::ok;
}

}  // namespace stretto::node
