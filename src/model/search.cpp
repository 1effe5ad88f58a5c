#include "model/search.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "model/native.hpp"
#include "model/walk/clock.hpp"
#include "model/walk/system.hpp"

namespace stretto::model {
namespace {

constexpr std::size_t kMostPrograms = 128;
constexpr std::size_t kStepsAChoice = 1'000'000;  // a schedule with more is no candidate
constexpr std::size_t kStepsOfMany = 50'000;      // limit for schedules that do not fold
constexpr std::size_t kStepsForAll = 20'000;

// Longer segments are not walked: nothing hides their copies through pinned memory.
constexpr double kLongestStaged = 4.0 * 1024 * 1024;

// Ranks walked without folding. In larger jobs all hosts count as full as the fullest.
constexpr int kMostIrregular = 96;

// A line is dropped if its first candidate takes this many times the best time: other segments gain less, except where
// kernels have a least time.
constexpr double kNearOnHost = 1.25, kNearOnDevice = 1e6;

// A call costs more than the bytes of the shortest segment.
bool launches_kernels(const Machine& machine) noexcept { return machine.fused.call > 65536 * machine.fused.byte; }

// Drops other numbers of pieces likewise, by a moderate one.
constexpr double kNearInPieces = 1.6;
constexpr int kModeratePieces = 16;

std::size_t acts_of(const Programs& programs) {
  std::size_t n = 0;
  for (const Program& p : programs.all) n += p.acts.size();
  return n;
}

topology::Topology stand_in(const topology::Topology& t) {
  if (t.ranks() <= kMostIrregular) return t;
  std::size_t most = 1;
  bool in_a_row = t.uniform();
  for (int h = 0; h < t.hosts(); ++h) {
    const auto ranks = t.ranks_of(h);
    most = std::max(most, ranks.size());
    in_a_row = in_a_row && ranks.back() - ranks.front() + 1 == static_cast<std::int32_t>(ranks.size());
  }
  if (in_a_row) return t;
  topology::Topology regular = topology::Topology::regular(t.hosts() * static_cast<int>(most), static_cast<int>(most));
  regular.share_cores(t.core_part());
  return regular;
}

// If messages differ in length. Not for schedules that are raw inside hosts, nor, unless requested, for sums that raw
// values would round.
std::vector<Candidate> with_short_messages_raw(const Option& option, const Question& q, const Programs& programs,
                                               double block, double even_cost) {
  std::vector<Candidate> ways = option.ways;
  if (!q.compress) return ways;
  const bool rounds = schedule::reduces(q.collective) && !q.exact;
  const bool unsuited = option.algorithm->uses_groups || option.algorithm->ranks_differ;
  if (q.raw_below == 0 && (q.code_space || rounds || q.payload >= 0 || unsuited)) return ways;
  const auto [shortest, longest] = lengths_of(programs);
  if (q.raw_below > 0) {
    const auto streams = [](const Candidate& c) { return c.payload != payload::Kind::raw; };
    if (unsuited) std::erase_if(ways, streams);
    for (Candidate& c : ways)
      // The grid's blocks may be slightly longer than the call's.
      if (streams(c) && 1.1 * static_cast<double>(q.raw_below) > shortest * block) c.raw_below = q.raw_below;
    return ways;
  }
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

bool of_one_line(const Candidate& a, const Candidate& b) noexcept {
  return a.payload == b.payload && a.raw_inside == b.raw_inside && a.raw_below == b.raw_below;
}

bool of_one_schedule(const Option& a, const Option& b) noexcept {
  return a.algorithm == b.algorithm && a.radix == b.radix;
}

// Schedules without pieces come first: most fold, and one is usually near the optimum. Then, per schedule, a moderate
// number of pieces, fewer, and more.
std::vector<const Option*> in_order(const std::vector<Option>& options) {
  std::vector<const Option*> order;
  order.reserve(options.size());
  for (const Option& option : options) order.push_back(&option);
  const auto place = [](const Option* o) {
    const bool moderate = o->blocks <= kModeratePieces;
    return std::tuple(o->blocks != 0 || o->radix != 0, o->algorithm, o->radix, !moderate,
                      moderate ? -o->blocks : o->blocks);
  };
  std::sort(order.begin(), order.end(), [&](const Option* a, const Option* b) { return place(a) < place(b); });
  return order;
}

}  // namespace

ProgramsKept::ProgramsKept(const topology::Topology& topology, int cores)
    : topology_(stand_in(topology)), groups_(groups_of(topology_)), cores_(cores) {}

const Programs* ProgramsKept::of(const Option& option, int root) {
  const Key key{option.algorithm, root, option.blocks, option.radix};
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second.get();
  schedule::Request request;
  request.collective = option.algorithm->collective;
  request.ranks = ranks();
  request.root = std::min(root, ranks() - 1);
  request.blocks = option.blocks;
  request.radix = option.radix > 0 ? option.radix : 2;
  request.groups = &groups_;
  Folding folding;
  folding.cores = cores_;
  folding.most = kStepsAChoice;
  auto made = std::make_unique<Programs>();
  const bool done = make_programs(*option.algorithm, request, topology_, folding, made.get()) == Status::ok;
  const bool many = done && made->period == made->ranks && made->ranks > kMostIrregular;
  if (!done || (many && acts_of(*made) > kStepsOfMany)) made.reset();
  return kept_.emplace(key, std::move(made)).first->second.get();
}

void ProgramsKept::forget_if_full() {
  if (kept_.size() >= kMostPrograms) kept_.clear();
}

namespace {

// On a device only the shorter messages of dense streams are known.
double ratio_of(const Question& q, bool dense) { return dense ? q.dense_ratio : q.ratio; }

Machine machine_for(const Profile& profile, const Question& q, bool dense) {
  if (q.device) return machine_on_device(profile, q.element, ratio_of(q, dense), 1, q.staged, q.reaching);
  Machine m =
      dense ? machine_of_dense(profile, q.element, q.ratio, q.dense_ratio) : machine_of(profile, q.element, q.ratio);
  if (!q.compress && q.bytes <= kShortCall && !profile.short_calls.empty())
    m.links[static_cast<std::size_t>(topology::Distance::network)] = profile.short_calls;
  return m;
}

}  // namespace

Search::Search(ProgramsKept& kept, const Profile& profile, const Question& question, bool dense)
    : kept_(kept),
      profile_(profile),
      question_(question),
      ratio_(ratio_of(question, dense)),
      machine_(machine_for(profile, question, dense)),
      stepless_(machine_),
      even_cost_(break_even(machine_)) {
  stepless_.step = 0;
  if (takes_turns()) stepless_.full_duplex = false;
}

// The shortest message of a native collective is taken to be one rank's share.
bool Search::takes_turns() const noexcept {
  const bool between = kept_.hosts() > 1 && !question_.device;
  return between && profile_.eager_limit > 0 &&
         question_.bytes / static_cast<std::uint64_t>(kept_.ranks()) > profile_.eager_limit;
}

double Search::whole() const noexcept {
  const bool row = question_.collective == schedule::Collective::alltoall;
  return static_cast<double>(question_.bytes) * (row ? kept_.ranks() : 1);
}

std::vector<Search::Line> Search::lines_of(const Option& option) {
  const Question& q = question_;
  const Programs* programs = kept_.of(option, schedule::rooted(q.collective) ? q.root : 0);
  if (programs == nullptr) return {};
  const double block = programs->blocks > 0 ? whole() / programs->blocks : 0;
  const bool few = q.segment == 0 && acts_of(*programs) > kStepsForAll;
  const bool flat = !option.algorithm->uses_groups && !option.algorithm->uses_torus;
  // Whole vectors pass between two hosts once: no other path is shorter.
  const bool by_host = kept_.hosts() == 2 && goes_by_host(profile_.mpi, q, kept_.topology());
  std::vector<Line> lines;
  for (Candidate& c : with_short_messages_raw(option, q, *programs, block, even_cost_)) {
    if (few && c.segment > 0 && c.segment != (1u << 20)) continue;
    if (q.segment == 0 && c.segment > 0 && static_cast<double>(c.segment) >= block) continue;
    if (q.segment == 0 && c.segment == 0 && q.staged && block > kLongestStaged) continue;
    const auto found =
        std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return of_one_line(l.ways[0], c); });
    if (found != lines.end()) {
      found->ways.push_back(std::move(c));
      continue;
    }
    const bool raw = c.payload == payload::Kind::raw;
    lines.push_back({programs, {std::move(c)}, flat && raw, by_host && raw});
  }
  return lines;
}

