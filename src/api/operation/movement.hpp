// The second phase of an operation: counts that only the root knows, then the data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/operation/agreement.hpp"
#include "api/operation/phase.hpp"
#include "backend/backend.hpp"

namespace stretto::api {

class Movement {
 public:
  explicit Movement(CallState& c) noexcept : c_(c) {}

  // Until every earlier operation has started its data, and again after the counts.
  bool is_ready() const noexcept { return state_ == State::ready; }
  Step start(const Agreement& agreement);

  // In a backend that blocks, until earlier operations end, or that takes calls in turn.
  bool is_queued() const noexcept { return state_ == State::queued; }
  bool takes_turns() const noexcept { return in_turn_; }
  Step leave_queue() noexcept;

  Step test();
  std::optional<Step> wait();  // none: nothing is in flight, or it has no wait

  bool has_started() const noexcept { return state_ == State::running && !(pending_ && pending_->holds_up()); }
  bool runs_in_turn() const noexcept { return in_turn_ && has_started(); }
  const backend::Pending* pending() const noexcept { return pending_.get(); }
  void abandon() noexcept { pending_.reset(); }

 private:
  enum class State : std::uint8_t {
    ready,
    counting,  // exchanges counts that only the root and each owner know
    queued,
    running
  };

  Step start_counts();
  Step take_counts(Status s);
  backend::Backend& backend() const noexcept { return c_.comm.backends.of(c_.decision.choice.provider); }
  Step begun(Status s) noexcept;
  Step ended(Status s) noexcept;

  CallState& c_;
  State state_ = State::ready;
  bool in_turn_ = false;
  std::vector<std::uint64_t> own_counts_, all_counts_;
  engine::Request counting_;
  std::unique_ptr<backend::Pending> pending_;
};

}  // namespace stretto::api
