#include "api/operation/operation.hpp"

#include <algorithm>
#include <cstring>

#include "api/device/placement.hpp"
#include "api/report.hpp"
#include "api/rounding.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "call/schedule_names.hpp"
#include "select/forced.hpp"
#include "select/signature.hpp"

namespace stretto::api {
Operation::~Operation() = default;

double Operation::seconds() const noexcept { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

void Operation::start(Call&& call, select::Decision&& decision, Status own, bool compared) noexcept {
  begun_ = Clock::now();
  call_ = std::move(call);
  decision_ = std::move(decision);
  if (comm_.broken) {
    finish(fail(Status::timeout, "the communicator is unusable: {}", comm_.broken_by.data()));
    return;
  }
  const bool exchanges = decision_.needs.any();
  // Memory is missing here: the others go on, and only this informs them.
  const bool lost = !decision_.known || (!exchanges && own == Status::out_of_memory);
  if (lost && comm_.size > 1) {
    stop(own != Status::ok ? own : fail(Status::out_of_memory, "no memory to choose how a collective runs"));
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
  const bool meets = meets_in_memory(), driven = (meets || comm_.is_driven) && CommunicationCores::mine().on();
  // Drivers read a started call's values.
  const bool later = call_.nonblocking && driven && !meets && exchanges && own == Status::ok && comm_.size > 1;
  if (!later) sign(own);
  if (own != Status::ok) keep_message();
  try {
    comm_.live.push_back(this);
    comm_.count_live();
  } catch (...) {
    stop(fail(Status::out_of_memory, std::string_view("no memory to start a collective")));
    return;
  }
  decision_.choice.split = split();
  if (call_.nonblocking && comm_.backends.node) comm_.backends.node->started();
  if (meets) {
    meet();
  } else if (!exchanges) {
    state_ = State::agreed;
  } else if (comm_.size == 1) {
    leave_agreeing(Status::ok);
  } else if (!compared && compares_words(call_, comm_)) {
    state_ = State::comparing;
  } else {
    state_ = State::signing;
  }
  // If a communication core drives it, the caller goes back to its own work at once.
  if (!done() && !(call_.nonblocking && driven)) comm_.progress();
}

// Ranks may have different splits: the steps are equal, only their cores differ.
int Operation::split() const noexcept {
  const CommunicationCores& cores = CommunicationCores::mine();
  if (!call_.nonblocking || !decision_.made || !comm_.is_driven || !cores.on()) return 0;
  return comm_.selector.split(call_, decision_.choice, cores.of_host());
}

// Equal on every rank: all know whether a call is checked, and unchecked calls are equal.
bool Operation::meets_in_memory() const noexcept {
  if (!call_.nonblocking || !comm_.backends.node || comm_.size == 1) return false;
  const bool runs = decision_.made && decision_.choice.provider == Provider::node;
  return decision_.needs.check || (runs && !decision_.needs.any());
}

bool Operation::uniform() const noexcept {
  return decision_.needs.check && !decision_.needs.values() && own_.status == 0;
}

void Operation::meet() noexcept {
  state_ = State::meeting;
  const bool checks = decision_.needs.check;
  meeting_runs_ = decision_.made && decision_.choice.provider == Provider::node && own_.status == 0 &&
                  (!checks || (uniform() && call_.collective != Collective::barrier));
  if (meeting_runs_) {
    const select::Agreement agreed{merged_.values, merged_.contributions, merged_.ratios()};
    // A failure here is equal on every rank, and is found again when the data would start.
    meeting_runs_ = comm_.selector.complete(call_, agreed, comm_.backends.serve(call_), &decision_) == Status::ok &&
                    decision_.choice.provider == Provider::node;
  }
  std::optional<std::uint64_t> word;
  if (checks) word = uniform() ? digest(own_) : 0;
  const Status s = comm_.backends.node->begin(call_, word, meeting_runs_, &meeting_);
  if (s != Status::ok) stop(s);
}

void Operation::sign(Status own) noexcept {
  own_ = select::signature_of(call_, decision_.needs, own, comm_.rank, comm_.size);
  if (decision_.needs.sample && !call_.nonblocking) own_.took = comm_.selector.took(call_);
  merged_ = own_;
  signed_ = true;
}

void Operation::agree() noexcept {
  if (!signed_) sign(Status::ok);
  state_ = State::agreeing;
  if (const Status s = exchange_signatures(); s != Status::ok) stop(s);
}

// If all words are equal and nothing more is needed, the ranks have agreed; else they exchange signatures.
void Operation::leave_comparing() noexcept {
  bool same = false;
  const Status s = comm_.backends.node->agree(uniform() ? digest(own_) : 0, call_.settings.options.timeout, &same);
  compared(s, same);
}

// Like leave(), beside started calls; the data may have moved with the agreement.
void Operation::leave_meeting(Status s) noexcept {
  const bool same = s == Status::ok && meeting_->same();
  meeting_.reset();
  if (meeting_runs_ && s == Status::ok && (same || !decision_.needs.check)) {
    moved_ = true;
    leave_running(s);
  } else {
    meeting_runs_ = false;
    compared(s, same);
  }
}

void Operation::compared(Status s, bool same) noexcept {
  if (s != Status::ok && (s != Status::incompatible || comm_.backends.node->differed()))
    lose(s);
  else if (same && uniform()) {
    merged_.devices *= static_cast<std::uint32_t>(comm_.size);
    merged_.captured *= static_cast<std::uint32_t>(comm_.size);
    leave_agreeing(Status::ok);
  } else if (s == Status::incompatible && own_.status == 0 && !decide_again())
    stop(fail(Status::out_of_memory, "no memory to choose how a collective runs"));
  else
    state_ = State::signing;
}

// The node's memory has ended since the call came: repeats the decision without it.
bool Operation::decide_again() noexcept {
  decision_ = comm_.selector.decide(call_, comm_.backends.serve(call_));
  sign(Status::ok);
  return decision_.known;
}

void Operation::leave_agreeing(Status s) noexcept {
  if (s != Status::ok) {
    lose(s);
    return;
  }
  agree_seconds_ = seconds();
  s = verdict(merged_, own_, message_.data());
  if (s == Status::ok && counts_by_pair(call_.collective)) {
    call_.largest = merged_.largest;
    s = pairs_agree(merged_, call_.send_counts, call_.counts, comm_.rank);
  }
  if (s != Status::ok && is_alike_but_for_the_way(merged_) && goes_exact(s)) {
    state_ = State::agreed;
  } else if (s != Status::ok) {
    if (comm_.backends.node && comm_.backends.node->look_again()) comm_.prepared.forget();
    finish(s);
  } else if (call_.collective == Collective::barrier && call_.settings.schedule.empty()) {
    finish(Status::ok);  // the agreement was a barrier already
  } else {
    comm_.selector.remember(call_, merged_.ratios());
    if (decision_.needs.sample) comm_.selector.learn(call_, merged_.took);
    state_ = State::agreed;
  }
}

void Operation::leave_agreed() noexcept {
  if (comm_.broken) {
    finish(fail(Status::timeout, "not started; the communicator is unusable: {}", comm_.broken_by.data()));
  } else if (counts_at_root(call_.collective) && all_counts_.empty()) {
    state_ = State::counting;
    if (const Status s = exchange_counts(); s != Status::ok) stop(s);
  } else {
    start_data();
  }
}

void Operation::leave_counting(Status s) noexcept {
  if (s != Status::ok) {
    lose(s);
    return;
  }
  s = take_counts();
  if (s == Status::out_of_memory)
    stop(s);
  else if (s != Status::ok)
    finish(s);
  else
    state_ = State::agreed;
}

// If all ranks have their buffers on devices, messages may cross between these. Refusals are equal on all ranks.
Status Operation::link() noexcept {
  const auto all = static_cast<std::uint32_t>(comm_.size);
  if (merged_.captured > 0 && merged_.captured < all)
    return fail(Status::unsupported,
                "the streams of {} of {} ranks are captured in a graph: all must be, and options.check be 1",
                merged_.captured, all);
  const bool native = select::forces_native(call_) || merged_.captured > 0;
  if (merged_.devices == all) {
    if (const Status s = link_devices(comm_, call::timeout_of(call_.settings.options)); s != Status::ok) return s;
    call_.messages = comm_.device_link.messages();
  }
  return native && merged_.devices > 0 ? force_native(merged_.devices == all) : Status::ok;
}

Status Operation::force_native(bool all_on_devices) noexcept {
  const DeviceLink& link = comm_.device_link;
  if (!all_on_devices)
    return fail(Status::unsupported,
                "schedule {} in the memory of devices needs every rank's buffers there, and options.check = 1",
                call::native_name);
  if (!link.library)
    return fail(Status::unsupported, "schedule {} in the memory of devices needs NCCL on 2 ranks or more: {}",
                call::native_name, comm_.size == 1 ? "there is one" : link.why_no_library.c_str());
  if (!comm_.backends.device->serves(call_))
    return fail(Status::unsupported, "{} has no {}{} of {}{}{}", link.library->name(),
                call_.nonblocking ? "started " : "", name(call_.collective), type_name(call_.type),
                reduces(call_.collective) ? " by " : "", reduces(call_.collective) ? op_name(call_.op) : "");
  try {
    call_.settings.schedule = call::native_name;
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the name of a schedule"));
  }
}

// Every rank got this refusal, and nothing has moved. The caller has left the starting call, and cannot start another.
bool Operation::goes_exact(Status refusal) noexcept {
  const bool refused =
      refusal == Status::invalid_bound || refusal == Status::unsupported || refusal == Status::incompatible;
  if (!refused || exact_ || !call_.nonblocking || !comm_.starts_or_exact) return false;
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

// Failures here are equal on every rank, but for missing memory.
void Operation::start_data() noexcept {
  state_ = State::running;
  moved_ = true;
  const select::Agreement agreed{merged_.values, merged_.contributions, exact_ ? call::Shrinks{} : merged_.ratios()};
  const bool mixed = merged_.devices > 0 && merged_.devices < static_cast<std::uint32_t>(comm_.size);
  if (const Status s = link(); s != Status::ok) {
    leave_running(s, s == Status::unsupported);
    return;
  }
  // If any buffers are on a device, no rank uses a backend that cannot access them. A rank may have missed a refusal
  // while others met in memory.
  if (merged_.devices > 0) decision_.made = false;
  select::Support support = mixed || exact_ ? select::Support{} : comm_.backends.serve(call_);
  // A device's costs count if every rank knows of it.
  support.device = merged_.devices > 0 && (decision_.needs.any() || comm_.size == 1);
  support.staged = support.device && call_.messages == nullptr;
  const auto& peer = comm_.device_link.peer;
  if (support.device && peer && call_.messages == peer.get()) support.reaching = peer->most_on_a_device();
  Status s = comm_.selector.complete(call_, agreed, support, &decision_);
  if (s != Status::ok && goes_exact(s)) {
    start_data();
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

void Operation::started(Status s, bool certain) noexcept {
  if (s == Status::ok) {
    if (decision_.choice.provider != Provider::schedules) number_ = comm_.data.pass();
  } else if (s == Status::out_of_memory) {
    stop(s);
  } else {
    leave_running(s, certain);
  }
}

backend::Backend& Operation::chosen() const noexcept { return comm_.backends.of(decision_.choice.provider); }

bool Operation::starts_in_turn() const noexcept { return chosen().starts(call_) && chosen().in_turn(); }

bool Operation::is_its_turn() const noexcept {
  for (const Operation* o : comm_.live) {
    if (o == this) break;
    if (o->state_ != State::running || !o->data_started() || !o->starts_in_turn()) return false;
  }
  return true;
}

// Blocking forms match only blocking forms, so a blocking backend waits for earlier requests. They complete without it:
// every rank has started them, and waits for them in turn.
void Operation::leave_queued() noexcept {
  state_ = State::running;
  if (starts_in_turn())
    started(chosen().start(call_, decision_, &pending_), false);
  else
    leave_running(chosen().run(call_, decision_, &ran_));
}

// `certain`: every rank knows that it failed, and nothing has moved.
void Operation::leave_running(Status s, bool certain) noexcept {
  if (s != Status::ok) {
    // After an abandoned wait, or another backend's failure, the state of the other ranks is uncertain.
    const bool ours = decision_.choice.provider == Provider::schedules && s != Status::timeout && !comm_.data.broken();
    if (!certain && !ours) {
      lose(s);
      return;
    }
    keep_message();
  }
  finish(s);
}

void Operation::leave_exchange(Status s) noexcept {
  switch (state_) {
    case State::agreeing: leave_agreeing(s); return;
    case State::counting: leave_counting(s); return;
    case State::idle:
    case State::comparing:
    case State::meeting:
    case State::signing:
    case State::agreed:
    case State::queued:
    case State::running:
    case State::done: return;
  }
}

void Operation::advance(bool may_start_data, bool may_block) noexcept {
  if (waits_in_line()) {
    if (comm_.broken)
      lose(fail(Status::timeout, "not started; the communicator is unusable: {}", comm_.broken_by.data()));
    else if (state_ == State::queued && starts_in_turn() ? is_its_turn() : may_block && comm_.live.front() == this)
      state_ == State::comparing ? leave_comparing() : leave_queued();
  } else if (exchange_.active()) {
    bool ended = false;
    const Status s = exchange_.test(&ended);
    if (ended) leave_exchange(s);
  } else if (meeting_) {
    test_meeting();
  } else if (pending_) {
    test_data();
  }
  if (state_ == State::signing && is_first_to_sign()) agree();
  if (state_ == State::agreed && may_start_data && (may_block || !waits_to_link())) leave_agreed();
}

// Ranks wait for one another there: on the caller's own thread, which holds up no other call.
bool Operation::waits_to_link() const noexcept {
  return merged_.devices == static_cast<std::uint32_t>(comm_.size) && comm_.size > 1 && !comm_.device_link.made;
}

// Signatures are exchanged in the order of the calls, whatever the order in which meetings end. Calls without a check
// need none.
bool Operation::is_first_to_sign() const noexcept {
  const auto before = [](const Operation* o) {
    return o->state_ == State::signing || (o->meeting_ && o->decision_.needs.check);
  };
  return *std::find_if(comm_.live.begin(), comm_.live.end(), before) == this;
}

void Operation::test_meeting() noexcept {
  bool ended = false;
  const Status s = meeting_->test(&ended, nullptr);
  if (ended) leave_meeting(s);
}

void Operation::test_data() noexcept {
  bool ended = false;
  Status s = pending_->test(&ended, &ran_);
  if (!ended && number_ != engine::Engine::next) {
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

void Operation::stop(Status s) noexcept {
  comm_.give_up(s, message());
  finish(s);
}

void Operation::lose(Status s) noexcept {
  keep_message();
  comm_.give_up(s, message(), number_);
  finish(s);
}

void Operation::keep_message() noexcept { std::strncpy(message_.data(), message(), message_.size() - 1); }

void Operation::finish(Status s) noexcept {
  status_ = s;
  state_ = State::done;
  if (s == Status::ok) {
    if (decision_.trial && moved_) comm_.selector.ran(call_, seconds() - agree_seconds_);
    report_outcome();
  } else {
    keep_message();
  }
  std::erase(comm_.live, this);
  comm_.count_live();  // after the last, no other thread touches it
}

void Operation::report_outcome() noexcept {
  stretto_report* out = call_.settings.options.report;
  if (!out) return;
  Outcome o;
  o.collective = call_.collective;
  o.profile = comm_.selector.choices().messages();
  o.agree_seconds = agree_seconds_;
  o.seconds = seconds();
  if (!moved_) {
    o.algorithm = agreement_name;
    o.bytes_known = true;
    o.why.reason = select::Reason::agreement;
    report(o, out);
    return;
  }
  const char* const backend_name = chosen().name();
  o.algorithm = backend_name ? backend_name : ran_.algorithm.data();
  o.payload = decision_.payload;
  o.contributions = decision_.contributions;
  o.ran = &ran_;
  o.bytes_known =
      decision_.choice.provider == Provider::schedules || decision_.choice.through_nodes() || decision_.streams();
  o.eps = decision_.bound.eps;
  o.error = decision_.bound.error;
  const call::Shape shape = shape_of(call_);
  const bool bounded = call_.settings.options.bound_kind != STRETTO_BOUND_NONE;
  if (asks_for_rounding(*out))
    o.rounding = rounding_of({shape, comm_.rank, decision_.inputs, bounded, decision_.streams(),
                              call_.device != nullptr ? nullptr : call_.recv},  // which the host cannot read
                             decision_.bound.rounding);
  o.expected_ratio = decision_.ratio;
  o.raw_below = decision_.choice.raw_below;
  if (decision_.streams()) o.coding = call::to_c(decision_.spec.coding);
  o.split = decision_.choice.provider == Provider::schedules ? decision_.choice.split : 0;
  o.why = decision_.choice.why;
  if (decision_.needs.range && call_.settings.options.bound_kind == STRETTO_BOUND_RELATIVE) o.ranges = &merged_.values;
  if (merged_.devices > 0 && comm_.size > 1) o.device_carrier = call_.messages ? call_.messages->name() : "host";
  report(o, out);
}

Status Operation::status() const noexcept {
  if (status_ == Status::ok) return status_;
  return fail(status_, std::string_view(message_.data()));
}

}  // namespace stretto::api