namespace {

// Only reductions and broadcasts cut at grains; folded programs have even blocks.
Run run_of(const Question& q, const Programs& programs, double whole, std::uint64_t segment, double enough) {
  using schedule::Collective;
  const bool cuts = schedule::reduces(q.collective) || q.collective == Collective::bcast;
  const bool even = programs.period < programs.ranks || q.collective == Collective::reduce_scatter;
  return {.bytes = whole,
          .segment = static_cast<double>(segment),
          .grain = cuts && !even ? 1024.0 * q.element : 0,
          .enough = enough};
}

}  // namespace

double Search::seconds(const Line& line, Candidate& way, double enough) const {
  const Question& q = question_;
  const Run run = run_of(q, *line.programs, whole(), way.segment, enough);
  const System system = system_of(way.payload, way.raw_inside, static_cast<double>(way.raw_below));
  if (!q.device) return predict(*line.programs, system, machine_, run).seconds;
  // Device costs depend on the number of streams.
  const double block = line.programs->blocks > 0 ? whole() / line.programs->blocks : 0;
  way.lanes = lanes_for(profile_, q.element, ratio_, way.payload != payload::Kind::raw, block, run.segment);
  const Machine machine = machine_on_device(profile_, q.element, ratio_, way.lanes, q.staged, q.reaching);
  return predict(*line.programs, system, machine, run).seconds;
}

double Search::mpi_seconds(const Line& line, const Candidate& way, double enough) const {
  return predict(*line.programs, {}, stepless_, run_of(question_, *line.programs, whole(), way.segment, enough))
      .seconds;
}

