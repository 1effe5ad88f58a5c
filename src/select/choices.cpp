#include "select/choices.hpp"

#include <algorithm>

#include "call/enums.hpp"
#include "model/decide.hpp"
#include "model/walk/programs.hpp"
#include "schedule/registry.hpp"
#include "select/forced.hpp"
#include "select/mix.hpp"

namespace stretto::select {
namespace {

// A trial has at most `most_candidates`, each predicted to take less than `worst` times the leader's time. It needs a native
// collective of at least `least_to_try` seconds, because turns of shorter calls show nothing. Where a node may copy in two
// modes, which differ by a factor of up to three, shorter calls show that.
constexpr double least_to_try = 10e-6, least_to_try_copies = 4e-6, worst = 3;
constexpr std::size_t most_candidates = 4;
constexpr std::size_t most_trials = 1024;  // shapes of a communicator; further ones run as predicted

// What a turn is expected to cost beside its calls: an agreement inside a host; between hosts also the walk of schedules.
constexpr double agreement_inside = 100e-6, agreement_between = 2e-3;
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
  // A short call's schedules are predicted for a report alone, which decides nothing: ranks may differ in it.
  const model::Question& q = asked.question;
  const bool is_short = !q.compress && q.schedule.empty() && q.bytes <= model::longest_untried;
  asked.reported = asked.reported && is_short;
  if (asked.reported) asked.cell = mix(asked.cell, 1);  // not the trial: other ranks may have no report
  return asked;
}

Choices::Answer& Choices::answer(Asked&& asked) {
  const auto found = answers_.find(asked.cell);
  if (found != answers_.end() && found->second.asked.same_answer(asked)) return found->second;
  const model::Question& q = asked.question;
  Answer fresh;
  const std::lock_guard lock(shared_->mutex);
  model::Decided decided;
  if (asked.mixed) {
    fresh.choice = mixed(shared_->chooser, q);
    fresh.choice.why.reason = Reason::forced;
  } else if (model::decide(shared_->chooser, q, &decided) != Status::ok) {
    fresh.choice = plain(q);
  } else {
    const model::Candidate& own = decided.own;
    fresh.choice = choice_of(decided.taken, reason_of(q, own.native, decided.taken), decided.mpi_seconds);
    // A turn begins with an agreement. It does not show what short calls take in a row, where ranks run ahead of each other.
    const double least = asked.other_copy ? least_to_try_copies : least_to_try;
    fresh.open = asked.tries && own.native && own.seconds >= least && q.bytes > model::longest_untried;
    model::Candidate best, told;
    double mpi_seconds = 0;
    if (asked.reported && own.native && shared_->chooser.choose(q, &best, &told, &mpi_seconds) == Status::ok &&
        told.provider == fresh.choice.provider) {
      fresh.choice.why.seconds = static_cast<float>(told.seconds);
      fresh.choice.why.mpi = static_cast<float>(mpi_seconds);
    }
  }
  if (answers_.size() >= most_answers) answers_.clear();
  const std::uint64_t cell = asked.cell;
  fresh.asked = std::move(asked);
  return answers_.insert_or_assign(cell, std::move(fresh)).first->second;
}

std::vector<Choice> Choices::candidates_of(const Asked& asked, const Choice& leader) const {
  std::vector<Choice> found{leader};
  std::vector<model::Candidate> all;
  model::Question question = asked.question;
  const bool inside = leader.provider != Provider::schedules && model::natives_suffice(question, hosts());
  question.natives = inside;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->chooser.table(question, &all) != Status::ok) return found;
  const double mpi_seconds = model::Chooser::mpi_seconds(all);
  // The faster copy mode of a node depends on where its ranks are and on what lies in their caches.
  const auto enter_other_copy = [&] {
    const Choice& last = found.back();
    const bool copies = last.provider == Provider::node && last.payload == payload::Kind::raw;
    if (!asked.other_copy || !copies || found.size() == most_candidates) return;
    found.push_back(last);
    found.back().other_copy = true;
    found.back().why.reason = Reason::winner;  // when it leads
  };
  enter_other_copy();
  for (const model::Candidate& c : all) {  // the cheapest first
    if (found.size() == most_candidates) break;
    const bool close = c.seconds < worst * static_cast<double>(leader.why.seconds);
    const auto alike = [&](const Choice& entered) {
      return entered.provider == c.provider && entered.payload == c.payload && entered.raw_inside == c.raw_inside &&
             entered.schedule == c.schedule;
    };
    const bool exact_native = c.native && c.payload == payload::Kind::raw;
    if (!close || (inside && !exact_native) || std::any_of(found.begin(), found.end(), alike)) continue;
    found.push_back(choice_of(c, Reason::winner, mpi_seconds));
    enter_other_copy();
  }
  return found;
}

