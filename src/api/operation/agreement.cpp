#include "api/operation/agreement.hpp"

#include <utility>

#include "api/device/placement.hpp"
#include "base/progress/communication_cores.hpp"
#include "call/enums.hpp"
#include "select/signature.hpp"

namespace stretto::api {
namespace {

bool moves_in_memory(const CallState& c) noexcept {
  return c.comm.backends.node && c.comm.size > 1 && c.comm.backends.node->moves(c.call, c.decision);
}

// Equal on every rank: unchecked calls are equal.
bool meets_in_memory(const CallState& c) noexcept {
  if (!c.call.nonblocking || !c.comm.backends.node || c.comm.size == 1) return false;
  return c.decision.needs.check || (moves_in_memory(c) && !c.decision.needs.any());
}

// Ranks may have different splits: the steps are equal, only their cores differ.
void choose_split(CallState& c) noexcept {
  if (!c.call.nonblocking || !c.decision.made) return;
  const CommunicationCores& cores = CommunicationCores::mine();
  if (moves_in_memory(c) ? cores.of_host() > 0 : c.comm.is_driven() && cores.on())
    c.decision.choice.split = c.comm.selector.split(c.call, c.decision.choice, cores.of_host());
}

Status no_memory_to_choose() noexcept {
  return fail(Status::out_of_memory, "no memory to choose how a collective runs");
}

}  // namespace

void Signatures::sign(const CallState& c, Status failure, std::uint64_t unchecked) noexcept {
  own = select::signature_of(c.call, c.decision.needs, failure, c.comm.rank, c.comm.size);
  if (agrees_by_messages(c.comm)) own.set(Field::unchecked, unchecked, c.comm.rank);
  if (c.decision.needs.sample && !c.call.nonblocking) own.took = c.comm.selector.took(c.call);
  merged = own;
  made = true;
}

Step Agreement::begin(Status own) noexcept {
  stretto_comm_s& comm = c_.comm;
  Call& call = c_.call;
  const select::Needs& needs = c_.decision.needs;
  unchecked_ = needs.any() ? comm.unchecked() : comm.count_unchecked();
  // Memory is missing: the others go on, and only this informs them.
  if (comm.size > 1 && (!c_.decision.known || (!needs.any() && own == Status::out_of_memory)))
    return Step::lose(own != Status::ok ? own : no_memory_to_choose());
  if (!needs.any() && own != Status::ok) {
    if (!c_.goes_exact(own)) return Step::end(own);
    own = Status::ok;
  }
  if (call.device != nullptr && needs.range && own == Status::ok) own = find_values(comm, &call);
  if (own != Status::ok) copy_message(c_.message);
  const bool meets = meets_in_memory(c_);
  // Drivers read a started call's values.
  const bool later = call.nonblocking && !meets && needs.any() && own == Status::ok && comm.size > 1 &&
                     comm.is_driven() && CommunicationCores::mine().on();
  if (!later) signatures_.sign(c_, own, unchecked_);
  choose_split(c_);
  if (call.nonblocking && comm.backends.node) comm.backends.node->started();
  if (meets) return meet();
  if (!needs.any()) {
    if (c_.decision.samples_later) comm.selector.remember(call, {}, c_.decision);
    return Step::move();
  }
  if (comm.size == 1) return conclude(Status::ok);
  const bool compares = needs.check && !call.nonblocking && !compared_ && comm.backends.node;
  state_ = compares ? State::comparing : State::signing;
  return {};
}

Step Agreement::compare() noexcept {
  bool same = false;
  const Status s =
      c_.comm.backends.node->agree(signatures_.word(c_.decision.needs), c_.call.settings.options.timeout, &same);
  return compared(s, same);
}

Step Agreement::meet() noexcept {
  state_ = State::meeting;
  select::Decision& d = c_.decision;
  const bool checks = d.needs.check;
  // A failure of complete() is equal on every rank, and is found again when the data would start.
  moves_data_ =
      moves_in_memory(c_) && signatures_.own.status == 0 &&
      (!checks || (signatures_.is_uniform(d.needs) && c_.call.collective != Collective::barrier)) &&
      c_.comm.selector.complete(c_.call, signatures_.values(), c_.comm.backends.serve(c_.call), &d) == Status::ok &&
      moves_in_memory(c_);
  const auto word = checks ? std::optional(signatures_.word(d.needs)) : std::nullopt;
  const Status s = c_.comm.backends.node->begin(c_.call, d, word, moves_data_, &meeting_);
  return s == Status::ok ? Step{} : Step::lose(s);
}

// As compare(); the data may have moved with the agreement.
Step Agreement::end_meeting(Status s) noexcept {
  const bool same = s == Status::ok && meeting_->same();
  const int split = meeting_->split();
  meeting_.reset();
  moves_data_ = moves_data_ && s == Status::ok && (same || !c_.decision.needs.check);
  if (!moves_data_) return compared(s, same);
  c_.moved = true;
  select::Choice& choice = c_.decision.choice;
  choice.in_node = choice.provider == Provider::schedules;
  choice.split = split;
  if (choice.in_node) copy_text(choice.schedule, c_.ran.algorithm);
  return Step::end(s);
}

Step Agreement::compared(Status s, bool same) noexcept {
  if (s != Status::ok && (s != Status::incompatible || c_.comm.backends.node->differed())) return Step::lose(s);
  if (same && signatures_.is_uniform(c_.decision.needs)) {
    words_ = same_ = true;
    return conclude(Status::ok);
  }
  state_ = State::signing;
  if (s != Status::incompatible || signatures_.own.status != 0) return {};
  // The node's memory has ended since: repeats the decision without it.
  c_.decision = c_.comm.selector.decide(c_.call, c_.comm.backends.serve(c_.call));
  signatures_.sign(c_, Status::ok, unchecked_);
  return c_.decision.known ? Step{} : Step::lose(no_memory_to_choose());
}

Step Agreement::exchange() {
  state_ = State::agreeing;
  const Call& call = c_.call;
  const select::Needs& needs = c_.decision.needs;
  if (!signatures_.made) signatures_.sign(c_, Status::ok, unchecked_);
  if (compared_ || !agrees_by_messages(c_.comm)) return start_signatures();
  engine::Words words{.what = name(call.collective), .timeout = timeout_of(call.settings.options), .same = &same_};
  words_ = true;
  if (signatures_.own.status == 0) {  // a failed rank's word equals no other, and no value of that rank is read
    carried_ = travels_with_word(c_.comm, call, c_.decision);
    words.word = word_of(digest(signatures_.own), needs, carried_, unchecked_);
    if (carried_)
      words.load = load_of(shape_of(call), call.send, call.recv);
    else if (needs.values())
      words.load = merging(signatures_.own, &signatures_.merged);
  }
  const Status s = c_.comm.agreement.start(words, &request_);
  number_ = c_.comm.agreement.latest();
  return s == Status::ok ? Step{} : Step::lose(s);
}

Step Agreement::start_signatures() {
  payload::Spec merge;
  merge.op = payload::Op::user;
  merge.user.function = [](const void* from, void* into, std::size_t, void*) { merge_signature(from, into); };
  const Status s = exchange_words(c_.comm, c_.comm.agreement, &signatures_.own, &signatures_.merged, kSignatureWords,
                                  merge, timeout_of(c_.call.settings.options), &request_, c_.agreement_run);
  if (s != Status::ok) return Step::lose(s);
  c_.agreement_run = engine::Engine::kNext;
  return {};
}

Step Agreement::test() {
  bool ended = false;
  if (request_.active()) {
    const Status s = request_.test(&ended, carried_ ? &c_.ran : nullptr);
    if (ended) return conclude(s);
  } else if (meeting_) {
    meeting_->drive(c_.comm.lanes());
    const Status s = meeting_->test(&ended, nullptr);
    if (ended) return end_meeting(s);
  }
  return {};
}

std::optional<Step> Agreement::wait() {
  if (request_.active()) return conclude(request_.wait(carried_ ? &c_.ran : nullptr));
  if (!meeting_) return std::nullopt;
  Status s = Status::ok;
  meeting_->wait(&s, nullptr);
  return end_meeting(s);
}

Step Agreement::conclude(Status s) {
  if (s != Status::ok) return Step::lose(s);
  stretto_comm_s& comm = c_.comm;
  Call& call = c_.call;
  Signature& merged = signatures_.merged;
  if (std::exchange(words_, false)) {
    if (!same_) {
      c_.agreement_run = number_;
      carried_ = false;
      return start_signatures();
    }
    if (carried_) {
      c_.moved = true;
      complete_raw(comm, shape_of(call), true, &c_.decision, &c_.ran);
      return Step::end(Status::ok);
    }
    if (!c_.decision.needs.values()) {
      merged.devices *= static_cast<std::uint32_t>(comm.size);
      merged.captured *= static_cast<std::uint32_t>(comm.size);
    }
  }
  c_.agree_seconds = c_.seconds();
  s = verdict(merged, signatures_.own, c_.message.data());
  if (s == Status::ok && counts_by_pair(call.collective)) {
    call.largest = merged.largest;
    s = pairs_agree(merged, call.send_counts, call.counts, comm.rank);
  }
  if (is_out_of_step(merged)) {  // data of two calls would meet: all runs and later agreements end
    comm.give_up(s, message(), 0, number_ + 1);
    return Step::end(s);
  }
  if (s != Status::ok) {
    if (is_alike_but_for_the_way(merged) && c_.goes_exact(s)) return Step::move();
    if (comm.backends.node && comm.backends.node->look_again()) comm.prepared.forget();
    return Step::end(s);
  }
  if (call.collective == Collective::barrier && call.settings.schedule.empty())
    return Step::end(s);  // the agreement was a barrier already
  comm.selector.remember(call, merged.ratios(), c_.decision);
  if (c_.decision.needs.sample) comm.selector.learn(call, merged.took);
  return Step::move();
}

}  // namespace stretto::api
