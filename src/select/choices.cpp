#include "select/choices.hpp"

#include <algorithm>

#include "call/enums.hpp"
#include "model/walk/programs.hpp"
#include "schedule/registry.hpp"
#include "select/forced.hpp"
#include "select/mix.hpp"

namespace stretto::select {
namespace {

// A schedule of ours is taken over the native collective where it is predicted to take less than this part of its time, and to
// gain this many seconds.
constexpr double enough_of_native = 0.75, least_gain = 200e-6;

// A trial has the native collective and the others that are predicted to take less than `worst` times as long: eight candidates in all where
// calls are brief, else four. It needs a native collective of at least `least_to_try` seconds, since turns of shorter calls show nothing; of
// fewer where a node may copy in two ways, which may differ by a factor of three.
constexpr double least_to_try = 10e-6, least_to_try_copies = 4e-6, worst = 3, brief = 1e-3;
constexpr std::size_t longest_untried = 1024;  // bytes of a vector
constexpr std::size_t most_candidates(double own_seconds) noexcept { return own_seconds < brief ? 8 : 4; }
constexpr std::size_t most_trials = 1024;  // shapes of a communicator; further ones run as predicted
constexpr std::size_t most_answers = 1024;

constexpr std::size_t default_segment = std::size_t{256} << 10;

// A node's streams are forced by their payload, too; where only exact values will do, there are none.
const Choice& forced_by(Provider p, const Call& call, bool compress) {
  using payload::Kind;
  static const auto of = [](Provider provider, Kind kind) {
    Choice c;
    c.provider = provider;
    c.payload = kind;
    c.why.reason = Reason::forced;
    return c;
  };
  static const Choice mpi = of(Provider::mpi, Kind::raw), raw = of(Provider::node, Kind::raw);
  static const Choice fused = of(Provider::node, Kind::fused), homomorphic = of(Provider::node, Kind::homomorphic);
  if (p == Provider::mpi) return mpi;
  if (!compress) return raw;
  return call::payload_kind(call.settings.options.payload) == Kind::homomorphic ? homomorphic : fused;
}

Choice choice_of(const model::Candidate& c, Reason reason = Reason::forced, double mpi_seconds = 0) {
  Choice choice;
  choice.provider = c.provider;
  choice.payload = c.payload;
  choice.schedule = c.schedule;
  choice.raw_inside = c.raw_inside;
  choice.raw_below = static_cast<std::size_t>(c.raw_below);
  choice.segment = static_cast<std::size_t>(c.segment);
  choice.blocks = c.blocks;
  choice.radix = c.radix > 0 ? c.radix : 2;
  choice.lanes = c.lanes;
  choice.why = {reason, static_cast<float>(c.seconds), static_cast<float>(mpi_seconds)};
  return choice;
}

// `raw`: a native collective of raw values was among the candidates.
Reason reason_of(const model::Question& q, bool raw, const model::Candidate& taken) {
  if (!q.schedule.empty() || q.raw_below > 0 || q.payload > static_cast<int>(payload::Kind::raw)) return Reason::forced;
  if (raw) return taken.assumed ? Reason::assumed : Reason::predicted;
  return q.code_space && (q.native || q.node) ? Reason::rounding : Reason::alone;
}

// A schedule never goes where a native collective can serve so short a vector. So it is predicted for a report alone,
// which decides nothing: ranks may differ in it.
bool natives_alone(const model::Question& q) noexcept {
  return !q.compress && q.schedule.empty() && q.bytes <= longest_untried;
}

// Where the model knows no way, what is right at any size.
Choice plain(const model::Question& q) {
  Choice c;
  c.schedule =
      q.schedule.empty() ? schedule::default_algorithm(q.collective, q.keeps_order, q.rank_by_rank).name : q.schedule;
  if (q.compress) c.payload = q.payload >= 0 ? static_cast<payload::Kind>(q.payload) : payload::Kind::fused;
  c.segment = q.segment > 0 ? static_cast<std::size_t>(q.segment) : default_segment;
  if (q.compress) c.raw_below = static_cast<std::size_t>(q.raw_below);
  c.why.reason = q.schedule.empty() ? Reason::unpredicted : Reason::forced;
  return c;
}

// Raw inside a host, streams between.
Choice mixed(const model::Chooser& chooser, const model::Question& q) {
  std::vector<model::Candidate> all;
  const Status s = chooser.table(q, &all);
  const auto found = std::find_if(all.begin(), all.end(), [](const model::Candidate& c) { return c.raw_inside; });
  if (s == Status::ok && found != all.end()) return choice_of(*found);
  // On one host there is nothing between: the same schedule, raw.
  Choice c = plain(q);
  if (q.schedule.empty() && schedule::find(q.collective, "hierarchical_ring")) c.schedule = "hierarchical_ring";
  const schedule::Algorithm* a = schedule::find(q.collective, c.schedule);
  c.raw_inside = a && a->uses_groups;
  return c;
}

}  // namespace

Choices::Choices(std::shared_ptr<SharedChooser> shared)
    : shared_(std::move(shared)), groups_(model::groups_of(shared_->chooser.topology())) {}

Asked Choices::put(const Call& call, std::size_t bytes, Streaming streaming, double ratio, Served served) const {
  Asked asked = ask(call, bytes, streaming, ratio, served, shared_->chooser.topology().ranks());
  asked.reported = asked.reported && natives_alone(asked.question);
  if (asked.reported) asked.cell = mix(asked.cell, 1);  // not the trial: other ranks may have no report
  return asked;
}

Choices::Answer& Choices::answer(Asked&& asked) {
  const auto found = answers_.find(asked.cell);
  if (found != answers_.end() && found->second.asked.same_answer(asked)) return found->second;
  const model::Question& q = asked.question;
  Answer fresh;
  const std::lock_guard lock(shared_->mutex);
  model::Candidate best, own;
  double mpi_seconds = 0;
  const auto choose = [&](bool natives) {
    model::Question of = q;
    of.natives = natives;
    return shared_->chooser.choose(of, &best, &own, &mpi_seconds);
  };
  const bool natives = natives_alone(q);
  if (asked.mixed) {
    fresh.choice = mixed(shared_->chooser, q);
    fresh.choice.why.reason = Reason::forced;
  } else if (choose(natives) != Status::ok) {
    fresh.choice = plain(q);
  } else {
    // Predictions are rough, and the native collective is what the program would have had: it goes only where much is to be gained; and
    // not where no trial would find out that the gain is none, since what was measured of such short calls may be off by factors.
    const bool shows = best.native || q.bytes > longest_untried;
    const bool enough =
        shows && best.seconds < enough_of_native * own.seconds && best.seconds < own.seconds - least_gain;
    const model::Candidate& taken = !own.native || enough ? best : own;
    fresh.choice = choice_of(taken, reason_of(q, own.native, taken), mpi_seconds);
    // Of short calls a turn that begins with an agreement does not show what they take in a row, where ranks run ahead of each other.
    const double least = asked.other_copy ? least_to_try_copies : least_to_try;
    fresh.open = asked.tries && own.native && own.seconds >= least && q.bytes > longest_untried;
    if (natives && asked.reported && own.native && choose(false) == Status::ok &&
        own.provider == fresh.choice.provider) {
      fresh.choice.why.seconds = static_cast<float>(own.seconds);
      fresh.choice.why.mpi = static_cast<float>(mpi_seconds);
    }
  }
  if (answers_.size() >= most_answers) answers_.clear();
  const std::uint64_t cell = asked.cell;
  fresh.asked = std::move(asked);
  return answers_.insert_or_assign(cell, std::move(fresh)).first->second;
}

std::vector<Choice> Choices::candidates_of(const Asked& asked) const {
  std::vector<Choice> found;
  std::vector<model::Candidate> all;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->chooser.table(asked.question, &all) != Status::ok) return found;
  const auto own = std::find_if(all.begin(), all.end(),
                                [](const model::Candidate& c) { return c.native && c.payload == payload::Kind::raw; });
  if (own == all.end()) return found;
  // Of the node's, how it copies is tried as well: the faster way depends on where the ranks are placed and on what lies in their caches.
  const std::size_t most = most_candidates(own->seconds);
  const double mpi_seconds = model::Chooser::mpi_seconds(all);
  const auto enter = [&](const model::Candidate& c) {
    found.push_back(choice_of(c, Reason::winner, mpi_seconds));  // when its trial is over
    const bool of_node = c.native && c.provider == model::Provider::node && c.payload == payload::Kind::raw;
    if (!asked.other_copy || !of_node || found.size() == most) return;
    found.push_back(found.back());
    found.back().other_copy = true;
  };
  enter(*own);
  for (const model::Candidate& c : all) {  // the cheapest first
    const bool other = !c.native || c.provider != own->provider || c.payload != own->payload;
    const bool close = other && c.seconds < worst * own->seconds && found.size() < most;
    const auto alike = [&](const Choice& tried) {
      return !c.native && tried.schedule == c.schedule && tried.payload == c.payload &&
             tried.raw_inside == c.raw_inside;
    };
    if (close && std::none_of(found.begin(), found.end(), alike)) enter(c);
  }
  if (found.size() == 1) found.clear();
  return found;
}

