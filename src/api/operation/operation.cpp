#include "api/operation/operation.hpp"

#include <algorithm>

#include "api/device/placement.hpp"
#include "api/report.hpp"
#include "base/progress/communication_cores.hpp"

namespace stretto::api {

bool CallState::goes_exact(Status refusal) noexcept {
  const bool refused =
      refusal == Status::invalid_bound || refusal == Status::unsupported || refusal == Status::incompatible;
  if (!refused || exact || !call.nonblocking || !comm.starts_or_exact()) return false;
  exact = true;
  call.settings.schedule.clear();
  stretto_options& o = call.settings.options;
  o.bound_kind = STRETTO_BOUND_NONE;
  o.payload = STRETTO_PAYLOAD_AUTO;
  decision.needs = {};
  decision.ratio = 1;
  decision.made = false;
  return true;
}

void Operation::start(Status own) noexcept {
  stretto_comm_s& comm = c_.comm;
  c_.begun = CallState::Clock::now();
  if (const Status s = comm.refusal(); s != Status::ok) return finish(Step::end(s));
  if (const Status s = guarded("to start a collective", [&] { comm.enlist(this); }); s != Status::ok)
    return finish(Step::lose(s));
  follow(agreement_.begin(own));
  const bool driven = (agreement_.meeting() || comm.is_driven()) && CommunicationCores::mine().on();
  if (!done() && !(c_.call.nonblocking && driven)) comm.progress();
}

void Operation::advance(bool may_start_data, bool may_block) noexcept try {
  if (waits_in_line())
    follow(leave_line(may_block));
  else if (!done())
    follow(phase_ == Phase::agreement ? agreement_.test() : movement_.test());
  if (phase_ == Phase::agreement && agreement_.is_signing() && is_first_to_sign()) follow(agreement_.exchange());
  if (phase_ != Phase::movement || !movement_.is_ready() || !may_start_data) return;
  // Ranks wait for one another to link devices: on the caller's own thread.
  if (!may_block && must_link(c_.comm, agreement_.signatures().merged)) return;
  follow(movement_.start(agreement_));
  if (waits_in_line()) follow(leave_line(c_.comm.size == 1));  // one rank waits for no other
} catch (...) {
  finish(Step::lose(kRunning.fail_caught()));
}

// Precondition: it waits in line.
Step Operation::leave_line(bool may_block) noexcept {
  if (const Status s = c_.comm.refusal("not started; "); s != Status::ok) return Step::lose(s);
  const auto& live = c_.comm.live();
  const auto holds_up = [this](const Operation* o) { return o == this || !o->movement_.runs_in_turn(); };
  const bool is_first = movement_.takes_turns() ? *std::find_if(live.begin(), live.end(), holds_up) == this
                                                : may_block && live.front() == this;
  if (!is_first) return {};
  return phase_ == Phase::agreement ? agreement_.compare() : movement_.leave_queue();
}

bool Operation::is_first_to_sign() const noexcept {
  const auto& live = c_.comm.live();
  const auto may_sign = [](const Operation* o) { return o->agreement_.may_sign(); };
  return *std::find_if(live.begin(), live.end(), may_sign) == this;
}

void Operation::finish(Step step) noexcept {
  const Status s = status_ = step.status;
  if (step.next == Step::Next::lose) c_.comm.give_up(s, message(), c_.data_run, c_.agreement_run);
  phase_ = Phase::done;
  if (s != Status::ok) copy_message(c_.message);
  const Call& call = c_.call;
  const Signature& merged = agreement_.signatures().merged;
  if (s == Status::ok && c_.decision.trial && c_.moved) c_.comm.selector.ran(call, c_.seconds() - c_.agree_seconds);
  if (s == Status::ok && call.settings.options.report) {
    const bool devices = c_.moved && merged.devices > 0 && c_.comm.size > 1;
    report({.comm = c_.comm,
            .shape = shape_of(call),
            .options = call.settings.options,
            .decision = c_.decision,
            .moved = c_.moved,
            .ran = c_.moved ? &c_.ran : nullptr,
            .result = call.device ? nullptr : call.recv,
            .ranges = &merged.values,
            .device_carrier = !devices        ? ""
                              : call.messages ? call.messages->name()
                                              : "host",
            .agree_seconds = c_.agree_seconds,
            .seconds = c_.seconds()});
  }
  c_.comm.retire(this);
}

Status Operation::status() const noexcept {
  return status_ == Status::ok ? status_ : fail(status_, std::string_view(c_.message.data()));
}

}  // namespace stretto::api
