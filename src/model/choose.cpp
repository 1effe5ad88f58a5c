#include "model/choose.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "model/candidates.hpp"
#include "model/native.hpp"
#include "model/walk/clock.hpp"
#include "schedule/names.hpp"

namespace stretto::model {
namespace {

// Cells of the cache: eight a factor of two. A cell is answered for its middle, so that an answer does not depend on what was
// asked before.
constexpr double cells = 8;                // power_of_two has as many
constexpr std::uint64_t exact_below = 16;  // bytes that are cells of their own

int cell_of(std::uint64_t bytes) noexcept {
  if (bytes < exact_below) return -static_cast<int>(bytes) - 1;
  return static_cast<int>(std::lround(cells * std::log2(static_cast<double>(bytes))));
}
std::uint64_t middle_of(int cell) noexcept {
  if (cell < 0) return static_cast<std::uint64_t>(-cell - 1);
  return static_cast<std::uint64_t>(std::llround(power_of_two(cell)));
}
int ratio_cell_of(double ratio) noexcept {
  return ratio <= 1 ? 0 : static_cast<int>(std::lround(cells * std::log2(std::min(ratio, 1e6))));
}

struct Key {
  int bytes, ratio, root, payload;
  std::uint64_t segment, raw_below;
  std::uint32_t element;
  std::uint8_t collective;
  std::uint16_t flags;
  std::string schedule;
  friend bool operator==(const Key&, const Key&) = default;
};

struct Hash {
  std::size_t operator()(const Key& k) const noexcept {
    std::size_t h = std::hash<std::string>{}(k.schedule);
    const auto mix = [&h](std::uint64_t x) { h = (h ^ x) * 0x9E3779B97F4A7C15u + (h >> 29); };
    mix(static_cast<std::uint32_t>(k.bytes));
    mix(static_cast<std::uint32_t>(k.ratio));
    mix(static_cast<std::uint32_t>(k.root));
    mix(static_cast<std::uint32_t>(k.payload));
    mix(k.segment);
    mix(k.raw_below);
    mix(k.element);
    mix(std::uint64_t{k.collective} << 16 | k.flags);
    return h;
  }
};

Key key_of(const Question& q) {
  const auto bit = [](bool on, int i) { return static_cast<std::uint16_t>(on ? 1 << i : 0); };
  return {
      cell_of(q.bytes),
      q.compress ? ratio_cell_of(q.ratio) : 0,
      schedule::rooted(q.collective) ? q.root : 0,
      q.payload,
      q.segment,
      q.raw_below,
      q.element,
      static_cast<std::uint8_t>(q.collective),
      static_cast<std::uint16_t>(bit(q.keeps_order, 0) | bit(q.compress, 1) | bit(q.code_space, 2) | bit(q.native, 3) |
                                 bit(q.node, 4) | bit(q.node_streams, 5) | bit(q.rank_by_rank, 6) | bit(q.exact, 7) |
                                 bit(q.device, 8) | bit(q.staged, 9) | bit(q.natives, 10) | bit(q.contest, 11)),
      q.schedule};
}

std::size_t acts_of(const Programs& programs) {
  std::size_t n = 0;
  for (const Program& p : programs.all) n += p.acts.size();
  return n;
}

constexpr std::size_t most_answers = 4096;         // kept; then all are forgotten
constexpr std::size_t most_programs = 128;         // the same
constexpr std::size_t steps_a_choice = 1'000'000;  // a schedule with more to walk is no candidate;
constexpr std::size_t steps_of_many = 50'000;      // nor one that does not fold and has more than that;
constexpr std::size_t steps_for_all = 20'000;      // and of one with more only few segments are looked at

// Nothing would hide the copies of a longer message through pinned memory, which the walk does not see (docs/gpu.md). The longest segment.
constexpr double longest_staged = 4.0 * 1024 * 1024;

// Ranks that are walked one by one where they do not fold; more are taken for a job of as many hosts, all as full as the fullest.
constexpr int most_irregular = 96;

topology::Topology stand_in(const topology::Topology& t) {
  if (t.ranks() <= most_irregular) return t;
  std::size_t most = 1;
  bool in_a_row = t.uniform();
  for (int h = 0; h < t.hosts(); ++h) {
    const auto ranks = t.ranks_of(h);
    most = std::max(most, ranks.size());
    in_a_row = in_a_row && ranks.back() - ranks.front() + 1 == static_cast<std::int32_t>(ranks.size());
  }
  if (in_a_row) return t;
  return topology::Topology::regular(t.hosts() * static_cast<int>(most), static_cast<int>(most));
}

// And where messages of a schedule grow or shrink, as those of recursive halving do: streams, but for the shorter ones. Not where
// floors decide what travels raw. For sums that raw values would round only where that is asked for: those of streams are exact.
std::vector<Candidate> with_short_messages_raw(const Option& option, const Question& q, const Programs& programs,
                                               double block, double even_cost) {
  std::vector<Candidate> ways = option.ways;
  const bool rounds = schedule::reduces(q.collective) && !q.exact;
  const bool unsuited = option.algorithm->uses_groups || option.algorithm->ranks_differ;
  const auto [shortest, longest] = lengths_of(programs);
  if (q.raw_below > 0 && q.compress) {
    const auto streams = [](const Candidate& c) { return c.payload != payload::Kind::raw; };
    if (unsuited) std::erase_if(ways, streams);
    for (Candidate& c : ways)
      // Blocks on the grid may be a little longer than those of the call.
      if (streams(c) && 1.1 * static_cast<double>(q.raw_below) > shortest * block) c.raw_below = q.raw_below;
    return ways;
  }
  if (!q.compress || q.code_space || rounds || q.payload >= 0 || unsuited) return ways;
  for (const double bytes : {even_cost, 4 * even_cost}) {
    if (!(bytes > shortest * block && bytes <= longest * block)) continue;
    for (Candidate c : option.ways) {
      if (c.payload != payload::Kind::fused) continue;
      c.raw_below = static_cast<std::uint64_t>(bytes);
      ways.push_back(std::move(c));
    }
  }
  return ways;
}

}  // namespace

struct Chooser::Impl {
  Profile profile;
  topology::Topology topology;
  topology::Topology walked;  // the topology, or what stands for it
  struct Answer {
    Candidate best, own;     // own: the cheapest native collective, if there is one
    double mpi_seconds = 0;  // of the MPI's
  };
  std::unordered_map<Key, Answer, Hash> answers;
  using ProgramsKey = std::tuple<const schedule::Algorithm*, int, int, int>;  // root, blocks, radix
  mutable std::map<ProgramsKey, std::unique_ptr<Programs>> programs;          // null: too many steps

