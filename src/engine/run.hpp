// Executes units of one rank's collective as they become ready.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/run/inbox.hpp"
#include "engine/run/outbox.hpp"

namespace stretto::engine {

using Clock = std::chrono::steady_clock;

class Run {
 public:
  // With equal results on every rank.
  static Status check(const Work& call, const carrier::Carrier& carrier);

  // Plans a checked call. `slot` is for transfers' ids, `sequence` for their tags. On failure nothing has moved and the
  // run is inactive.
  Status begin(const Work& call, carrier::Carrier& carrier, payload::Pool& pool, const codec::Parallel* parallel,
               std::uint32_t slot, std::uint64_t sequence) noexcept;

  // Posts the first receives; nothing moves before.
  void go() noexcept;
  bool going() const noexcept { return going_; }

  // Restarts the limit: runs that this one waits for have moved.
  void waits_for_others() noexcept { moved_ = Clock::now(); }

  std::uint64_t sequence() const noexcept { return state_.channel.sequence(); }
  bool active() const noexcept { return active_; }
  bool ended() const noexcept { return state_.units.left() == 0; }
  bool leads() const noexcept { return state_.units.leads(); }

  // True if there was a ready unit.
  bool advance(int budget, Lanes taken) noexcept;

  // Transfers between devices are to begin; earlier runs come first.
  bool crosses() const noexcept { return state_.traffic->crosses; }
  void may_cross(bool may) noexcept { state_.traffic->may_cross = may; }
  void poll_crossings(std::span<carrier::Completion> done, std::size_t* n) noexcept { state_.traffic->poll(done, n); }

  // `id`: lower half of the completion's id.
  void complete(std::uint32_t id, const carrier::Completion& completion) noexcept;

  bool overdue(Clock::time_point now) const noexcept;

  // The caller was away. Long absences do not count against the limit.
  void pause(Clock::duration time) noexcept;

  // incompatible: an arrived message's sender calls differently.
  Status compare_calls() noexcept;

  bool stranded() const noexcept { return state_.failure.stranded(); }
  Status status() const noexcept { return state_.failure.status(); }
  const char* text() const noexcept { return state_.failure.text(); }

  // Memory that the carrier may still touch goes to `lost`.
  void give_up(Status status, const char* text, std::vector<payload::Buffer>* lost) noexcept;

  std::string what_runs() const { return state_.failure.what_runs(); }
  std::string diagnosis() const;
  int missing() const noexcept;  // a rank of the diagnosis, a sender if possible; -1: none

  // Excludes time with the device's codec at work.
  void waited(double seconds) noexcept {
    if (!state_.traffic->codes()) wait_seconds_ += seconds;
  }
  double timeout() const noexcept { return state_.options.timeout; }
  bool polls() const noexcept { return state_.traffic->polls(); }

  // After the end. Sets the status's message, and deactivates the run.
  Status finish(Report* report) noexcept;

 private:
  Status prepare(const Work& call, carrier::Carrier& carrier, const codec::Parallel* parallel, std::uint32_t slot,
                 std::uint64_t sequence);
  void execute(std::uint32_t u) noexcept;
  void end() noexcept;
  void fill(Report* report) const noexcept;

  RunState state_;
  Outbox outbox_{state_};
  Inbox inbox_{state_};
  Traffic host_{state_};
  std::unique_ptr<Traffic> of_device_;

  bool active_ = false;
  bool going_ = false;
  Clock::time_point begun_{};
  Clock::time_point moved_{};
  double wait_seconds_ = 0;
};

}  // namespace stretto::engine
