// Blocking (on the caller's stack) or nonblocking (inside a request). Each state but signing and agreed waits for one
// thing (docs/architecture.md, "The states of an operation"). Its exit, leave_STATE(), chooses the next state.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/operation/exchanges.hpp"
#include "base/guarded.hpp"
#include "base/status.hpp"

namespace stretto::api {

class Operation {
 public:
  explicit Operation(stretto_comm_s& comm) noexcept : comm_(comm) {}
  ~Operation();  // precondition: it is complete, or never began
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // `own`: the failure found in the arguments, with this thread's message. `compared`: the ranks have compared words,
  // and must exchange signatures.
  void start(Call&& call, select::Decision&& decision, Status own, bool compared = false) noexcept;

  // Between a nonblocking call's start() and its return: publishes it, and does the lead steps of a split tree. Gives
  // up if nothing moves for a moment, since it may not wait for other ranks. `guard` as in wait().
  void lead(Guard& guard) noexcept;

  // Waits only for a blocking backend's step with `may_block`, on the caller's own thread. `may_start_data`: every
  // earlier operation has started its own.
  void advance(bool may_start_data, bool may_block) noexcept;

  // Advances other operations, too. Yields `guard`, the communicator's, now and then.
  Status wait(Guard& guard) noexcept;

  // The guard is held, here and below, except by settled().
  bool done() const noexcept { return state_ == State::done; }

  // Done, and unused by other threads. Needs no guard.
  bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }

  // The driver's last use: afterwards the owner may destroy the operation.
  void publish() noexcept {
    if (done()) settled_.store(true, std::memory_order_release);
  }

  bool is_nonblocking() const noexcept { return call_.nonblocking; }
  bool data_started() const noexcept {
    return (state_ == State::running && !(pending_ && pending_->holds_up())) || state_ == State::done;
  }

  // Once done or settled; renews the message on this thread.
  Status status() const noexcept;

 private:
  enum class State : std::uint8_t {
    idle,
    comparing,  // one word of each rank in shared memory, after all earlier calls
    meeting,    // nonblocking, on one host: agrees, and moves data that stay in shared memory
    signing,    // until every earlier operation has begun to agree
    agreeing,   // words of messages, and signatures where those differ
    agreed,     // until every earlier operation has started its data
    counting,   // exchanges counts that only the root and each owner know
    queued,     // in a backend that blocks, or takes calls in turn: until earlier started calls end
    running,
    done
  };
  using Clock = std::chrono::steady_clock;
  static constexpr Purpose kRunning = "to run a collective";

  // advance() and wait_alone() catch std::bad_alloc of these.
  void leave_comparing() noexcept;
  void leave_meeting(Status s) noexcept;
  void leave_agreeing(Status s) noexcept;
  void leave_agreed();
  void leave_counting(Status s);
  void leave_queued() noexcept;
  void leave_running(Status s, bool certain = false) noexcept;

  bool meets_in_memory() const noexcept;
  bool moves_in_memory() const noexcept;
  void meet() noexcept;
  void compared(Status s, bool same) noexcept;
  void start_signatures() noexcept;
  bool goes_exact(Status refusal) noexcept;
  void started(Status s, bool certain) noexcept;
  void test_data() noexcept;
  bool is_first_to_sign() const noexcept;
  backend::Backend& chosen() const noexcept;
  bool starts_in_turn() const noexcept;  // precondition: decided
  bool is_its_turn() const noexcept;     // precondition: decided
  bool wait_alone() noexcept;
  void lead_in_memory(Guard& guard) noexcept;
  bool waits_in_line() const noexcept { return state_ == State::comparing || state_ == State::queued; }
  void late(const Operation* first, double waited, const char* why) noexcept;

  void finish(Status s) noexcept;
  void lose(Status s) noexcept;  // finish(), where other ranks would wait for this one
  double seconds() const noexcept;

  stretto_comm_s& comm_;
  Call call_;
  select::Decision decision_;
  State state_ = State::idle;
  std::atomic<bool> settled_{false};
  bool moved_ = false;  // data; false: an agreement was all
  Exchanges exchanges_;
  std::unique_ptr<backend::Pending> pending_;
  std::unique_ptr<backend::Meeting> meeting_;
  bool meeting_runs_ = false;
  bool exact_ = false;
  std::uint64_t number_ =
      engine::Engine::kNext;  // a started collective's, of another backend, among the runs of comm_.data
  engine::Report ran_;
  Clock::time_point begun_{};
  double agree_seconds_ = 0;
  Status status_ = Status::ok;
  std::array<char, 512> message_{};
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