const std::shared_ptr<const std::vector<Choice>>& Choices::candidates(Answer& a) const {
  if (!a.candidates) a.candidates = std::make_shared<const std::vector<Choice>>(candidates_of(a.asked));
  return a.candidates;
}

const Choice& Choices::choose(const Call& call, std::size_t bytes, Streaming streaming, double ratio, Served served) {
  if (const auto forced = forced_provider(call)) return forced_by(*forced, call, streaming.may);
  return answer(put(call, bytes, streaming, ratio, served)).choice;
}

const Choice& Choices::look(const Call& call, std::size_t bytes, Streaming streaming, double ratio, Served served,
                            Turn* turn) {
  *turn = {};
  if (const auto forced = forced_provider(call)) return forced_by(*forced, call, streaming.may);
  Asked asked = put(call, bytes, streaming, ratio, served);
  const Trial key = asked.trial;
  if (const auto found = trials_.find(key); found != trials_.end()) {
    Tried& t = found->second;
    if (t.autotuner.settled())
      turn->settled = &t.autotuner;
    else
      turn->trial = key;
    return t.candidates[t.autotuner.turn()];
  }
  Answer& a = answer(std::move(asked));
  if (!a.open || trials_.size() == most_trials) return a.choice;
  if (!ran_once_.contains(key)) {
    turn->first = key;
    return a.choice;
  }
  const auto& all = candidates(a);
  if (all->empty()) return a.choice;
  turn->trial = key;
  turn->begins = all;
  return all->front();
}

