#include "api/choice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "api/mix.hpp"
#include "api/payloads.hpp"
#include "api/types.hpp"
#include "model/programs.hpp"
#include "schedule/floors.hpp"
#include "schedule/names.hpp"
#include "schedule/registry.hpp"

namespace stretto::api {
namespace {

// A schedule of ours is taken over the native collective where it is predicted to take less than this part of its time, and to
// gain this many seconds.
constexpr double enough_of_native = 0.75, least_gain = 200e-6;

// Trials, where the native collective is predicted to take at least `least_to_try` seconds: of what is predicted to take less than `worst`
// times as long, so many with it. Where calls are short, turns are cheap and predictions rough. They begin earlier where a node's memory may be
// copied in two ways, of which the one may take a third or thrice of the other's time, by what lies in whose caches.
constexpr double least_to_try = 10e-6, least_to_try_copies = 4e-6, brief = 1e-3;
constexpr std::size_t longest_untried = 1024;  // bytes of a vector
struct Trying {
  double worst;
  std::size_t most;
};
Trying trying(double own_seconds) noexcept { return own_seconds < brief ? Trying{3, 8} : Trying{1.5, 4}; }
constexpr std::size_t most_contests = 1024;  // shapes of a communicator; further ones run as predicted
constexpr std::size_t most_answers = 1024;

constexpr std::size_t default_segment = std::size_t{256} << 10;

bool same(const model::Question& a, const model::Question& b) noexcept {
  return a.collective == b.collective && a.bytes == b.bytes && a.element == b.element && a.root == b.root &&
         a.keeps_order == b.keeps_order && a.rank_by_rank == b.rank_by_rank && a.compress == b.compress &&
         a.code_space == b.code_space && a.native == b.native && a.node == b.node && a.node_streams == b.node_streams &&
         a.ratio == b.ratio && a.payload == b.payload && a.segment == b.segment && a.schedule == b.schedule;
}

// Two values have one sum and one product, whoever adds or multiplies them, each rounded once.
bool rounds_once(const Call& c, int ranks) noexcept {
  const bool wide = c.type == STRETTO_F32 || c.type == STRETTO_F64;
  return ranks <= 2 && wide && (c.op == STRETTO_SUM || c.op == STRETTO_PROD);
}

// A barrier cannot be tried: the agreement that begins a turn is one. Nothing is forced, and results depend on the way within the bound at
// most: not exact sums of floats that round more than once, nor a user's operation, nor integer sums with a bound, whose overflow only streams tell.
bool may_be_tried(const Call& c, bool compress, int ranks) noexcept {
  const stretto_options& o = c.settings.options;
  const bool floating = is_floating(c.type), sums = c.op != STRETTO_MIN && c.op != STRETTO_MAX;
  const bool rounds = c.op == STRETTO_USER || (floating && !rounds_once(c, ranks));
  const bool depends = reduces(c.collective) && (compress ? !floating && sums : rounds);
  return c.settings.schedule.empty() && o.payload == STRETTO_PAYLOAD_AUTO && o.segment == 0 && !depends &&
         c.collective != Collective::allreduce_multi && c.collective != Collective::barrier;
}

// A node's streams are forced by their payload, too; where only exact values will do, there are none.
const Choice& forced_by(model::Provider p, const Call& call, bool compress) {
  using payload::Kind;
  static const auto node = [](Kind kind) {
    return Choice{.native = true,
                  .provider = model::Provider::node,
                  .schedule = {},
                  .kind = kind,
                  .why = {.reason = Reason::forced}};
  };
  static const Choice mpi{
      .native = true, .provider = model::Provider::mpi, .schedule = {}, .why = {.reason = Reason::forced}};
  static const Choice raw = node(Kind::raw), fused = node(Kind::fused), homomorphic = node(Kind::homomorphic);
  if (p == model::Provider::mpi) return mpi;
  if (!compress) return raw;
  return payload_kind(call.settings.options.payload) == Kind::homomorphic ? homomorphic : fused;
}

Choice choice_of(const model::Candidate& c, Reason reason = Reason::forced, double mpi_seconds = 0) {
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
  choice.why = {reason, static_cast<float>(c.seconds), static_cast<float>(mpi_seconds)};
  return choice;
}

// `raw`: a native collective of raw values was among the candidates.
Reason reason_of(const model::Question& q, bool raw, const model::Candidate& taken) {
  if (!q.schedule.empty() || q.payload > static_cast<int>(payload::Kind::raw)) return Reason::forced;
  if (raw) return taken.assumed ? Reason::assumed : Reason::predicted;
  return q.code_space && (q.native || q.node) ? Reason::rounding : Reason::alone;
}

// Where the model knows no way, what is right at any size.
Choice plain(const model::Question& q) {
  Choice c;
  c.schedule =
      q.schedule.empty() ? schedule::default_algorithm(q.collective, q.keeps_order, q.rank_by_rank).name : q.schedule;
  if (q.compress) c.kind = q.payload >= 0 ? static_cast<payload::Kind>(q.payload) : payload::Kind::fused;
  c.segment = q.segment > 0 ? static_cast<std::size_t>(q.segment) : default_segment;
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

Choices::Asked Choices::put(const Call& call, std::size_t bytes, Streaming streams, double ratio, Served native) const {
  const stretto_options& o = call.settings.options;
  const bool compress = streams.may;
  Asked a;
  model::Question& q = a.question;
  q.collective = schedule_collective(call.collective);
  q.bytes = bytes;
  q.element = static_cast<std::uint32_t>(call.collective == Collective::barrier ? 1 : stretto_type_size(call.type));
  q.root = rooted(call.collective) ? call.root : 0;
  q.keeps_order = needs_order(call);
  q.rank_by_rank = !compress && rank_by_rank(call);  // sums of codes are the same in any order
  q.compress = compress;
  q.ratio = compress ? model::power_of_two(4 * std::lround(2 * std::log2(ratio)))
                     : 1;  // data that change a little ask the same
  q.segment = o.segment;
  a.mixed = compress && o.payload == STRETTO_PAYLOAD_MIXED;
  if (a.mixed)
    q.payload = static_cast<int>(payload::Kind::fused);
  else if (compress && o.payload != STRETTO_PAYLOAD_AUTO)
    q.payload = static_cast<int>(payload_kind(o.payload));
  else if (!compress)
    q.payload = static_cast<int>(payload::Kind::raw);
  // A payload that adds codes promises the same bits for every schedule, where it is asked for; and several inputs a rank are
  // always added as codes, or the result would depend on how they are shared out.
  const bool adds_codes = o.payload == STRETTO_PAYLOAD_HOMOMORPHIC || o.payload == STRETTO_PAYLOAD_FUSED;
  q.code_space = compress && (adds_codes || streams.alone || call.collective == Collective::allreduce_multi);
  q.native = native.mpi;
  q.node = native.node;
  q.node_streams = compress && native.streams;
  q.schedule = call.settings.schedule;
  q = model::on_grid(std::move(q));
  a.otherwise = native.otherwise;
  a.tries = o.trials && may_be_tried(call, compress, shared_->chooser.topology().ranks());

  std::uint64_t h = mix(q.bytes, static_cast<std::uint64_t>(q.collective));
  h = mix(h, std::uint64_t{q.element} << 32 | static_cast<std::uint32_t>(q.root));
  h = mix(h, std::bit_cast<std::uint64_t>(q.ratio));
  h = mix(h, static_cast<std::uint64_t>(q.payload + 1) << 16 | std::uint64_t{q.rank_by_rank} << 15 |
                 std::uint64_t{a.otherwise} << 8 | std::uint64_t{q.native} << 7 | std::uint64_t{a.tries} << 6 |
                 std::uint64_t{a.mixed} << 5 | std::uint64_t{q.code_space} << 4 | std::uint64_t{q.keeps_order} << 3 |
                 std::uint64_t{q.node} << 2 | std::uint64_t{q.compress} << 1 | std::uint64_t{q.node_streams});
  a.cell = mix(h, q.segment ^ q.schedule.size());
  a.trial = mix(a.cell, static_cast<std::uint64_t>(call.type) << 8 | static_cast<std::uint64_t>(call.op)) | 1;
  return a;
}

Choices::Answer& Choices::answer(Asked&& asked) {
  const auto found = answers_.find(asked.cell);
  if (found != answers_.end() && found->second.asked.mixed == asked.mixed && found->second.asked.tries == asked.tries &&
      found->second.asked.otherwise == asked.otherwise && same(found->second.asked.question, asked.question))
    return found->second;
  const model::Question& q = asked.question;
  Answer fresh;
  const std::lock_guard lock(shared_->mutex);
  model::Candidate best, own;
  double mpi_seconds = 0;
  if (asked.mixed) {
    fresh.choice = mixed(shared_->chooser, q);
    fresh.choice.why.reason = Reason::forced;
  } else if (shared_->chooser.choose(q, &best, &own, &mpi_seconds) != Status::ok) {
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
    const double least = asked.otherwise ? least_to_try_copies : least_to_try;
    fresh.open = asked.tries && own.native && own.seconds >= least && q.bytes > longest_untried;
  }
  if (answers_.size() >= most_answers) answers_.clear();
  const std::uint64_t cell = asked.cell;
  fresh.asked = std::move(asked);
  return answers_.insert_or_assign(cell, std::move(fresh)).first->second;
}

const std::vector<Choice>& Choices::contestants(Answer& a) const {
  if (a.contestants) return *a.contestants;
  std::vector<Choice>& found = a.contestants.emplace();
  std::vector<model::Candidate> all;
  const std::lock_guard lock(shared_->mutex);
  if (shared_->chooser.table(a.asked.question, &all) != Status::ok) return found;
  const auto own = std::find_if(all.begin(), all.end(),
                                [](const model::Candidate& c) { return c.native && c.payload == payload::Kind::raw; });
  if (own == all.end()) return found;
  // Of the node's, how it copies is tried as well: the faster way depends on where the ranks are placed and on what lies in their caches.
  const Trying limits = trying(own->seconds);
  const double mpi_seconds = model::Chooser::mpi_seconds(all);
  const auto enter = [&](const model::Candidate& c) {
    found.push_back(choice_of(c, Reason::winner, mpi_seconds));  // when its trial is over
    const bool of_node = c.native && c.provider == model::Provider::node && c.payload == payload::Kind::raw;
    if (!a.asked.otherwise || !of_node || found.size() == limits.most) return;
    found.push_back(found.back());
    found.back().otherwise = true;
  };
  enter(*own);
  for (const model::Candidate& c : all) {  // the cheapest first
    const bool other = !c.native || c.provider != own->provider || c.payload != own->payload;
    const bool close = other && c.seconds < limits.worst * own->seconds && found.size() < limits.most;
    const auto alike = [&](const Choice& tried) {
      return !c.native && tried.schedule == c.schedule && tried.kind == c.payload && tried.raw_inside == c.raw_inside;
    };
    if (close && std::none_of(found.begin(), found.end(), alike)) enter(c);
  }
  if (found.size() == 1) found.clear();
  return found;
}

const Choice& Choices::choose(const Call& call, std::size_t bytes, Streaming streams, double ratio, Served native) {
  if (const auto forced = forced_native(call)) return forced_by(*forced, call, streams.may);
  return answer(put(call, bytes, streams, ratio, native)).choice;
}

const Choice& Choices::turn(const Call& call, std::size_t bytes, Streaming streams, double ratio, Served native,
                            bool begins, Trial* trial, Unasked* unasked) {
  *trial = 0;
  if (const auto forced = forced_native(call)) return forced_by(*forced, call, streams.may);
  Asked asked = put(call, bytes, streams, ratio, native);
  const Trial key = asked.trial;
  auto contest = contests_.find(key);
  if (contest == contests_.end()) {
    Answer& a = answer(std::move(asked));
    if (!a.open || contests_.size() == most_contests) return a.choice;
    if (!ran_once_.contains(key)) {
      if (begins) ran_once_.insert(key);
      if (unasked) unasked->first = key;
      return a.choice;
    }
    const std::vector<Choice>& all = contestants(a);
    if (all.empty()) return a.choice;
    *trial = key;
    if (!begins) return all.front();
    // Both ways of the node's to copy, where they are what is to be beaten.
    const std::size_t alike = all.size() > 1 && all[1].otherwise ? 2 : 1;
    contest = contests_.emplace(key, Tried{all, Course(all.size(), all.front().why.seconds, alike)}).first;
  }
  Tried& t = contest->second;
  const Choice& now = t.contestants[t.course.contest().turn()];
  if (!t.course.contest().settled()) {
    *trial = key;
  } else {
    if (unasked) unasked->course = &t.course;
    if (begins) t.course.ran();
  }
  return now;
}

void Choices::ran(const Unasked& unasked) noexcept {
  if (unasked.first != 0) ran_once_.insert(unasked.first);
  if (unasked.course) unasked.course->ran();
}

bool Choices::may_stream(const Call& call, std::size_t bytes, double ratio, Served native) {
  if (forced_native(call)) return false;
  Asked asked = put(call, bytes, true, ratio, native);
  const Trial key = asked.trial;
  const auto travels = [](const Choice& c) { return c.kind != payload::Kind::raw; };
  const auto found = call.nonblocking ? contests_.end() : contests_.find(key);
  if (found != contests_.end()) {
    const Tried& t = found->second;
    const std::vector<std::size_t>& open = t.course.contest().open();
    return std::any_of(open.begin(), open.end(), [&](std::size_t i) { return travels(t.contestants[i]); });
  }
  Answer& a = answer(std::move(asked));
  const bool tried = a.open && !call.nonblocking && contests_.size() < most_contests && ran_once_.contains(key);
  if (!tried || contestants(a).empty()) return travels(a.choice);
  return std::any_of(a.contestants->begin(), a.contestants->end(), travels);
}

bool Choices::meets(Trial trial) const noexcept {
  const auto found = contests_.find(trial);
  return trial != 0 && (found == contests_.end() || found->second.course.contest().begins());
}

bool Choices::took(Trial trial, double seconds) noexcept {
  const auto found = contests_.find(trial);
  return found != contests_.end() && found->second.course.took(seconds);
}

std::vector<double> Choices::times(Trial trial) const { return contests_.at(trial).course.contest().times(); }

void Choices::settle(Trial trial, const std::vector<double>& slowest) noexcept {
  const auto found = contests_.find(trial);
  if (found != contests_.end()) found->second.course.compare(slowest);
}

}  // namespace stretto::api
