#include "api/operation/movement.hpp"

#include <algorithm>

#include "api/device/placement.hpp"
#include "api/operation/words.hpp"

namespace stretto::api {

// Failures here are equal on every rank, but for missing memory.
Step Movement::start(const Agreement& agreement) {
  stretto_comm_s& comm = c_.comm;
  Call& call = c_.call;
  select::Decision& d = c_.decision;
  if (const Status s = comm.refusal("not started; "); s != Status::ok) return Step::end(s);
  if (counts_at_root(call.collective) && all_counts_.empty()) return start_counts();
  state_ = State::running;
  c_.moved = true;
  const Signature& merged = agreement.signatures().merged;
  if (const Status s = link(comm, merged, &call); s != Status::ok)
    return s == Status::unsupported ? Step::end(s) : ended(s);
  // If any buffers are on a device, no rank uses a backend that cannot access them. A rank may have missed a refusal
  // while others met in memory.
  if (merged.devices > 0) d.made = false;
  select::AgreedValues values = agreement.signatures().values();
  if (c_.exact) values.ratios = {};
  const bool mixed = merged.devices > 0 && merged.devices < static_cast<std::uint32_t>(comm.size);
  select::Support support = mixed || c_.exact ? select::Support{} : comm.backends.serve(call);
  // A device's costs count if every rank knows of it.
  support.device = merged.devices > 0 && (d.needs.any() || comm.size == 1);
  support.staged = support.device && call.messages == nullptr;
  const auto& peer = comm.device_link.peer;
  if (support.device && peer && call.messages == peer.get()) support.reaching = peer->most_on_a_device();
  if (const Status s = comm.selector.complete(call, values, support, &d); s != Status::ok) {
    if (c_.goes_exact(s)) return start(agreement);
    return s == Status::out_of_memory ? Step::lose(s) : Step::end(s);
  }
  if (c_.exact) d.choice.why.reason = select::Reason::refused;
  in_turn_ = backend().starts(call) && backend().in_turn();
  if (backend().starts(call) && !in_turn_) return begun(backend().start(call, d, &pending_));
  state_ = State::queued;
  return {};
}

// Blocking forms match only blocking forms, so a blocking backend waits for earlier requests, which every rank has
// started.
Step Movement::leave_queue() noexcept {
  state_ = State::running;
  if (in_turn_) return begun(backend().start(c_.call, c_.decision, &pending_));
  const Status s = backend().run(c_.call, c_.decision, &c_.ran);
  select::Bound& bound = c_.decision.bound;
  if (bound.error == 0) bound.eps = bound.error = c_.ran.promised_error;  // messages stated their own
  return ended(s);
}

Step Movement::begun(Status s) noexcept {
  if (s == Status::out_of_memory) return Step::lose(s);
  if (s != Status::ok) return ended(s);
  // A place of another backend's collective among the runs of comm.data.
  if (c_.decision.choice.provider != Provider::schedules) c_.data_run = c_.comm.data.pass();
  return {};
}

Step Movement::ended(Status s) noexcept {
  // After an abandoned wait, or another backend's failure, the other ranks' state is uncertain.
  const bool ours =
      c_.decision.choice.provider == Provider::schedules && s != Status::timeout && !c_.comm.data.broken();
  return s == Status::ok || ours ? Step::end(s) : Step::lose(s);
}

Step Movement::test() {
  bool is_over = false;
  if (counting_.active()) {
    const Status s = counting_.test(&is_over);
    return is_over ? take_counts(s) : Step{};
  }
  if (!pending_) return {};
  Status s = pending_->test(&is_over, &c_.ran);
  if (!is_over && c_.data_run != engine::Engine::kNext) {
    s = c_.comm.data.usable(c_.data_run);
    is_over = s != Status::ok;
  }
  if (!is_over) return {};
  pending_.reset();
  return ended(s);
}

std::optional<Step> Movement::wait() {
  if (counting_.active()) return take_counts(counting_.wait());
  Status s = Status::ok;
  if (!pending_ || !pending_->wait(&s, &c_.ran)) return std::nullopt;
  pending_.reset();
  return ended(s);
}

// If only the root knows all counts, and each rank its own, all learn both: p words of the ranks, p of the root.
Step Movement::start_counts() {
  state_ = State::counting;
  const Call& call = c_.call;
  const auto p = static_cast<std::size_t>(c_.comm.size), r = static_cast<std::size_t>(c_.comm.rank);
  own_counts_.assign(2 * p, 0);
  all_counts_.assign(2 * p, 0);
  own_counts_[r] = call.count;
  if (c_.comm.rank == call.root) std::copy(call.counts.begin(), call.counts.end(), own_counts_.begin() + c_.comm.size);
  const Status s = exchange_words(c_.comm, c_.comm.data, own_counts_.data(), all_counts_.data(), 2 * p,
                                  {.op = payload::Op::max}, timeout_of(call.settings.options), &counting_);
  return s == Status::ok ? Step{} : Step::lose(s);
}

Step Movement::take_counts(Status s) {
  if (s != Status::ok) return Step::lose(s);
  Call& call = c_.call;
  const auto p = static_cast<std::size_t>(c_.comm.size);
  for (std::size_t r = 0; r < p; ++r)
    if (all_counts_[r] != all_counts_[p + r])
      return Step::end(fail(Status::incompatible, "count differs: {} on rank {}, {} for it in counts of root {}",
                            all_counts_[r], r, all_counts_[p + r], call.root));
  call.counts.assign(all_counts_.begin(), all_counts_.begin() + c_.comm.size);
  if (c_.comm.rank != call.root) call.displs.clear();
  state_ = State::ready;
  return {};
}

}  // namespace stretto::api
