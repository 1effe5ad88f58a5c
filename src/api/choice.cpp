#include "api/choice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "api/payloads.hpp"
#include "api/types.hpp"
#include "model/programs.hpp"
#include "schedule/floors.hpp"
#include "schedule/registry.hpp"

namespace stretto::api {
namespace {

// A schedule of ours is taken over the native collective where it is predicted to take less than this part of its time, and to
// gain this many seconds.
constexpr double enough_of_native = 0.75, least_gain = 200e-6;

// Trials: where the native collective is predicted to take at least `least_to_try` seconds, choices that are predicted to take less
// than `worst_to_try` times as long, at most `most_to_try` with it.
constexpr double least_to_try = 40e-6, worst_to_try = 1.5;
constexpr std::size_t most_to_try = 4;
constexpr std::size_t most_contests = 1024;  // shapes of a communicator; further ones run as predicted

constexpr std::size_t default_segment = std::size_t{256} << 10;

bool same(const model::Question& a, const model::Question& b) noexcept {
  return a.collective == b.collective && a.bytes == b.bytes && a.element == b.element && a.root == b.root &&
         a.keeps_order == b.keeps_order && a.compress == b.compress && a.code_space == b.code_space &&
         a.native == b.native && a.node == b.node && a.ratio == b.ratio && a.payload == b.payload &&
         a.segment == b.segment && a.schedule == b.schedule;
}

// Results do not depend on the way beyond what the bound allows, and nothing is forced. Exact reductions of floating point do (rounding,
// NaN), and integer sums with a bound: only streams tell that one does not fit its type.
bool may_be_tried(const Call& c, bool compress) noexcept {
  const stretto_options& o = c.settings.options;
  const bool floating = is_floating(c.type), sums = c.op != STRETTO_MIN && c.op != STRETTO_MAX;
  const bool depends = reduces(c.collective) && (compress ? !floating && sums : floating);
  return c.settings.schedule.empty() && o.payload == STRETTO_PAYLOAD_AUTO && o.segment == 0 && !depends &&
         c.collective != Collective::allreduce_multi;
}

const Choice& forced_by(model::Provider p) {
  static const Choice mpi{.native = true, .provider = model::Provider::mpi, .schedule = {}};
  static const Choice node{.native = true, .provider = model::Provider::node, .schedule = {}};
  return p == model::Provider::node ? node : mpi;
}

std::uint64_t mix(std::uint64_t h, std::uint64_t x) noexcept {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

std::uint64_t key_of(const Call& call, std::size_t bytes) noexcept {
  const stretto_options& o = call.settings.options;
  std::uint64_t h = mix(bytes, static_cast<std::uint64_t>(call.collective));
  h = mix(h, static_cast<std::uint64_t>(call.type) << 16 | static_cast<std::uint64_t>(o.bound_kind) << 8 |
                 static_cast<std::uint64_t>(o.scope));
  return mix(h, std::bit_cast<std::uint64_t>(o.bound)) | 1;  // 0 is an entry without one
}

Choice choice_of(const model::Candidate& c) {
  Choice choice;
  choice.native = c.native;
  choice.provider = c.provider;
  choice.schedule = c.schedule;
  choice.kind = c.payload;
  choice.raw_inside = c.raw_inside;
  choice.raw_below = static_cast<std::size_t>(c.raw_below);
  choice.segment = static_cast<std::size_t>(c.segment);
  choice.blocks = c.blocks;
  choice.radix = c.radix > 0 ? c.radix : 2;
  choice.seconds = c.seconds;
  return choice;
}

// Where the model knows no way, what is right at any size.
Choice plain(const model::Question& q) {
  Choice c;
  c.schedule = q.schedule.empty() ? schedule::default_algorithm(q.collective, q.keeps_order).name : q.schedule;
  if (q.compress) c.kind = q.payload >= 0 ? static_cast<payload::Kind>(q.payload) : payload::Kind::fused;
  c.segment = q.segment > 0 ? static_cast<std::size_t>(q.segment) : default_segment;
  return c;
}

}  // namespace

Choices::Choices(std::shared_ptr<SharedChooser> shared)
    : shared_(std::move(shared)), groups_(model::groups_of(shared_->chooser.topology())) {}

Choice Choices::ask(const model::Question& q, bool mixed, bool tries, std::vector<Choice>* contestants) const {
  const std::lock_guard lock(shared_->mutex);
  std::vector<model::Candidate> all;
  if (mixed) {
    const Status s = shared_->chooser.table(q, &all);
    const auto found = std::find_if(all.begin(), all.end(), [](const model::Candidate& c) { return c.raw_inside; });
    if (s == Status::ok && found != all.end()) return choice_of(*found);
    // On one host there is nothing between: the same schedule, raw.
    Choice c = plain(q);
    if (q.schedule.empty() && schedule::find(q.collective, "hierarchical_ring")) c.schedule = "hierarchical_ring";
    const schedule::Algorithm* a = schedule::find(q.collective, c.schedule);
    c.raw_inside = a && a->uses_groups;
    return c;
  }
  model::Candidate best;
  if (shared_->chooser.choose(q, &best) != Status::ok) return plain(q);
  if (!(q.native || q.node) || (best.native && (!tries || best.seconds < least_to_try))) return choice_of(best);
  if (shared_->chooser.table(q, &all) != Status::ok) return choice_of(best);
  const auto own = std::find_if(all.begin(), all.end(), [](const model::Candidate& c) { return c.native; });
  if (own == all.end()) return choice_of(best);
  if (tries && own->seconds >= least_to_try) {
    contestants->push_back(choice_of(*own));
    for (const model::Candidate& c : all) {  // the cheapest first
      const bool other = !c.native || c.provider != own->provider;
      const bool close = other && c.seconds < worst_to_try * own->seconds && contestants->size() < most_to_try;
      const auto alike = [&](const Choice& tried) {
        return !c.native && tried.schedule == c.schedule && tried.kind == c.payload && tried.raw_inside == c.raw_inside;
      };
      if (close && std::none_of(contestants->begin(), contestants->end(), alike)) contestants->push_back(choice_of(c));
    }
    if (contestants->size() == 1) contestants->clear();
  }
  // Predictions are rough, and the native collective is what the program would have had: it goes only where much is to be gained.
  const bool enough = best.seconds < enough_of_native * own->seconds && best.seconds < own->seconds - least_gain;
  return choice_of(enough ? best : *own);
}

const Choices::Entry& Choices::entry(const Call& call, std::size_t bytes, bool compress, double ratio, Served native) {
  const stretto_options& o = call.settings.options;
  model::Question q;
  q.collective = schedule_collective(call.collective);
  q.bytes = bytes;
  q.element = static_cast<std::uint32_t>(call.collective == Collective::barrier ? 1 : stretto_type_size(call.type));
  q.root = rooted(call.collective) ? call.root : 0;
  q.keeps_order = needs_order(call);
  q.compress = compress;
  q.ratio = compress ? std::exp2(std::round(2 * std::log2(ratio)) / 2) : 1;  // data that change a little ask the same
  q.segment = o.segment;
  const bool mixed = compress && o.payload == STRETTO_PAYLOAD_MIXED;
  if (mixed)
    q.payload = static_cast<int>(payload::Kind::fused);
  else if (compress && o.payload != STRETTO_PAYLOAD_AUTO)
    q.payload = static_cast<int>(payload_kind(o.payload));
  else if (!compress)
    q.payload = static_cast<int>(payload::Kind::raw);
  // A payload that adds codes promises the same bits for every schedule, where it is asked for; and several inputs a rank are
  // always added as codes, or the result would depend on how they are shared out.
  const bool adds_codes = o.payload == STRETTO_PAYLOAD_HOMOMORPHIC || o.payload == STRETTO_PAYLOAD_FUSED;
  q.code_space = compress && (adds_codes || call.collective == Collective::allreduce_multi);
  q.native = native.mpi;
  q.node = native.node;
  q.schedule = call.settings.schedule;

  std::uint64_t h = mix(bytes, static_cast<std::uint64_t>(q.collective));
  h = mix(h, std::uint64_t{q.element} << 32 | static_cast<std::uint32_t>(q.root));
  h = mix(h, std::bit_cast<std::uint64_t>(q.ratio));
  const bool tries = o.trials && may_be_tried(call, compress);
  h = mix(h, static_cast<std::uint64_t>(q.payload + 1) << 8 | std::uint64_t{q.native} << 7 | std::uint64_t{tries} << 6 |
                 std::uint64_t{mixed} << 5 | std::uint64_t{q.code_space} << 4 | std::uint64_t{q.keeps_order} << 3 |
                 std::uint64_t{q.node} << 2);
  h = mix(h, q.segment ^ q.schedule.size());
  Entry& e = latest_[h % latest_.size()];
  if (!e.used || e.mixed != mixed || e.tries != tries || !same(e.question, q)) {
    Entry fresh;
    fresh.choice = ask(q, mixed, tries, &fresh.contestants);
    fresh.question = std::move(q);
    fresh.mixed = mixed;
    fresh.tries = tries;
    fresh.used = true;
    e = std::move(fresh);
  }
  e.key = mix(h, static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.op)) | 1;
  return e;
}

const Choice& Choices::choose(const Call& call, std::size_t bytes, bool compress, double ratio, Served native) {
  if (const auto forced = forced_native(call)) return forced_by(*forced);
  return entry(call, bytes, compress, ratio, native).choice;
}

const Choice& Choices::turn(const Call& call, std::size_t bytes, bool compress, double ratio, Served native,
                            bool begins, Trial* trial) {
  *trial = 0;
  if (const auto forced = forced_native(call)) return forced_by(*forced);
  const Entry& e = entry(call, bytes, compress, ratio, native);
  if (e.contestants.empty()) return e.choice;
  auto contest = contests_.find(e.key);
  if (contest == contests_.end()) {
    if (contests_.size() == most_contests) return e.choice;
    *trial = e.key;
    if (!begins) return e.contestants.front();
    contest = contests_.emplace(e.key, Tried{e.contestants, Contest(e.contestants.size())}).first;
  }
  const Tried& t = contest->second;
  if (!t.contest.settled()) *trial = e.key;
  return t.contestants[t.contest.turn()];
}

bool Choices::may_stream(const Call& call, std::size_t bytes, double ratio, Served native) {
  if (forced_native(call)) return false;
  const Entry& e = entry(call, bytes, true, ratio, native);
  const auto streams = [](const Choice& c) { return !c.native && c.kind != payload::Kind::raw; };
  if (call.nonblocking || e.contestants.empty()) return streams(e.choice);
  const auto found = contests_.find(e.key);
  if (found == contests_.end()) return std::any_of(e.contestants.begin(), e.contestants.end(), streams);
  const Tried& t = found->second;
  return std::any_of(t.contest.open().begin(), t.contest.open().end(),
                     [&](std::size_t i) { return streams(t.contestants[i]); });
}

bool Choices::took(Trial trial, double seconds) noexcept {
  const auto found = contests_.find(trial);
  return found != contests_.end() && found->second.contest.took(seconds);
}

std::vector<double> Choices::times(Trial trial) const { return contests_.at(trial).contest.times(); }

void Choices::settle(Trial trial, const std::vector<double>& slowest) noexcept {
  const auto found = contests_.find(trial);
  if (found != contests_.end()) found->second.contest.compare(slowest);
}

std::optional<double> Ratios::recall(const Call& call, std::size_t bytes) const noexcept {
  const std::uint64_t key = key_of(call, bytes);
  const Entry& e = entries_[key % entries_.size()];
  return e.key == key ? std::optional(e.ratio) : std::nullopt;
}

void Ratios::remember(const Call& call, std::size_t bytes, double ratio) noexcept {
  const std::uint64_t key = key_of(call, bytes);
  Entry& e = entries_[key % entries_.size()];
  if (e.key == key && e.ratio == ratio) return;
  e = {key, ratio};
  ++changes_;
}

}  // namespace stretto::api