  const Programs* programs_for(const Option& option, int root) const {
    const ProgramsKey key{option.algorithm, root, option.blocks, option.radix};
    if (const auto found = programs.find(key); found != programs.end()) return found->second.get();
    if (programs.size() >= most_programs) programs.clear();
    schedule::Request request;
    request.collective = option.algorithm->collective;
    request.ranks = walked.ranks();
    request.root = std::min(root, walked.ranks() - 1);
    request.blocks = option.blocks;
    request.radix = option.radix > 0 ? option.radix : 2;
    Folding folding;
    folding.cores = topology.cores_per_host() > 0 ? topology.cores_per_host() : profile.cores;
    folding.most = steps_a_choice;
    auto made = std::make_unique<Programs>();
    const bool done = make_programs(*option.algorithm, request, walked, folding, made.get()) == Status::ok;
    const bool many = done && made->period == made->ranks && made->ranks > most_irregular;
    if (!done || (many && acts_of(*made) > steps_of_many)) made.reset();
    return programs.emplace(key, std::move(made)).first->second.get();
  }

  Status table(const Question& q, bool all_of_them, std::vector<Candidate>* all) const;
};

// The cheapest first. Of those that are not the cheapest, unless all are wanted, only some.
Status Chooser::Impl::table(const Question& q, bool all_of_them, std::vector<Candidate>* all) const {
  all->clear();
  std::string why;
  const Machine machine =
      q.device ? machine_on_device(profile, q.element, q.ratio, 1, q.staged) : machine_of(profile, q.element, q.ratio);
  // Of a candidate: a device's depends on the streams that its segments are on.
  const auto machine_for = [&](const Candidate& c) {
    return q.device ? machine_on_device(profile, q.element, q.ratio, c.lanes, q.staged) : machine;
  };
  const int root = schedule::rooted(q.collective) ? q.root : 0;
  const auto bytes = static_cast<double>(q.bytes);
  const double grain =
      schedule::reduces(q.collective) || q.collective == schedule::Collective::bcast ? 1024.0 * q.element : 0;
  // A device's native collective is NCCL's. An MPI without a measurement is taken to run the best of our flat schedules
  // on raw values, those for a torus left out, and to take no time for a step.
  const bool native = (q.native || q.node) && own_may_serve(q);
  double native_seconds = INFINITY;
  const auto measured_by = [&](Provider provider) {
    return measured_native(profile, provider, q.collective, topology.ranks(), topology.hosts(), bytes);
  };
  const auto own_seconds = [&] {
    return q.device ? nccl_seconds(profile, topology, q.collective, bytes)
                    : measured_by(Provider::mpi).value_or(INFINITY);
  };
  const double measured = native ? own_seconds() : INFINITY;
  const std::optional<double> node_measured = measured_by(Provider::node);
  const bool guessed = native && !q.device && !std::isfinite(measured);
  // What is guessed of the node's collective is a part of what is guessed of the MPI's, whatever that is.
  const bool too_short = q.contest && q.native && longest_worthwhile(measured) <= 0;
  const bool natives_alone = (q.natives || too_short) && native && !q.device && !(guessed && node_measured);
  const std::vector<Option> options = natives_alone ? std::vector<Option>() : options_for(q, topology, &why);
  const double even_cost = break_even(machine);
  Machine stepless = machine;
  stepless.step = 0;
  // A walk that is seen to take longer than the best so far ends there.
  const bool contest = q.contest && native && q.native && !all_of_them;
  double least = all_of_them || !q.native ? INFINITY : contest ? longest_worthwhile(measured) : measured;

  // Those with one way to cut first: they fold, most of them, and one of them is seldom far from the best.
  std::vector<const Option*> order;
  order.reserve(options.size());
  for (const Option& option : options) order.push_back(&option);
  std::stable_partition(order.begin(), order.end(), [](const Option* o) { return o->blocks == 0 && o->radix == 0; });
  // In a contest the MPI's own is guessed first: its time tells which schedules are worth a walk. Raw ways of schedules
  // that MPIs have are walked for the guess alone, as they do not undercut it.
  enum class Guess : std::uint8_t { beside, alone, no };
  const auto walk = [&](const Option& option, Guess guess) {
    const Programs* programs = programs_for(option, root);
    if (programs == nullptr) return;
    // Collectives with blocks of their own cut nothing at grains; in those with ours, folded programs have even blocks.
    const bool even = programs->period < programs->ranks || q.collective == schedule::Collective::reduce_scatter;
    // Of an alltoall every rank holds the blocks of one row.
    const double whole = q.collective == schedule::Collective::alltoall ? bytes * walked.ranks() : bytes;
    Run run{whole, 0, even ? 0 : grain, true};
    const double block = programs->blocks > 0 ? whole / programs->blocks : 0;
    const bool few = q.segment == 0 && acts_of(*programs) > steps_for_all;
    for (Candidate c : with_short_messages_raw(option, q, *programs, block, even_cost)) {
      if (few && c.segment > 0 && c.segment != (1u << 20)) continue;
      if (q.segment == 0 && c.segment > 0 && static_cast<double>(c.segment) >= block) continue;
      if (q.segment == 0 && c.segment == 0 && q.staged && block > longest_staged) continue;
      run.segment = static_cast<double>(c.segment);
      const bool an_mpi_has_it = !option.algorithm->uses_groups && !option.algorithm->uses_torus;
      const bool guesses = guessed && c.payload == payload::Kind::raw && an_mpi_has_it;
      if (guesses && guess != Guess::no) {
        run.enough = native_seconds;
        native_seconds = std::min(native_seconds, predict(*programs, {}, stepless, run).seconds);
        if (!all_of_them && q.native && !contest) least = std::min(least, native_seconds);
      }
      if (guess == Guess::alone || (guesses && guess == Guess::no)) continue;
      run.enough = least;
      const System system = system_of(c.payload, c.raw_inside, static_cast<double>(c.raw_below));
      if (q.device)
        c.lanes = lanes_for(profile, q.element, q.ratio, c.payload != payload::Kind::raw, block, run.segment);
      c.seconds = predict(*programs, system, machine_for(c), run).seconds;
      if (!all_of_them) least = std::min(least, c.seconds);
      if (all_of_them || c.seconds <= least) all->push_back(std::move(c));
    }
  };
  if (contest && guessed) {
    for (const Option* next : order) walk(*next, Guess::alone);
    least = longest_worthwhile(native_seconds);
  }
  if (least > 0)
    for (const Option* next : order) walk(*next, contest && guessed ? Guess::no : Guess::beside);
  native_seconds = natives_alone && guessed ? 1 : std::min(native_seconds, measured);
  if (native && q.native && std::isfinite(native_seconds)) {
    Candidate c;
    c.native = true;
    c.provider = Provider::mpi;
    c.seconds = native_seconds;
    all->push_back(c);
  }
  const int cores = topology.cores_per_host() > 0 ? topology.cores_per_host() : profile.cores;
  const double mpi = measured_by(Provider::mpi).value_or(INFINITY);
  const double unmeasured = std::min(mpi, native_seconds) * unmeasured_node(topology.ranks());
  double node = node_measured.value_or(unmeasured);
  if (scattered(topology.ranks(), cores, bytes)) node = std::min(node, unmeasured);
  if (native && q.node && std::isfinite(node)) {
    Candidate c;
    c.native = true;
    c.provider = Provider::node;
    c.seconds = node;
    c.assumed = !node_measured;
    all->push_back(c);
  }
  if (node_may_stream(q)) {
    // Where nothing is known, values go in and out of shared memory.
    const double raw = std::isfinite(std::min(node, mpi)) ? std::min(node, mpi) : machine.copy.of(2 * bytes);
    Candidate c;
    c.native = true;
    c.provider = Provider::node;
    c.payload = q.payload < 0 ? payload::Kind::fused : static_cast<payload::Kind>(q.payload);
    c.seconds = streamed_node(machine, q.collective, topology.ranks(), cores, bytes, raw);
    if (std::isfinite(c.seconds)) all->push_back(c);
  }
  if (all->empty()) {
    if (why.empty())
      why = fmt::format("no schedule of {} can be walked for {} ranks", name(q.collective), topology.ranks());
    return fail(Status::unsupported, "{}", why);
  }
  std::stable_sort(all->begin(), all->end(), [](const Candidate& a, const Candidate& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.native && !b.native;
  });
  if (natives_alone && guessed)
    for (Candidate& c : *all) c.seconds = 0;
  return Status::ok;
}

double power_of_two(long eighths) noexcept {
  static constexpr double roots[8] = {0x1p+0,
                                      0x1.172b83c7d517bp+0,
                                      0x1.306fe0a31b715p+0,
                                      0x1.4bfdad5362a27p+0,
                                      0x1.6a09e667f3bcdp+0,
                                      0x1.8ace5422aa0dbp+0,
                                      0x1.ae89f995ad3adp+0,
                                      0x1.d5818dcfba487p+0};
  return std::ldexp(roots[eighths & 7], static_cast<int>(eighths >> 3));
}

Question on_grid(Question q) noexcept {
  q.bytes = middle_of(cell_of(q.bytes));
  if (q.compress) q.ratio = power_of_two(ratio_cell_of(q.ratio));
  return q;
}

Chooser::Chooser(Profile profile, topology::Topology topology) : impl_(std::make_unique<Impl>()) {
  impl_->topology = on_network(profile, std::move(topology));
  impl_->walked = stand_in(impl_->topology);
  impl_->profile = std::move(profile);
}
Chooser::~Chooser() = default;
Chooser::Chooser(Chooser&&) noexcept = default;
Chooser& Chooser::operator=(Chooser&&) noexcept = default;

double Chooser::mpi_seconds(const std::vector<Candidate>& all) noexcept {
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.native && c.provider == Provider::mpi; });
  return found != all.end() ? found->seconds : 0;
}

Status Chooser::choose(const Question& question, Candidate* best, Candidate* own, double* mpi_seconds) {
  Key key = key_of(question);
  auto found = impl_->answers.find(key);
  if (found == impl_->answers.end()) {
    std::vector<Candidate> all;
    if (const Status s = impl_->table(on_grid(question), false, &all); s != Status::ok) return s;
    if (impl_->answers.size() >= most_answers) impl_->answers.clear();
    const auto native = std::find_if(all.begin(), all.end(),
                                     [](const Candidate& c) { return c.native && c.payload == payload::Kind::raw; });
    Impl::Answer answer{all.front(), native != all.end() ? *native : Candidate{}, Chooser::mpi_seconds(all)};
    found = impl_->answers.emplace(std::move(key), std::move(answer)).first;
  }
  *best = found->second.best;
  if (own) *own = found->second.own;
  if (mpi_seconds) *mpi_seconds = found->second.mpi_seconds;
  return Status::ok;
}

Status Chooser::table(const Question& question, std::vector<Candidate>* all) const {
  return impl_->table(question, true, all);
}

const Profile& Chooser::profile() const noexcept { return impl_->profile; }
const topology::Topology& Chooser::topology() const noexcept { return impl_->topology; }

}  // namespace stretto::model
