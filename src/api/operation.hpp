// A collective on its way: agree, exchange counts where only the root knows them, run, report. One state machine serves
// the blocking form (on the caller's stack) and the nonblocking one (inside a request).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/agreement.hpp"
#include "api/collective.hpp"
#include "api/communicator.hpp"
#include "api/plan.hpp"
#include "base/status.hpp"
#include "engine/engine.hpp"

namespace stretto::api {

class Operation {
 public:
  explicit Operation(stretto_comm_s& comm) noexcept : comm_(comm) {}
  ~Operation();  // waits when it is not complete
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // Begins. `own` is what was found wrong with the arguments, with the message of this thread.
  void start(Call&& call, Status own) noexcept;

  // One step without waiting. `may_start_data`: every earlier operation has started its own.
  void advance(bool may_start_data) noexcept;

  // To the end; the other operations of the communicator advance meanwhile.
  Status wait() noexcept;

  bool done() const noexcept { return phase_ == Phase::done; }
  bool data_started() const noexcept {
    return phase_ == Phase::running || phase_ == Phase::settling || phase_ == Phase::done;
  }

  // Status of the collective once done; renews the message on this thread.
  Status status() const noexcept;

 private:
  // meeting, draining: what blocks in shared memory or in the MPI waits for what was started before it.
  enum class Phase : std::uint8_t { idle, meeting, agreeing, agreed, counting, draining, running, settling, done };
  using Clock = std::chrono::steady_clock;

  void meet() noexcept;
  Status begin_agreement() noexcept;
  void end_agreement() noexcept;
  Status begin_counting() noexcept;
  Status end_counting() noexcept;
  Status begin_data() noexcept;
  Status begin_native() noexcept;
  Status run_native() noexcept;
  Status begin_settling() noexcept;
  void end_settling() noexcept;
  void finish_outcome() noexcept;
  void poll() noexcept;           // what this phase waits for
  void step() noexcept;           // the engine request of this phase has ended well
  void ended(Status s) noexcept;  // it has ended
  void finish(Status s) noexcept;
  void stop(Status s) noexcept;  // finish(), where the other ranks go on and would wait for this one
  Status late(const Operation& earlier, double limit) const noexcept;  // this one was kept waiting by an earlier one
  void keep_message() noexcept;                                        // this thread's
  void report() noexcept;
  double seconds() const noexcept;

  stretto_comm_s& comm_;
  Call call_;
  Phase phase_ = Phase::idle;
  Signature own_, merged_;
  std::vector<std::uint64_t> own_counts_, all_counts_;
  Plan plan_;
  std::vector<double> own_times_, all_times_;  // of a trial
  engine::Request request_;
  std::unique_ptr<Native::Pending> pending_;     // a native collective on its way
  std::uint64_t number_ = engine::Engine::next;  // of that, among the runs of comm_.data
  engine::Report ran_;
  Clock::time_point begun_{};
  double agree_seconds_ = 0;
  Status outcome_ = Status::ok;  // of the data, while a trial is settled
  double took_ = 0;              // until the data were there, where an exchange followed
  Clock::time_point turn_{};     // when the data began to move
  Status status_ = Status::ok;
  std::array<char, 512> message_{};  // that of this rank's own failure, as long as a message is
};

}  // namespace stretto::api

struct stretto_request_s {
  explicit stretto_request_s(stretto_comm_s& c) noexcept : comm(c), operation(c) {}
  stretto_comm_s& comm;
  stretto::api::Operation operation;
};
