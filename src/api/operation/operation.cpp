#include "api/operation/operation.hpp"

#include <algorithm>

#include "api/device/placement.hpp"
#include "api/operation/carried.hpp"
#include "api/report.hpp"
#include "base/guarded.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"

namespace stretto::api {

Operation::~Operation() = default;

double Operation::seconds() const noexcept { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

void Operation::start(Call&& call, select::Decision&& decision, Status own, bool compared) noexcept {
  begun_ = Clock::now();
  call_ = std::move(call);
  decision_ = std::move(decision);
  if (compared && agrees_by_messages(comm_)) exchanges_.owed = exchanges_.number = comm_.agreement.latest();
  if (const Status s = comm_.refusal(); s != Status::ok) {
    finish(s);
    return;
  }
  const bool exchanges = decision_.needs.any();
  exchanges_.unchecked = exchanges ? comm_.unchecked() : comm_.count_unchecked();
  // Memory is missing: the others go on, and only this informs them.
  const bool lost = !decision_.known || (!exchanges && own == Status::out_of_memory);
  if (lost && comm_.size > 1) {
    lose(own != Status::ok ? own : fail(Status::out_of_memory, "no memory to choose how a collective runs"));
    return;
  }
  if (!exchanges && own != Status::ok) {
    if (!goes_exact(own)) {
      finish(own);
      return;
    }
    own = Status::ok;
  }
  if (call_.device != nullptr && decision_.needs.range && own == Status::ok) own = find_values(comm_, &call_);
  const bool meets = meets_in_memory(), driven = (meets || comm_.is_driven()) && CommunicationCores::mine().on();
  // Drivers read a started call's values.
  const bool later = call_.nonblocking && driven && !meets && exchanges && own == Status::ok && comm_.size > 1;
  if (!later) exchanges_.sign(comm_, call_, decision_.needs, own);
  if (own != Status::ok) copy_message(message_);
  const Status listed = guarded("to start a collective", [&] { comm_.enlist(this); });
  if (listed != Status::ok) {
    lose(listed);
    return;
  }
  // Ranks may have different splits: the steps are equal, only their cores differ.
  if (const CommunicationCores& cores = CommunicationCores::mine();
      call_.nonblocking && decision_.made &&
      (moves_in_memory() ? cores.of_host() > 0 : comm_.is_driven() && cores.on()))
    decision_.choice.split = comm_.selector.split(call_, decision_.choice, cores.of_host());
  if (call_.nonblocking && comm_.backends.node) comm_.backends.node->started();
  if (meets) {
    meet();
  } else if (!exchanges) {
    if (decision_.samples_later) comm_.selector.remember(call_, {}, decision_);
    state_ = State::agreed;
  } else if (comm_.size == 1) {
    leave_agreeing(Status::ok);
  } else if (!compared && comm_.backends.node && compares_words(call_, comm_)) {
    state_ = State::comparing;
  } else {
    state_ = State::signing;
  }
  if (!done() && !(call_.nonblocking && driven)) comm_.progress();
}

// Equal on every rank: unchecked calls are equal.
bool Operation::meets_in_memory() const noexcept {
  if (!call_.nonblocking || !comm_.backends.node || comm_.size == 1) return false;
  return decision_.needs.check || (moves_in_memory() && !decision_.needs.any());
}

bool Operation::moves_in_memory() const noexcept {
  return comm_.backends.node && comm_.size > 1 && comm_.backends.node->moves(call_, decision_);
}

void Operation::meet() noexcept {
  state_ = State::meeting;
  const bool checks = decision_.needs.check;
  meeting_runs_ = moves_in_memory() && exchanges_.own.status == 0 &&
                  (!checks || (exchanges_.is_uniform(decision_.needs) && call_.collective != Collective::barrier));
  if (meeting_runs_) {
    // A failure here is equal on every rank, and is found again when the data would start.
    meeting_runs_ =
        comm_.selector.complete(call_, exchanges_.agreement(), comm_.backends.serve(call_), &decision_) == Status::ok &&
        moves_in_memory();
  }
  std::optional<std::uint64_t> word;
  if (checks) word = exchanges_.word(decision_.needs);
  const Status s = comm_.backends.node->begin(call_, decision_, word, meeting_runs_, &meeting_);
  if (s != Status::ok) lose(s);
}

void Operation::leave_comparing() noexcept {
  bool same = false;
  const Status s = comm_.backends.node->agree(exchanges_.word(decision_.needs), call_.settings.options.timeout, &same);
  compared(s, same);
}

// As leave_comparing(); the data may have moved with the agreement.
void Operation::leave_meeting(Status s) noexcept {
  const bool same = s == Status::ok && meeting_->same();
  const int split = meeting_->split();
  meeting_.reset();
  if (meeting_runs_ && s == Status::ok && (same || !decision_.needs.check)) {
    moved_ = true;
    decision_.choice.in_node = decision_.choice.provider == Provider::schedules;
    decision_.choice.split = split;
    if (decision_.choice.in_node) copy_text(decision_.choice.schedule, ran_.algorithm);
    leave_running(s);
  } else {
    meeting_runs_ = false;
    compared(s, same);
  }
}

void Operation::compared(Status s, bool same) noexcept {
  if (s != Status::ok && (s != Status::incompatible || comm_.backends.node->differed()))
    lose(s);
  else if (same && exchanges_.is_uniform(decision_.needs)) {
    exchanges_.take_equal_words(comm_.size);
    leave_agreeing(Status::ok);
  } else {
    state_ = State::signing;
    if (s != Status::incompatible || exchanges_.own.status != 0) return;
    // The node's memory has ended since: repeats the decision without it.
    decision_ = comm_.selector.decide(call_, comm_.backends.serve(call_));
    exchanges_.sign(comm_, call_, decision_.needs, Status::ok);
    if (!decision_.known) lose(fail(Status::out_of_memory, "no memory to choose how a collective runs"));
  }
}

void Operation::leave_agreeing(Status s) noexcept {
  if (s != Status::ok) {
    lose(s);
    return;
  }
  if (exchanges_.asked && !exchanges_.take_words(decision_.needs, comm_.size)) {
    start_signatures();
    return;
  }
  if (exchanges_.carried && exchanges_.same) {
    moved_ = true;
    decision_ = carried_decision(comm_, shape_of(call_), std::move(decision_), &ran_);
    finish(Status::ok);
    return;
  }
  agree_seconds_ = seconds();
  s = verdict(exchanges_.merged, exchanges_.own, message_.data());
  if (s == Status::ok && counts_by_pair(call_.collective)) {
    call_.largest = exchanges_.merged.largest;
    s = pairs_agree(exchanges_.merged, call_.send_counts, call_.counts, comm_.rank);
  }
  if (is_out_of_step(exchanges_.merged)) {  // data of two calls would meet: all runs and later agreements end
    comm_.give_up(s, message(), 0, exchanges_.number + 1);
    finish(s);
  } else if (s != Status::ok && is_alike_but_for_the_way(exchanges_.merged) && goes_exact(s)) {
    state_ = State::agreed;
  } else if (s != Status::ok) {
    if (comm_.backends.node && comm_.backends.node->look_again()) comm_.prepared.forget();
    finish(s);
  } else if (call_.collective == Collective::barrier && call_.settings.schedule.empty()) {
    finish(Status::ok);  // the agreement was a barrier already
  } else {
    comm_.selector.remember(call_, exchanges_.merged.ratios(), decision_);
    if (decision_.needs.sample) comm_.selector.learn(call_, exchanges_.merged.took);
    state_ = State::agreed;
  }
}

// Failures here are equal on every rank, but for missing memory.
void Operation::leave_agreed() {
  if (const Status s = comm_.refusal("not started; "); s != Status::ok) {
    finish(s);
    return;
  }
  if (counts_at_root(call_.collective) && exchanges_.all_counts.empty()) {
    state_ = State::counting;
    if (const Status s = exchanges_.start_counts(comm_, call_); s != Status::ok) lose(s);
    return;
  }
  state_ = State::running;
  moved_ = true;
  select::AgreedValues agreed = exchanges_.agreement();
  if (exact_) agreed.ratios = {};
  const bool mixed =
      exchanges_.merged.devices > 0 && exchanges_.merged.devices < static_cast<std::uint32_t>(comm_.size);
  if (const Status s = link(comm_, exchanges_.merged, &call_); s != Status::ok) {
    leave_running(s, s == Status::unsupported);
    return;
  }
  // If any buffers are on a device, no rank uses a backend that cannot access them. A rank may have missed a refusal
  // while others met in memory.
  if (exchanges_.merged.devices > 0) decision_.made = false;
  select::Support support = mixed || exact_ ? select::Support{} : comm_.backends.serve(call_);
  // A device's costs count if every rank knows of it.
  support.device = exchanges_.merged.devices > 0 && (decision_.needs.any() || comm_.size == 1);
  support.staged = support.device && call_.messages == nullptr;
  const auto& peer = comm_.device_link.peer;
  if (support.device && peer && call_.messages == peer.get()) support.reaching = peer->most_on_a_device();
  Status s = comm_.selector.complete(call_, agreed, support, &decision_);
  if (s != Status::ok && goes_exact(s)) {
    leave_agreed();
    return;
  }
  if (exact_) decision_.choice.why.reason = select::Reason::refused;
  const bool complete = s == Status::ok;
  if (complete && (!chosen().starts(call_) || starts_in_turn())) {
    state_ = State::queued;
    if (comm_.size == 1 || starts_in_turn()) advance(false, comm_.size == 1);  // one rank waits for no other
    return;
  }
  started(complete ? chosen().start(call_, decision_, &pending_) : s, !complete);
}

void Operation::leave_counting(Status s) {
  if (s != Status::ok)
    lose(s);
  else if (s = exchanges_.take_counts(comm_, &call_); s != Status::ok)
    finish(s);
  else
    state_ = State::agreed;
}

// Every rank got this refusal, and nothing has moved. The caller cannot start another call.
bool Operation::goes_exact(Status refusal) noexcept {
  const bool refused =
      refusal == Status::invalid_bound || refusal == Status::unsupported || refusal == Status::incompatible;
  if (!refused || exact_ || !call_.nonblocking || !comm_.starts_or_exact()) return false;
  exact_ = true;
  call_.settings.schedule.clear();
  stretto_options& o = call_.settings.options;
  o.bound_kind = STRETTO_BOUND_NONE;
  o.payload = STRETTO_PAYLOAD_AUTO;
  decision_.needs = {};
  decision_.ratio = 1;
  decision_.made = false;
  return true;
}

void Operation::started(Status s, bool certain) noexcept {
  if (s == Status::ok) {
    if (decision_.choice.provider != Provider::schedules) number_ = comm_.data.pass();
  } else if (s == Status::out_of_memory) {
    lose(s);
  } else {
    leave_running(s, certain);
  }
}

backend::Backend& Operation::chosen() const noexcept { return comm_.backends.of(decision_.choice.provider); }

bool Operation::starts_in_turn() const noexcept { return chosen().starts(call_) && chosen().in_turn(); }

bool Operation::is_its_turn() const noexcept {
  for (const Operation* o : comm_.live()) {
    if (o == this) break;
    if (o->state_ != State::running || !o->data_started() || !o->starts_in_turn()) return false;
  }
  return true;
}

// Blocking forms match only blocking forms, so a blocking backend waits for earlier requests, which every rank has
// started.
void Operation::leave_queued() noexcept {
  state_ = State::running;
  if (starts_in_turn())
    started(chosen().start(call_, decision_, &pending_), false);
  else
    leave_running(chosen().run(call_, decision_, &ran_));
}

// `certain`: every rank knows that it failed, and nothing has moved.
void Operation::leave_running(Status s, bool certain) noexcept {
  // After an abandoned wait, or another backend's failure, the other ranks' state is uncertain.
  const bool ours = decision_.choice.provider == Provider::schedules && s != Status::timeout && !comm_.data.broken();
  s == Status::ok || certain || ours ? finish(s) : lose(s);
}

void Operation::advance(bool may_start_data, bool may_block) noexcept try {
  bool ended = false;
  if (waits_in_line()) {
    if (const Status s = comm_.refusal("not started; "); s != Status::ok)
      lose(s);
    else if (state_ == State::queued && starts_in_turn() ? is_its_turn() : may_block && comm_.live().front() == this)
      state_ == State::comparing ? leave_comparing() : leave_queued();
  } else if (exchanges_.request.active()) {
    const Status s = exchanges_.request.test(&ended, exchanges_.carried ? &ran_ : nullptr);
    if (ended) state_ == State::agreeing ? leave_agreeing(s) : leave_counting(s);
  } else if (meeting_) {
    meeting_->drive(comm_.lanes());
    if (const Status s = meeting_->test(&ended, nullptr); ended) leave_meeting(s);
  } else if (pending_) {
    test_data();
  }
  if (state_ == State::signing && is_first_to_sign()) {
    state_ = State::agreeing;
    if (!exchanges_.is_signed) exchanges_.sign(comm_, call_, decision_.needs, Status::ok);
    if (!agrees_by_messages(comm_) || exchanges_.owed != engine::Engine::kNext)
      start_signatures();
    else if (const Status s = exchanges_.start_words(comm_, call_, decision_); s != Status::ok)
      lose(s);
  }
  // Ranks wait for one another to link devices: on the caller's own thread.
  const auto links = [this] {  // merged once ranks have agreed
    return exchanges_.merged.devices == static_cast<std::uint32_t>(comm_.size) && comm_.size > 1 &&
           !comm_.device_link.made;
  };
  if (state_ == State::agreed && may_start_data && (may_block || !links())) leave_agreed();
} catch (...) {
  lose(kRunning.fail_caught());
}

void Operation::start_signatures() noexcept {
  const Status s = guarded("to exchange signatures", [&] { return exchanges_.start_signatures(comm_, call_); });
  if (s != Status::ok) lose(s);
}

// Words are exchanged in the order of the calls, and signatures after meetings, in any order. Unchecked calls need
// none.
bool Operation::is_first_to_sign() const noexcept {
  const auto before = [](const Operation* o) {
    return o->state_ == State::signing || (o->meeting_ && o->decision_.needs.check);
  };
  return *std::find_if(comm_.live().begin(), comm_.live().end(), before) == this;
}

void Operation::test_data() noexcept {
  bool ended = false;
  Status s = pending_->test(&ended, &ran_);
  if (!ended && number_ != engine::Engine::kNext) {
    const Status others = comm_.data.usable(number_);
    if (others != Status::ok) {
      ended = true;
      s = others;
    }
  }
  if (!ended) return;
  pending_.reset();
  leave_running(s);
}

void Operation::lose(Status s) noexcept {
  comm_.give_up(s, message(), number_, exchanges_.owed);
  finish(s);
}

void Operation::finish(Status s) noexcept {
  status_ = s;
  state_ = State::done;
  if (s != Status::ok) copy_message(message_);
  if (s == Status::ok && decision_.trial && moved_) comm_.selector.ran(call_, seconds() - agree_seconds_);
  if (s == Status::ok && call_.settings.options.report) {
    const bool devices = moved_ && exchanges_.merged.devices > 0 && comm_.size > 1;
    report({.comm = comm_,
            .shape = shape_of(call_),
            .options = call_.settings.options,
            .decision = decision_,
            .moved = moved_,
            .ran = moved_ ? &ran_ : nullptr,
            .result = call_.device ? nullptr : call_.recv,
            .ranges = &exchanges_.merged.values,
            .device_carrier = !devices         ? ""
                              : call_.messages ? call_.messages->name()
                                               : "host",
            .agree_seconds = agree_seconds_,
            .seconds = seconds()});
  }
  comm_.retire(this);
}

Status Operation::status() const noexcept {
  if (status_ == Status::ok) return status_;
  return fail(status_, std::string_view(message_.data()));
}

}  // namespace stretto::api
