#include "api/operation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "api/arguments.hpp"

namespace stretto::api {

namespace {

// The user's function behind the payload's: one more argument.
void call_user(const void* left, void* right, std::size_t count, void* context) {
  const auto& call = *static_cast<const Call*>(context);
  const stretto_options& o = call.settings.options;
  o.user_function(left, right, count, call.type, o.user_context);
}

}  // namespace

Operation::~Operation() {
  if (phase_ != Phase::idle && phase_ != Phase::done) static_cast<void>(wait());
}

double Operation::seconds() const noexcept { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

void Operation::start(Call&& call, Status own) noexcept {
  begun_ = Clock::now();
  call_ = std::move(call);
  if (comm_.broken) {
    finish(fail(Status::timeout, "the communicator is unusable: {}", comm_.broken_by.data()));
    return;
  }
  const bool exchanges = call_.prospect.exchange;
  // Where memory is missing here, the others go on as ever, and nothing tells them but this.
  const bool lost = !call_.prospect.known || (!exchanges && own == Status::out_of_memory);
  if (lost && comm_.size > 1) {
    stop(own != Status::ok ? own : fail(Status::out_of_memory, "no memory to choose how a collective runs"));
    return;
  }
  if (!exchanges && own != Status::ok) {
    finish(own);
    return;
  }
  own_ = signature_of(call_, own, comm_.rank, comm_.size);
  merged_ = own_;
  if (own != Status::ok) keep_message();
  try {
    comm_.live.push_back(this);
  } catch (...) {
    stop(fail(Status::out_of_memory, std::string_view("no memory to start a collective")));
    return;
  }
  if (!exchanges) {
    phase_ = Phase::agreed;
  } else if (comm_.size == 1) {
    end_agreement();
  } else if (agrees_near(call_, comm_)) {
    phase_ = Phase::meeting;
  } else {
    if (call_.nonblocking && comm_.carriers.natives.node) comm_.carriers.natives.node->started();
    const Status s = begin_agreement();
    if (s != Status::ok) {
      stop(s);
      return;
    }
    phase_ = Phase::agreeing;
  }
  comm_.progress();
}

// One word of each rank through shared memory: where all are alike and want nothing more, they have agreed. Otherwise they exchange all.
void Operation::meet() noexcept {
  const bool alike = call_.prospect.only_alike && own_.status == 0;
  bool same = false;
  const Status s =
      comm_.carriers.natives.node->agree(alike ? digest(own_) : 0, timeout_of(call_.settings.options), &same);
  if (s != Status::ok && (s != Status::incompatible || comm_.carriers.natives.node->differed())) {
    ended(s);
  } else if (same && alike) {
    end_agreement();
  } else if (const Status begun = begin_agreement(); begun != Status::ok) {
    stop(begun);
  } else {
    phase_ = Phase::agreeing;
  }
}

void Operation::end_agreement() noexcept {
  agree_seconds_ = seconds();
  Status s = verdict(merged_, own_, message_.data());
  if (s == Status::ok && counts_by_pair(call_.collective)) {
    call_.largest = merged_.largest;
    s = pairs_agree(merged_, call_.send_counts, call_.counts, comm_.rank);
  }
  if (s != Status::ok) {
    if (comm_.carriers.natives.node && comm_.carriers.natives.node->look_again()) comm_.straight.forget();
    finish(s);
  } else if (call_.collective == Collective::barrier && call_.settings.schedule.empty()) {
    finish(Status::ok);  // the agreement was a barrier already
  } else {
    remember(call_, merged_.ratio(), comm_);
    phase_ = Phase::agreed;
  }
}

Status Operation::begin_data() noexcept {
  const Agreed agreed{merged_.values, merged_.contributions, merged_.ratio()};
  if (Status s = make_plan(call_, agreed, comm_, &plan_); s != Status::ok) return s;
  if (plan_.native) return begin_native();
  if (call_.op == STRETTO_USER && reduces(call_.collective))
    plan_.call.payload.user = {call_user, &call_, call_.settings.options.user_commutes != 0};
  return comm_.data.start(plan_.call, &request_);
}

void Operation::advance(bool may_start_data) noexcept {
  poll();
  if (phase_ != Phase::agreed || !may_start_data) return;
  if (comm_.broken) {
    finish(fail(Status::timeout, "not started; the communicator is unusable: {}", comm_.broken_by.data()));
    return;
  }
  const bool counting = counts_at_root(call_.collective) && all_counts_.empty();
  phase_ = counting ? Phase::counting : Phase::running;
  turn_ = Clock::now();
  if (counting) {
    if (const Status s = begin_counting(); s != Status::ok) stop(s);
  } else if (const Status s = begin_data(); s != Status::ok) {
    // Any other fault is found on every rank alike.
    if (s == Status::out_of_memory)
      stop(s);
    else
      ended(s);
  }
}

Status Operation::run_native() noexcept {
  if (plan_.payload == STRETTO_PAYLOAD_RAW) return plan_.native->run(call_);
  return comm_.carriers.natives.node->run_streams(call_, plan_.call.payload, &ran_);
}

// Blocking forms meet blocking ones only, on every rank, so this one may not turn into a request that goes along with others:
// it waits for them first. They end without it, for every rank has called them by then and waits for them in its turn.
Status Operation::begin_native() noexcept {
  if (call_.nonblocking) {
    const Status s = plan_.native->start(call_, &pending_);
    if (s == Status::ok) number_ = comm_.data.pass();
    return s;
  }
  phase_ = Phase::draining;
  poll();
  return Status::ok;
}

void Operation::end_settling() noexcept {
  comm_.choices.settle(plan_.trial, all_times_);
  finish_outcome();
}

void Operation::poll() noexcept {
  bool done = false;
  Status s = Status::ok;
  if (request_.active()) {
    s = request_.test(&done, phase_ == Phase::running ? &ran_ : nullptr);
  } else if (pending_) {
    s = pending_->test(&done);
    if (const Status others = done ? Status::ok : comm_.data.usable(number_); others != Status::ok) {
      done = true;
      s = others;
    }
    if (done) pending_.reset();
  } else if ((phase_ == Phase::draining || phase_ == Phase::meeting) && comm_.broken) {
    done = true;
    s = fail(Status::timeout, "not started; the communicator is unusable: {}", comm_.broken_by.data());
  } else if (phase_ == Phase::meeting && comm_.live.front() == this) {
    meet();
    return;
  } else if (phase_ == Phase::draining && comm_.live.front() == this) {
    done = true;
    phase_ = Phase::running;
    turn_ = Clock::now();
    s = run_native();
  }
  if (done) ended(s);
}

void Operation::ended(Status s) noexcept {
  if (s != Status::ok) {
    // An exchange is tiny and trusted: when it fails, or a wait was given up, or a native collective failed on this rank, what the others
    // know is uncertain.
    const bool uncertain = s == Status::timeout || phase_ != Phase::running || plan_.native || comm_.data.broken();
    keep_message();
    if (uncertain) comm_.give_up(s, message(), number_);
    if (uncertain || !plan_.trial) {
      finish(s);
      return;
    }
  }
  if (phase_ == Phase::running && plan_.trial) {
    // A turn that fails here may have succeeded elsewhere: the trial goes on alike on all ranks.
    took_ = seconds();
    outcome_ = s;
    const double turn = std::chrono::duration<double>(Clock::now() - turn_).count();
    if (!comm_.choices.took(plan_.trial, s == Status::ok ? turn : std::numeric_limits<double>::infinity())) {
      finish_outcome();
    } else if (const Status begun = begin_settling(); begun != Status::ok) {
      ended(begun);
    }
    return;
  }
  step();
}

void Operation::finish_outcome() noexcept {
  finish(outcome_ == Status::ok ? outcome_ : fail(outcome_, std::string_view(message_.data())));
}

void Operation::step() noexcept {
  switch (phase_) {
    case Phase::agreeing: end_agreement(); return;
    case Phase::counting:
      if (Status s = end_counting(); s == Status::out_of_memory)
        stop(s);
      else if (s != Status::ok)
        finish(s);
      else
        phase_ = Phase::agreed;
      return;
    case Phase::running: finish(Status::ok); return;
    case Phase::settling: end_settling(); return;
    case Phase::idle:
    case Phase::meeting:
    case Phase::agreed:
    case Phase::draining:
    case Phase::done: return;
  }
}

void Operation::stop(Status s) noexcept {
  comm_.give_up(s, message());
  finish(s);
}

void Operation::keep_message() noexcept { std::strncpy(message_.data(), message(), message_.size() - 1); }

void Operation::finish(Status s) noexcept {
  status_ = s;
  phase_ = Phase::done;
  if (s == Status::ok) {
    report();
  } else {
    keep_message();
  }
  std::erase(comm_.live, this);
}

Status Operation::status() const noexcept {
  if (status_ == Status::ok) return status_;
  return fail(status_, std::string_view(message_.data()));
}

}  // namespace stretto::api

void stretto_comm_s::progress() noexcept {
  // Operations leave `live` as they complete: walk by position, and look again where one left.
  bool may_start_data = true;
  for (std::size_t i = 0; i < live.size();) {
    stretto::api::Operation* o = live[i];
    o->advance(may_start_data);
    if (o->done()) continue;
    may_start_data = may_start_data && o->data_started();
    ++i;
  }
}

void stretto_comm_s::give_up(stretto::Status status, const char* why, std::uint64_t number) noexcept {
  std::array<char, 512> text{};  // `why` may be this thread's message
  std::strncpy(text.data(), why, text.size() - 1);
  if (!broken) broken_by = text;
  broken = true;
  agreement.give_up(status, text.data());
  data.give_up(status, text.data(), number);
  static_cast<void>(stretto::fail(status, std::string_view(text.data())));
  if (carriers.natives.node) carriers.natives.node->give_up(status);
}
