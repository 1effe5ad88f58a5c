#include "select/choice/choices.hpp"

#include <algorithm>

#include "call/enums.hpp"
#include "model/decide.hpp"
#include "model/nodes.hpp"
#include "model/walk/programs.hpp"
#include "schedule/registry.hpp"
#include "select/forced.hpp"

namespace stretto::select {
namespace {

constexpr std::size_t kMostAnswers = 1024;

constexpr std::size_t kDefaultSegment = std::size_t{256} << 10;

// A forced node uses streams if a payload is forced and the values need not be exact.
Choice forced_by(Provider p, const Call& call, bool compress) {
  using payload::Kind;
  Choice c;
  c.provider = p;
  c.why.reason = Reason::forced;
  if (p == Provider::node && compress)
    c.payload =
        call::payload_kind(call.settings.options.payload) == Kind::homomorphic ? Kind::homomorphic : Kind::fused;
  return c;
}

Choice choice_of(const model::Candidate& c, Reason reason = Reason::forced, double mpi_seconds = 0) {
  Choice choice{c, 0, {reason, static_cast<float>(c.seconds), static_cast<float>(mpi_seconds)}};
  if (choice.radix == 0) choice.radix = 2;
  return choice;
}

// `raw`: a native collective of raw values was a candidate.
Reason reason_of(const model::Question& q, bool raw, const model::Candidate& taken) {
  if (!q.schedule.empty() || q.raw_below > 0 || q.payload > static_cast<int>(payload::Kind::raw)) return Reason::forced;
  if (raw) return taken.assumed ? Reason::assumed : Reason::predicted;
  return q.code_space && (q.native || q.node) ? Reason::rounding : Reason::alone;
}

// Right at any size, without the model.
Choice plain(const model::Question& q) {
  Choice c;
  c.schedule =
      q.schedule.empty() ? schedule::default_algorithm(q.collective, q.keeps_order, q.rank_by_rank).name : q.schedule;
  if (q.compress) c.payload = q.payload >= 0 ? static_cast<payload::Kind>(q.payload) : payload::Kind::fused;
  c.segment = q.segment > 0 ? q.segment : kDefaultSegment;
  if (q.compress) c.raw_below = q.raw_below;
  if (!q.fixed && c.payload != payload::Kind::raw) c.coding = codec::Coding::dense;
  c.why.reason = q.schedule.empty() ? Reason::unpredicted : Reason::forced;
  return c;
}

Choice mixed(const model::Chooser& chooser, const model::Question& q) {
  std::vector<model::Candidate> all;
  const Status s = chooser.table(q, &all);
  const auto found = std::find_if(all.begin(), all.end(), [](const model::Candidate& c) { return c.raw_inside; });
  if (s == Status::ok && found != all.end()) return choice_of(*found);
  // Without links between hosts the same schedule serves, raw.
  Choice c = plain(q);
  if (q.schedule.empty() && schedule::find(q.collective, "hierarchical_ring")) c.schedule = "hierarchical_ring";
  const schedule::Algorithm* a = schedule::find(q.collective, c.schedule);
  c.raw_inside = a && a->uses_groups;
  return c;
}

Choice in_memory(const model::Chooser& chooser, const model::Question& q) {
  std::vector<model::Candidate> all;
  const Status s = chooser.table(q, &all);
  const auto found = std::find_if(all.begin(), all.end(), [](const model::Candidate& c) { return c.piece > 0; });
  if (s == Status::ok && found != all.end()) return choice_of(*found);
  Choice c = plain(q);
  c.provider = Provider::node;
  c.raw_inside = c.payload != payload::Kind::raw;
  c.piece = static_cast<std::size_t>(model::piece_of(q.collective, q.bytes, chooser.topology()));
  return c;
}

ModelQuery put(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios, Support support) {
  ModelQuery query = query_of(call, bytes, streaming, ratios, support);
  // Predictions for a report decide nothing: ranks may differ in them.
  query.reported = query.reported && (query.question.native || query.question.node);
  if (query.reported) query.cell = mix(query.cell, 1);
  return query;
}

Choice ask(model::Chooser& chooser, const ModelQuery& query) {
  const model::Question& q = query.question;
  Choice choice;
  model::ModelChoice decided;
  if (query.in_memory) {
    choice = in_memory(chooser, q);
    choice.why.reason = Reason::forced;
  } else if (query.mixed) {
    choice = mixed(chooser, q);
    choice.why.reason = Reason::forced;
  } else if (model::decide(chooser, q, &decided, query.reported) != Status::ok) {
    choice = plain(q);
  } else {
    const model::Candidate& own = decided.own;
    choice = choice_of(decided.taken, reason_of(q, own.native, decided.taken), decided.mpi_seconds);
  }
  return choice;
}

// An agreement and the streams' own messages take about four latencies more than few raw values.
std::size_t brief_between(const model::Chooser& chooser) noexcept {
  constexpr double kLatencies = 4, kMost = 64 << 10;
  const model::Link& link = chooser.profile().links[static_cast<std::size_t>(topology::Distance::network)];
  if (chooser.topology().hosts() < 2 || link.empty()) return 0;
  const model::Span& eager = link.front();
  if (kLatencies * eager.alpha >= kMost * eager.beta) return static_cast<std::size_t>(kMost);
  return static_cast<std::size_t>(kLatencies * eager.alpha / eager.beta);
}

// Precondition: the mutex is held.
const Choice& answer_of(SharedChooser& shared, ModelQuery&& query) {
  const auto found = shared.answers.find(query.cell);
  if (found != shared.answers.end() && found->second.query.same_answer(query)) return found->second.choice;
  Choice choice = ask(shared.chooser, query);
  if (shared.answers.size() >= kMostAnswers) shared.answers.clear();
  const std::uint64_t cell = query.cell;
  SharedChooser::CachedChoice fresh{std::move(query), std::move(choice)};
  return shared.answers.insert_or_assign(cell, std::move(fresh)).first->second.choice;
}

}  // namespace

Choices::Choices(std::shared_ptr<SharedChooser> shared)
    : shared_(std::move(shared)),
      groups_(model::groups_of(shared_->chooser.topology())),
      longest_brief_(brief_between(shared_->chooser)) {}

const Choice& Choices::answer(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                              Support support) {
  const std::lock_guard lock(shared_->mutex);
  if (!call.settings.schedule.empty() || call.settings.options.report != nullptr)
    return latest_ = answer_of(*shared_, put(call, bytes, streaming, ratios, support));
  const CallForm form = form_of(call, bytes, streaming, ratios, support);
  SharedChooser::RecentChoice& recent = shared_->recent.at(hash_of(form) % shared_->recent.size());
  if (!recent.known || recent.form != form) {
    recent.known = false;
    recent.choice = answer_of(*shared_, put(call, bytes, streaming, ratios, support));
    recent.form = form;
    recent.known = true;
  }
  return latest_ = recent.choice;
}

const Choice& Choices::choose(const Call& call, std::size_t bytes, Streaming streaming, const call::Shrinks& ratios,
                              Support support) {
  const auto forced = forced_provider(call);
  if (forced && !(*forced == Provider::node && support.nodes)) return latest_ = forced_by(*forced, call, streaming.may);
  return answer(call, bytes, streaming, ratios, support);
}

}  // namespace stretto::select
