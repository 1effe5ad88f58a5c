#include "api/operation/operation.hpp"
#include "base/interrupt.hpp"
#include "base/waiting.hpp"

namespace stretto::api {
namespace {

// Until the cores take a starting call's steps, which do not move.
constexpr std::chrono::milliseconds kPatience(10);

// A communication core may go on meanwhile.
void give_way(Guard& guard, Waiting& waiting) noexcept {
  const bool shared = guard.owns_lock();
  if (shared) guard.unlock();
  if (const double sleep = waiting.next(Waiting::clock()); sleep > 0) sleep_for(sleep);
  if (shared) guard.lock();
}

// A peer may reach this collective only after another message or collective has moved on this rank.
void let_others_progress(stretto_comm_s& comm) noexcept {
  comm.drive_others();
  if (comm.transport) comm.transport->progress();
}

}  // namespace

void Operation::lead(Guard& guard) noexcept {
  if (c_.decision.choice.split == 0 || done()) return publish();
  stretto_comm_s& comm = c_.comm;
  const bool in_memory = agreement_.moves_data();
  const auto leads = [&] {
    if (in_memory) return agreement_.meeting() && agreement_.meeting()->leads();
    return !done() && (!data_started() || (movement_.pending() && movement_.pending()->leads()));
  };
  const auto moves = [&] {
    if (in_memory) return agreement_.meeting()->move_lead();
    const std::uint64_t moved = comm.moves();
    comm.progress({.beside = false, .after = false});
    return comm.moves() != moved;
  };
  comm.set_caller_leads(true);
  CallState::Clock::time_point since = CallState::Clock::now();
  Waiting waiting(true);
  while (leads() && CallState::Clock::now() - since < kPatience) {
    if (moves()) {
      since = CallState::Clock::now();
      waiting.reset();
    } else if (leads()) {
      give_way(guard, waiting);
    }
  }
  if (in_memory) comm.backends.node->end_lead();
  comm.set_caller_leads(false);
  publish();
}

// Gives the core away in the engine's wait. False: there is other work, or no such wait.
bool Operation::wait_alone() noexcept try {
  if (c_.comm.live().size() != 1) return false;
  const std::optional<Step> step = phase_ == Phase::agreement ? agreement_.wait() : movement_.wait();
  if (!step) return false;
  follow(*step);
  if (!done()) advance(true, true);
  return true;
} catch (...) {
  finish(Step::lose(kRunning.fail_caught()));
  return true;
}

Status Operation::too_late(const Operation* first, double waited, const char* why) const noexcept {
  const stretto_comm_s& comm = c_.comm;
  const Call& call = c_.call;
  if (waits_in_line())
    return fail(Status::timeout,
                "{}{} waits for {} of {} elements, the first of {} that were started before it, which is not complete "
                "after {:.3g} s",
                why, name(call.collective), name(first->c_.call.collective), first->c_.call.count,
                comm.live().size() - 1, waited);
  const auto& library = comm.device_link.library;
  return fail(Status::timeout, "{}{}'s own {} is not complete after {:.3g} s", why,
              call.device && library ? library->name() : "the MPI", name(call.collective), waited);
}

Status Operation::wait(Guard& guard) noexcept {
  using Clock = CallState::Clock;
  constexpr std::chrono::milliseconds between_questions(50);
  constexpr std::chrono::microseconds between_progress(100);  // an MPI may sleep while it looks for messages
  stretto_comm_s& comm = c_.comm;
  Clock::time_point since = Clock::now();
  Clock::time_point asked = since, progressed = since;
  const Operation* first = nullptr;
  Waiting waiting(true);
  while (!done()) {
    if (wait_alone()) continue;
    comm.progress({}, true, this);
    if (done()) break;
    if (waits_in_line() && comm.live().front() != first) {
      first = comm.live().front();
      since = Clock::now();
    }
    const double limit = timeout_of(c_.call.settings.options);
    const bool waits = waits_in_line() || (movement_.pending() && c_.decision.choice.provider != Provider::schedules);
    const Clock::time_point now = Clock::now();
    const double waited = std::chrono::duration<double>(now - since).count();
    if (now - progressed >= between_progress) {
      progressed = now;
      let_others_progress(comm);
    }
    const bool is_late = waits && limit > 0 && waited > limit, asks = waits && now - asked >= between_questions;
    if (asks) asked = now;
    if (is_late || (asks && interrupted())) {
      movement_.abandon();
      finish(Step::lose(is_late ? too_late(first, limit, "") : too_late(first, waited, "interrupted: ")));
      break;
    }
    give_way(guard, waiting);
  }
  publish();
  return status();
}

}  // namespace stretto::api