void Choices::begin(const Turn& turn) {
  if (turn.first != 0) ran_once_.insert(turn.first);
  if (turn.settled) turn.settled->ran();
  if (turn.trial == 0 || trials_.contains(turn.trial)) return;
  const std::vector<Choice>& all = *turn.begins;
  trials_.emplace(turn.trial, Tried{all, Autotuner(all.size(), all.front().why.seconds)});
}

bool Choices::may_stream(const Call& call, std::size_t bytes, double ratio, Served served) {
  if (forced_provider(call)) return false;
  Asked asked = put(call, bytes, {true}, ratio, served);
  const Trial key = asked.trial;
  const auto travels = [](const Choice& c) { return c.payload != payload::Kind::raw; };
  const auto found = call.nonblocking ? trials_.end() : trials_.find(key);
  if (found != trials_.end()) {
    const Tried& t = found->second;
    for (std::size_t i = 0; i < t.candidates.size(); ++i)
      if (t.autotuner.open(i) && travels(t.candidates[i])) return true;
    return false;
  }
  Answer& a = answer(std::move(asked));
  const bool tried = a.open && !call.nonblocking && trials_.size() < most_trials && ran_once_.contains(key);
  if (!tried || candidates(a)->empty()) return travels(a.choice);
  return std::any_of(a.candidates->begin(), a.candidates->end(), travels);
}

bool Choices::begins_turn(Trial trial) const noexcept {
  const auto found = trials_.find(trial);
  return trial != 0 && (found == trials_.end() || found->second.autotuner.begins());
}

bool Choices::took(Trial trial, double seconds) noexcept {
  const auto found = trials_.find(trial);
  return found != trials_.end() && found->second.autotuner.took(seconds);
}

std::vector<double> Choices::times(Trial trial) const { return trials_.at(trial).autotuner.times(); }

void Choices::settle(Trial trial, const std::vector<double>& slowest) noexcept {
  const auto found = trials_.find(trial);
  if (found != trials_.end()) found->second.autotuner.compare(slowest);
}

}  // namespace stretto::select