// Walks a middle segment of each line, then other segments of promising lines; other numbers of pieces only after a
// promising moderate one, homomorphic only after promising fused. Stops at `enough` seconds.
std::size_t Search::middle_of(const std::vector<Candidate>& ways, bool pieces) const noexcept {
  // Short segments make a pipeline of few pieces.
  if (pieces) return std::min<std::size_t>(1, ways.size() - 1);
  const std::size_t middle = ways.size() / 2;
  if (machine_.codec_threads <= 1 || ways.front().payload == payload::Kind::raw) return middle;
  // Gives each of the codec's threads a chunk.
  const double chunks = machine_.codec_threads * Machine::kCodecChunk * machine_.value_bits / 8;
  const auto found = std::find_if(ways.begin(), ways.end(), [&](const Candidate& c) {
    return c.segment == 0 || static_cast<double>(c.segment) >= chunks;
  });
  return found != ways.end() ? static_cast<std::size_t>(found - ways.begin()) : ways.size() - 1;
}

template <class Walk, class Wanted>
std::vector<Candidate> Search::search(const std::vector<Option>& options, double least, double enough, const Walk& walk,
                                      const Wanted& wanted) {
  struct WalkedLine {
    Line line;
    std::size_t middle;
  };
  std::vector<WalkedLine> walked;
  const double near = question_.device || launches_kernels(machine_) ? kNearOnDevice : kNearOnHost;
  const Option* first = nullptr;
  double seconds_of_first = 0;
  for (const Option* option : in_order(options)) {
    const bool pieces = option->blocks > 0, again = first && of_one_schedule(*first, *option);
    if (again && seconds_of_first > kNearInPieces * least) continue;
    if (!again) {
      first = option;
      seconds_of_first = INFINITY;
    }
    bool fused = false, fused_near = false;
    for (Line& line : lines_of(*option)) {
      if (!wanted(line)) continue;
      const std::size_t middle = middle_of(line.ways, pieces);
      Candidate& way = line.ways[middle];
      if (way.payload == payload::Kind::homomorphic && fused && !fused_near) continue;
      way.seconds = walk(line, way, (pieces && !again ? kNearInPieces : near) * least);
      if (!again) seconds_of_first = std::min(seconds_of_first, way.seconds);
      const bool is_near = way.seconds <= near * least;
      fused = fused || way.payload == payload::Kind::fused;
      fused_near = fused_near || (way.payload == payload::Kind::fused && is_near);
      if (way.seconds <= enough) return {way};
      if (!is_near) continue;
      least = std::min(least, way.seconds);
      walked.push_back({std::move(line), middle});
    }
  }
  std::vector<Candidate> found;
  for (WalkedLine& b : walked) {
    if (b.line.ways[b.middle].seconds > near * least) continue;
    for (std::size_t i = 0; i < b.line.ways.size(); ++i) {
      Candidate& way = b.line.ways[i];
      if (i != b.middle) way.seconds = walk(b.line, way, least);
      if (way.seconds > least) continue;
      least = way.seconds;
      found.push_back(std::move(way));
    }
  }
  return found;
}

std::vector<Candidate> Search::all(const std::vector<Option>& options) {
  std::vector<Candidate> found;
  for (const Option* option : in_order(options)) {
    for (Line& line : lines_of(*option)) {
      for (Candidate& way : line.ways) {
        way.seconds = seconds(line, way, INFINITY);
        found.push_back(std::move(way));
      }
    }
  }
  return found;
}

std::vector<Candidate> Search::cheapest(const std::vector<Option>& options, double least, bool beyond_mpis) {
  return search(
      options, least, -1,
      [this](const Line& line, Candidate& way, double enough) { return seconds(line, way, enough); },
      [beyond_mpis](const Line& line) { return !beyond_mpis || (!line.an_mpi_has_it && !line.this_mpi_has_it); });
}

double Search::least_of_mpi(const std::vector<Option>& options) {
  double least = INFINITY;
  for (const Option& option : options)
    for (const Line& line : lines_of(option))
      for (const Candidate& way : line.ways)
        if (line.an_mpi_has_it) least = std::min(least, mpi_seconds(line, way, least));
  return least;
}

double Search::guess_of_mpi(const std::vector<Option>& options, double enough) {
  const auto found = search(
      options, INFINITY, enough,
      [this](const Line& line, const Candidate& way, double limit) { return mpi_seconds(line, way, limit); },
      [](const Line& line) { return line.an_mpi_has_it; });
  return found.empty() ? INFINITY : found.back().seconds;
}

double Search::seconds_of(const KnownOfMpi& known) {
  double all = 0;
  for (const schedule::Algorithm* const part : {known.first, known.second}) {
    if (part == nullptr) continue;
    const Programs* programs = kept_.of({part, 0, 0, {}}, 0);
    if (programs == nullptr) return 0;
    Run run = run_of(question_, *programs, whole(), 0, INFINITY);
    run.grain = 0;  // an MPI cuts short vectors as well
    all += predict(*programs, {}, stepless_, run).seconds;
  }
  return all;
}

}  // namespace stretto::model
