// Drives a call through its phases (docs/architecture.md, "The states of an operation"): blocking on the caller's
// stack, or nonblocking inside a request.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "api/operation/agreement.hpp"
#include "api/operation/movement.hpp"
#include "api/operation/phase.hpp"
#include "base/guarded.hpp"
#include "base/status.hpp"

namespace stretto::api {

// Destroyed once complete, or if it never began.
class Operation {
 public:
  // `compared`: the ranks have compared words, and must exchange signatures.
  explicit Operation(stretto_comm_s& comm, bool compared = false) noexcept : c_(comm), agreement_(c_, compared) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Before start(): takes the call and its decision.
  CallState& state() noexcept { return c_; }

  // `own`: the failure found in the arguments, with this thread's message.
  void start(Status own) noexcept;

  // Between a nonblocking call's start() and its return: publishes it, and does the lead steps of a split tree. Gives
  // up if nothing moves for a moment, since it may not wait for other ranks. `guard` as in wait().
  void lead(Guard& guard) noexcept;

  // Waits only for a blocking backend's step with `may_block`, on the caller's own thread. `may_start_data`: every
  // earlier operation has started its own.
  void advance(bool may_start_data, bool may_block) noexcept;

  // Advances other operations, too. Yields `guard`, the communicator's, now and then.
  Status wait(Guard& guard) noexcept;

  // The guard is held, here and below, except by settled().
  bool done() const noexcept { return phase_ == Phase::done; }

  // Done, and unused by other threads. Needs no guard.
  bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  // The driver's last use: afterwards the owner may destroy the operation.
  void publish() noexcept {
    if (done()) settled_.store(true, std::memory_order_release);
  }

  bool is_nonblocking() const noexcept { return c_.call.nonblocking; }
  bool data_started() const noexcept { return done() || movement_.has_started(); }

  // Once done or settled; renews the message on this thread.
  Status status() const noexcept;

 private:
  enum class Phase : std::uint8_t { agreement, movement, done };
  static constexpr Purpose kRunning = "to run a collective";

  // The one place that chooses the next phase.
  void follow(Step step) noexcept {
    if (step.next == Step::Next::move)
      phase_ = Phase::movement;
    else if (step.next != Step::Next::wait)
      finish(step);
  }
  void finish(Step step) noexcept;
  bool waits_in_line() const noexcept {
    return phase_ == Phase::agreement ? agreement_.is_comparing() : !done() && movement_.is_queued();
  }
  Step leave_line(bool may_block) noexcept;
  bool is_first_to_sign() const noexcept;
  bool wait_alone() noexcept;
  Status too_late(const Operation* first, double waited, const char* why) const noexcept;

  CallState c_;
  Phase phase_ = Phase::agreement;
  std::atomic<bool> settled_{false};
  Status status_ = Status::ok;
  Agreement agreement_;
  Movement movement_{c_};
};

}  // namespace stretto::api

struct stretto_request_s {
  explicit stretto_request_s(stretto_comm_s& c) noexcept : comm(c) {}

  bool runs() const noexcept { return operation && !operation->done(); }  // precondition: the guard is held
  bool settled() const noexcept { return !operation || operation->settled(); }

  stretto_comm_s& comm;
  std::optional<stretto::api::Operation> operation;  // empty: persistent, and not started yet
  std::optional<stretto::api::Call> call;
  stretto::Status own = stretto::Status::ok;
  std::array<char, 512> wrong{};
};