const std::shared_ptr<const std::vector<Choice>>& Choices::candidates(Answer& a) const {
  if (!a.candidates) a.candidates = std::make_shared<const std::vector<Choice>>(candidates_of(a.asked, a.choice));
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
    const Autotuner& tuner = t.autotuner;
    if (tuner.due() && !tuner.entered()) turn->enters = candidates(answer(std::move(asked)));
    if (tuner.due() || tuner.measures())
      turn->trial = key;
    else if (!tuner.over())
      turn->leads = &t.autotuner;
    return t.candidates[tuner.turn()];
  }
  Answer& a = answer(std::move(asked));
  if (!a.open || trials_.size() == most_trials) return a.choice;
  (ran_once_.contains(key) ? turn->opens : turn->first) = key;
  return a.choice;
}

void Choices::agreed(const Turn& turn, const call::TurnTimes& merged) {
  const auto found = trials_.find(turn.trial);
  if (found == trials_.end()) return;
  Tried& t = found->second;
  if (!t.autotuner.entered()) {
    // The leader stays the choice that the calls so far have run as.
    std::vector<Choice> all{t.candidates.front()};
    std::vector<double> predicted{static_cast<double>(all.front().why.seconds)};
    for (std::size_t c = 1; turn.enters && c < turn.enters->size(); ++c) {
      all.push_back((*turn.enters)[c]);
      predicted.push_back(static_cast<double>(all.back().why.seconds));
    }
    t.candidates = std::move(all);
    t.autotuner.enter(predicted);
  }
  t.autotuner.agreed(merged);
}

void Choices::begin(const Turn& turn, const Choice& runs) {
  if (turn.first != 0) ran_once_.insert(turn.first);
  if (turn.leads) turn.leads->ran();
  if (turn.opens == 0 || trials_.contains(turn.opens)) return;
  const double agreement = hosts() > 1 ? agreement_between : agreement_inside;
  trials_.emplace(turn.opens, Tried{{runs}, Autotuner(static_cast<double>(runs.why.seconds), agreement)});
}

bool Choices::may_stream(const Call& call, std::size_t bytes, double ratio, Served served) {
  if (forced_provider(call)) return false;
  Asked asked = put(call, bytes, {true}, ratio, served);
  const auto travels = [](const Choice& c) { return c.payload != payload::Kind::raw; };
  const auto found = call.nonblocking ? trials_.end() : trials_.find(asked.trial);
  if (found != trials_.end() && found->second.autotuner.entered()) {
    const Tried& t = found->second;
    for (std::size_t i = 0; i < t.candidates.size(); ++i)
      if (t.autotuner.open(i) && travels(t.candidates[i])) return true;
    return false;
  }
  Answer& a = answer(std::move(asked));
  if (found == trials_.end() || !found->second.autotuner.due()) return travels(a.choice);
  const auto& all = *candidates(a);
  return std::any_of(all.begin(), all.end(), travels);
}

bool Choices::due(Trial trial) const noexcept {
  const auto found = trials_.find(trial);
  return found != trials_.end() && found->second.autotuner.due();
}

call::TurnTimes Choices::times(Trial trial) const noexcept {
  const auto found = trials_.find(trial);
  return found != trials_.end() ? found->second.autotuner.times() : call::TurnTimes{};
}

void Choices::took(Trial trial, double seconds, double agreement) noexcept {
  const auto found = trials_.find(trial);
  if (found != trials_.end()) found->second.autotuner.took(seconds, agreement);
}

}  // namespace stretto::select
