#include "api/operation.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <thread>

#include "api/arguments.hpp"
#include "api/payloads.hpp"
#include "api/report.hpp"
#include "api/types.hpp"

namespace stretto::api {

namespace {

// right = left (+) right on one signature, which travels as words.
void merge_words(const void* left, void* right, std::size_t count, void*) {
  if (count != signature_words) return;  // the exchange is never cut
  Signature from, into;
  std::memcpy(&from, left, sizeof from);
  std::memcpy(&into, right, sizeof into);
  merge(from, into);
  std::memcpy(right, &into, sizeof into);
}

// The user's function behind the payload's: one more argument.
void call_user(const void* left, void* right, std::size_t count, void* context) {
  const auto& call = *static_cast<const Call*>(context);
  const stretto_options& o = call.settings.options;
  o.user_function(left, right, count, call.type, o.user_context);
}

// An exchange of `words` words on all ranks: one block, never cut, values as they are.
Status exchange(stretto_comm_s& comm, engine::Engine& engine, const void* in, void* out, std::size_t words,
                payload::Spec spec, double timeout, engine::Request* request) {
  engine::Call c;
  schedule::Request r;
  r.collective = schedule::Collective::allreduce;
  r.ranks = comm.size;
  r.rank = comm.rank;
  r.blocks = 1;
  c.schedule = comm.schedules.get("recursive_doubling", r);
  if (!c.schedule || c.schedule->blocks != 1)
    return fail(Status::internal, "no schedule of one block for the exchange");
  c.payload = spec;
  c.blocks.push_back({words, in, out});
  c.options.segment_bytes = 0;
  c.options.timeout = timeout;
  return engine.start(c, request);
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
    finish(fail(Status::timeout, "the communicator is unusable since a wait was given up: {}", comm_.broken_by));
    return;
  }
  const bool exchanges = call_.prospect.exchange;
  if (!exchanges && own != Status::ok) {
    finish(own);
    return;
  }
  own_ = signature_of(call_, own, comm_.rank, comm_.size);
  merged_ = own_;
  try {
    comm_.live.push_back(this);
  } catch (...) {
    finish(fail(Status::out_of_memory, std::string_view("no memory to start a collective")));
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
      finish(s);
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
  if (s != Status::ok && s != Status::incompatible) {
    ended(s);
  } else if (same && alike) {
    end_agreement();
  } else if (const Status begun = begin_agreement(); begun != Status::ok) {
    finish(begun);
  } else {
    phase_ = Phase::agreeing;
  }
}

Status Operation::begin_agreement() noexcept {
  try {
    payload::Spec spec;
    spec.type = payload::Type::u64;
    spec.op = payload::Op::user;
    spec.user = {merge_words, nullptr, true};
    return exchange(comm_, comm_.agreement, &own_, &merged_, signature_words, spec, timeout_of(call_.settings.options),
                    &request_);
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the agreement"));
  }
}

void Operation::end_agreement() noexcept {
  agree_seconds_ = seconds();
  Status s = verdict(merged_, own_);
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

// Where only the root knows all counts, and each rank its own, all learn both: p words of the ranks, p of the root.
Status Operation::begin_counting() noexcept {
  try {
    const auto p = static_cast<std::size_t>(comm_.size), r = static_cast<std::size_t>(comm_.rank);
    own_counts_.assign(2 * p, 0);
    all_counts_.assign(2 * p, 0);
    own_counts_[r] = call_.count;
    if (comm_.rank == call_.root) std::copy(call_.counts.begin(), call_.counts.end(), own_counts_.begin() + comm_.size);
    payload::Spec spec;
    spec.type = payload::Type::u64;
    spec.op = payload::Op::max;
    return exchange(comm_, comm_.data, own_counts_.data(), all_counts_.data(), 2 * p, spec,
                    timeout_of(call_.settings.options), &request_);
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to exchange counts"));
  }
}

Status Operation::end_counting() noexcept {
  const auto p = static_cast<std::size_t>(comm_.size);
  for (std::size_t r = 0; r < p; ++r)
    if (all_counts_[r] != all_counts_[p + r])
      return fail(Status::incompatible, "count differs: {} on rank {}, {} for it in counts of root {}", all_counts_[r],
                  r, all_counts_[p + r], call_.root);
  try {
    call_.counts.assign(all_counts_.begin(), all_counts_.begin() + comm_.size);
    if (comm_.rank != call_.root) call_.displs.clear();
    return Status::ok;
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory for the counts"));
  }
}

Status Operation::begin_data() noexcept {
  const Agreed agreed{merged_.lo, merged_.hi, merged_.contributions, merged_.ratio()};
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
    finish(fail(Status::timeout, "not started; the communicator is unusable: {}", comm_.broken_by));
    return;
  }
  const bool counting = counts_at_root(call_.collective) && all_counts_.empty();
  phase_ = counting ? Phase::counting : Phase::running;
  turn_ = Clock::now();
  if (counting) {
    if (const Status s = begin_counting(); s != Status::ok) finish(s);
  } else if (const Status s = begin_data(); s != Status::ok) {
    ended(s);
  }
}

// Blocking forms meet blocking ones only, on every rank, so this one may not turn into a request that goes along with others:
// it waits for them first. They end without it, for every rank has called them by then and waits for them in its turn.
Status Operation::begin_native() noexcept {
  if (call_.nonblocking) return plan_.native->start(call_, &pending_);
  phase_ = Phase::draining;
  poll();
  return Status::ok;
}

// From time to time in a trial: the slowest rank's times of what was tried decide, the same on every rank.
Status Operation::begin_settling() noexcept {
  phase_ = Phase::settling;
  try {
    own_times_ = comm_.choices.times(plan_.trial);
    all_times_.assign(own_times_.size(), 0);
    payload::Spec spec;
    spec.type = payload::Type::f64;
    spec.op = payload::Op::max;
    return exchange(comm_, comm_.data, own_times_.data(), all_times_.data(), own_times_.size(), spec,
                    timeout_of(call_.settings.options), &request_);
  } catch (...) {
    return fail(Status::out_of_memory, std::string_view("no memory to compare what was tried"));
  }
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
    if (done) pending_.reset();
  } else if ((phase_ == Phase::draining || phase_ == Phase::meeting) && comm_.broken) {
    done = true;
    s = fail(Status::timeout, "not started; the communicator is unusable: {}", comm_.broken_by);
  } else if (phase_ == Phase::meeting && comm_.live.front() == this) {
    meet();
    return;
  } else if (phase_ == Phase::draining && comm_.live.front() == this) {
    done = true;
    phase_ = Phase::running;
    turn_ = Clock::now();
    s = plan_.native->run(call_);
  }
  if (done) ended(s);
}

void Operation::ended(Status s) noexcept {
  if (s != Status::ok) {
    // An exchange is tiny and trusted: when it fails, or a wait was given up, or a native collective failed on this rank, what the others
    // know is uncertain.
    const bool uncertain = s == Status::timeout || phase_ != Phase::running || plan_.native;
    try {
      message_ = message();
    } catch (...) {
      message_.clear();
    }
    if (uncertain) comm_.give_up(message_.c_str());
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
  finish(outcome_ == Status::ok ? outcome_ : fail(outcome_, std::string_view(message_)));
}

void Operation::step() noexcept {
  switch (phase_) {
    case Phase::agreeing: end_agreement(); return;
    case Phase::counting:
      if (Status s = end_counting(); s != Status::ok)
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

void Operation::finish(Status s) noexcept {
  status_ = s;
  phase_ = Phase::done;
  if (s == Status::ok) {
    report();
  } else {
    try {
      message_ = message();
    } catch (...) {
      message_.clear();
    }
  }
  std::erase(comm_.live, this);
}

Status Operation::status() const noexcept {
  if (status_ == Status::ok) return status_;
  return fail(status_, message_.empty() ? std::string_view("no memory for the message") : std::string_view(message_));
}

Status Operation::late(const Operation& earlier, double limit) const noexcept {
  return fail(
      Status::timeout,
      "{} waits for {} of {} elements, the first of {} that were started before it, which is not complete after "
      "{:.3g} s",
      collective_name(call_.collective), collective_name(earlier.call_.collective), earlier.call_.count,
      comm_.live.size() - 1, limit);
}

Status Operation::wait() noexcept {
  constexpr int patience = 1000;
  Clock::time_point since = Clock::now();  // when it came, or the latest of those before it was complete
  const Operation* first = nullptr;
  for (int idle = 0; !done(); ++idle) {
    const bool alone = comm_.live.size() == 1;
    if (alone && request_.active()) {
      // Nothing else to serve: let the engine wait, which gives the core away.
      ended(request_.wait(phase_ == Phase::running ? &ran_ : nullptr));
      advance(true);
      continue;
    }
    comm_.progress();
    if (done()) break;
    const bool behind = phase_ == Phase::meeting || phase_ == Phase::draining;
    if (behind && comm_.live.front() != first) {
      first = comm_.live.front();
      since = Clock::now();
    }
    const double limit = timeout_of(call_.settings.options);
    if ((pending_ || behind) && limit > 0 && std::chrono::duration<double>(Clock::now() - since).count() > limit) {
      ended(behind ? late(*first, limit)
                   : fail(Status::timeout, "the MPI's own {} is not complete after {:.3g} s",
                          collective_name(call_.collective), limit));
      break;
    }
    if (idle < patience)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return status();
}

void Operation::report() noexcept {
  stretto_report* out = call_.settings.options.report;
  if (!out) return;
  stretto_report r = STRETTO_REPORT_INIT;
  const bool once =
      !reduces(call_.collective) && plan_.payload > STRETTO_PAYLOAD_RAW && plan_.payload != STRETTO_PAYLOAD_CPRP2P;
  set_name(r.algorithm, plan_.native             ? plan_.native->name()
                        : ran_.algorithm.empty() ? agreement_name
                                                 : ran_.algorithm.c_str());
  set_name(r.payload, once ? "compress_once" : payload_name(plan_.payload));
  r.contributions = plan_.contributions;
  r.raw_bytes = ran_.raw_bytes;
  r.bytes_sent = ran_.bytes_sent;
  r.ratio = ran_.ratio();
  r.eps = plan_.eps;
  r.promised_error = plan_.promised;
  if (plan_.payload > STRETTO_PAYLOAD_RAW)
    r.codec_seconds = ran_.compress_seconds + ran_.decompress_seconds + ran_.combine_seconds;
  r.agree_seconds = agree_seconds_;
  r.seconds = took_ > 0 ? took_ : seconds();
  r.predicted_seconds = plan_.predicted;
  r.expected_ratio = plan_.ratio;
  r.raw_below = plan_.raw_below;
  r.trial = plan_.trial != 0 ? 1 : 0;
  deliver(r, out);
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

void stretto_comm_s::give_up(const char* why) noexcept {
  if (broken) return;
  broken = true;
  try {
    broken_by = why;
  } catch (...) {
    broken_by.clear();
  }
}
