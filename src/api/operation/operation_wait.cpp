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
  if (decision_.choice.split == 0 || done()) {
    publish();
    return;
  }
  const auto leads = [this] { return !done() && (!data_started() || (pending_ && pending_->leads())); };
  if (meeting_runs_) {
    lead_in_memory(guard);
    return;
  }
  comm_.set_caller_leads(true);
  Clock::time_point since = Clock::now();
  Waiting waiting(true);
  while (Clock::now() - since < kPatience) {
    const std::uint64_t moved = comm_.moves();
    comm_.progress({.beside = false, .after = false});
    if (!leads()) break;
    if (comm_.moves() != moved) {
      since = Clock::now();
      waiting.reset();
    } else {
      give_way(guard, waiting);
    }
  }
  comm_.set_caller_leads(false);
  publish();
}

void Operation::lead_in_memory(Guard& guard) noexcept {
  comm_.set_caller_leads(true);
  Clock::time_point since = Clock::now();
  Waiting waiting(true);
  while (meeting_ && meeting_->leads() && Clock::now() - since < kPatience) {
    if (meeting_->lead()) {
      since = Clock::now();
      waiting.reset();
    } else {
      give_way(guard, waiting);
    }
  }
  comm_.backends.node->end_lead();
  comm_.set_caller_leads(false);
  publish();
}

// Gives the core away in the engine's wait. False: there is other work, or no such wait.
bool Operation::wait_alone() noexcept try {
  if (comm_.live().size() != 1) return false;
  if (exchanges_.request.active()) {
    const Status s = exchanges_.request.wait(exchanges_.carried ? &ran_ : nullptr);
    state_ == State::agreeing ? leave_agreeing(s) : leave_counting(s);
  } else if (meeting_) {
    Status s = Status::ok;
    meeting_->wait(&s, nullptr);
    leave_meeting(s);
  } else {
    Status s = Status::ok;
    if (!pending_ || !pending_->wait(&s, &ran_)) return false;
    pending_.reset();
    leave_running(s);
  }
  if (!done()) advance(true, true);
  return true;
} catch (...) {
  lose(kRunning.fail_caught());
  return true;
}

void Operation::late(const Operation* first, double waited, const char* why) noexcept {
  if (!waits_in_line()) {
    pending_.reset();
    const auto& library = comm_.device_link.library;
    leave_running(fail(Status::timeout, "{}{}'s own {} is not complete after {:.3g} s", why,
                       call_.device && library ? library->name() : "the MPI", name(call_.collective), waited));
    return;
  }
  lose(fail(Status::timeout,
            "{}{} waits for {} of {} elements, the first of {} that were started before it, which is not complete "
            "after {:.3g} s",
            why, name(call_.collective), name(first->call_.collective), first->call_.count, comm_.live().size() - 1,
            waited));
}

Status Operation::wait(Guard& guard) noexcept {
  constexpr std::chrono::milliseconds between_questions(50);
  constexpr std::chrono::microseconds between_progress(100);  // an MPI may sleep while it looks for messages
  Clock::time_point since = Clock::now();
  Clock::time_point asked = since, progressed = since;
  const Operation* first = nullptr;
  Waiting waiting(true);
  while (!done()) {
    if (wait_alone()) continue;
    comm_.progress({}, true, this);
    if (done()) break;
    if (waits_in_line() && comm_.live().front() != first) {
      first = comm_.live().front();
      since = Clock::now();
    }
    const double limit = timeout_of(call_.settings.options);
    const bool waits = waits_in_line() || (pending_ && decision_.choice.provider != Provider::schedules);
    const Clock::time_point now = Clock::now();
    const double waited = std::chrono::duration<double>(now - since).count();
    if (now - progressed >= between_progress) {
      progressed = now;
      let_others_progress(comm_);
    }
    if (waits && limit > 0 && waited > limit) {
      late(first, limit, "");
      break;
    }
    if (waits && now - asked >= between_questions) {
      asked = now;
      if (interrupted()) {
        late(first, waited, "interrupted: ");
        break;
      }
    }
    give_way(guard, waiting);
  }
  publish();
  return status();
}

}  // namespace stretto::api
