#include "model/choose.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "model/candidates.hpp"
#include "model/native.hpp"
#include "model/nodes.hpp"
#include "model/search.hpp"
#include "schedule/names.hpp"

namespace stretto::model {
namespace {

// Per factor of two. A cell's answer is its middle's, whatever was asked before.
constexpr double kCells = 8;
constexpr std::uint64_t kExactBelow = 16;  // bytes that are cells of their own

int cell_of(std::uint64_t bytes) noexcept {
  if (bytes < kExactBelow) return -static_cast<int>(bytes) - 1;
  return static_cast<int>(std::lround(kCells * std::log2(static_cast<double>(bytes))));
}
std::uint64_t middle_of(int cell) noexcept {
  if (cell < 0) return static_cast<std::uint64_t>(-cell - 1);
  return static_cast<std::uint64_t>(std::llround(power_of_two(cell)));
}
int ratio_cell_of(double ratio) noexcept {
  return ratio <= 1 ? 0 : static_cast<int>(std::lround(kCells * std::log2(std::min(ratio, 1e6))));
}

struct Key {
  int bytes, ratio, dense_ratio, root, payload, reaching;
  std::uint64_t segment, raw_below;
  std::uint32_t element;
  std::uint8_t collective;
  std::uint32_t flags;
  std::string schedule;
  friend bool operator==(const Key&, const Key&) = default;
};

struct Hash {
  std::size_t operator()(const Key& k) const noexcept {
    std::size_t h = std::hash<std::string>{}(k.schedule);
    const auto mix = [&h](std::uint64_t x) { h = (h ^ x) * 0x9E3779B97F4A7C15u + (h >> 29); };
    mix(static_cast<std::uint32_t>(k.bytes));
    mix(static_cast<std::uint32_t>(k.ratio) | std::uint64_t{static_cast<std::uint32_t>(k.dense_ratio)} << 32);
    mix(static_cast<std::uint32_t>(k.root));
    mix(static_cast<std::uint32_t>(k.payload));
    mix(static_cast<std::uint32_t>(k.reaching));
    mix(k.segment);
    mix(k.raw_below);
    mix(k.element);
    mix(std::uint64_t{k.collective} << 32 | k.flags);
    return h;
  }
};

Key key_of(const Question& q) {
  const auto bit = [](bool on, int i) { return std::uint32_t{on} << i; };
  return {cell_of(q.bytes),
          q.compress ? ratio_cell_of(q.ratio) : 0,
          q.compress ? ratio_cell_of(q.dense_ratio) : 0,
          schedule::rooted(q.collective) ? q.root : 0,
          q.payload,
          q.reaching,
          q.segment,
          q.raw_below,
          q.element,
          static_cast<std::uint8_t>(q.collective),
          bit(q.keeps_order, 0) | bit(q.compress, 1) | bit(q.code_space, 2) | bit(q.native, 3) | bit(q.node, 4) |
              bit(q.node_streams, 5) | bit(q.rank_by_rank, 6) | bit(q.exact, 7) | bit(q.device, 8) | bit(q.staged, 9) |
              bit(q.natives, 10) | bit(q.contest, 11) | bit(q.started, 12) | bit(q.fixed, 13) |
              bit(q.dense_ratio > 0, 14) | bit(q.nodes, 15) | bit(q.nodes_streams, 16) | bit(q.lines, 17),
          q.schedule};
}

// Dense streams keep cores busy that others may need, and are predicted less surely.
constexpr double kClearGain = 0.95;

const Candidate& taken_of(const Question& q, const std::vector<Candidate>& all) {
  const Candidate& first = all.front();
  if (first.coding == codec::Coding::fixed || !q.fixed) return first;
  const auto other =
      std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.coding == codec::Coding::fixed; });
  return other != all.end() && first.seconds > kClearGain * other->seconds ? *other : first;
}

constexpr std::size_t kMostAnswers = 4096;

}  // namespace

struct Chooser::Impl {
  Profile profile;
  topology::Topology topology;
  struct CachedAnswer {
    Candidate best, own;
    double mpi_seconds = 0;
  };
  std::unordered_map<Key, CachedAnswer, Hash> answers;
  mutable ProgramsKept programs;
  std::unique_ptr<Chooser> lane;  // among one rank of each host; null: no host of several has several ranks

  Impl(Profile from, topology::Topology where)
      : profile(std::move(from)),
        topology(on_network(profile, std::move(where))),
        programs(topology, topology.cores_per_host() > 0 ? topology.cores_per_host() : profile.cores) {
    // One host's profile tells whether a core copies both ways at once.
    if (topology.hosts() > 1 && profile.hosts == 1) profile.full_duplex = true;
    if (topology.hosts() > 1 && topology.ranks() > topology.hosts())
      lane = std::make_unique<Chooser>(profile, lane_of(topology));
  }

  Status table(const Question& q, bool all_of_them, std::vector<Candidate>* all) const;
  std::optional<double> measured_by(Provider provider, const Question& q) const;
  void add_dense(const Question& q, const std::vector<Option>& options, bool all_of_them, double least,
                 std::vector<Candidate>* all) const;
  void add_in_node(const Question& q, double native_seconds, std::vector<Candidate>* all) const;
  void add_through_nodes(const Question& q, std::vector<Candidate>* all) const;
  bool by_lines(const Question& q, Candidate* found) const;
};

std::vector<Option> ways_of(std::vector<Option> options, bool streams) {
  for (Option& option : options)
    std::erase_if(option.ways, [streams](const Candidate& c) { return (c.payload != payload::Kind::raw) != streams; });
  std::erase_if(options, [](const Option& option) { return option.ways.empty(); });
  return options;
}

// Seconds of a raw sum or broadcast beyond a shaped port's burst, in a row of calls.
double beyond_burst(const Profile& profile, const Question& q, int hosts) {
  const bool whole = q.collective == schedule::Collective::allreduce || q.collective == schedule::Collective::reduce ||
                     q.collective == schedule::Collective::bcast;
  if (hosts < 2 || !whole || profile.short_calls.empty() || q.bytes > kShortCall) return 0;
  const auto bytes = static_cast<double>(q.bytes);
  const Span span = machine_of(profile, 4, 1).span(topology::Distance::network, bytes);
  return span.alpha + bytes * span.beta;
}

std::optional<double> Chooser::Impl::measured_by(Provider provider, const Question& q) const {
  std::optional<double> found = measured_native(profile, provider, q.collective, topology.ranks(), topology.hosts(),
                                                static_cast<double>(q.bytes));
  if (found && provider == Provider::mpi && q.compress)
    *found = std::max(*found, beyond_burst(profile, q, topology.hosts()));
  return found;
}

Candidate own_candidate(Provider provider, double seconds) {
  Candidate c;
  c.native = true;
  c.provider = provider;
  c.seconds = seconds;
  return c;
}

void Chooser::Impl::add_dense(const Question& q, const std::vector<Option>& options, bool all_of_them, double least,
                              std::vector<Candidate>* all) const {
  for (const Candidate& c : *all) least = std::min(least, q.fixed ? kClearGain * c.seconds : c.seconds);
  Search search(programs, profile, q, true);
  std::vector<Candidate> found = all_of_them ? search.all(options) : search.cheapest(options, least, false);
  for (Candidate& c : found) {
    c.coding = codec::Coding::dense;
    all->push_back(std::move(c));
  }
}

// Exact values and streams in one host's memory. `native_seconds`: the MPI's; negative: none may serve.
void Chooser::Impl::add_in_node(const Question& q, double native_seconds, std::vector<Candidate>* all) const {
  const auto bytes = static_cast<double>(q.bytes);
  const int cores = topology.cores_per_host() > 0 ? topology.cores_per_host() : profile.cores;
  const double mpi = measured_by(Provider::mpi, q).value_or(INFINITY);
  const std::optional<double> measured = measured_by(Provider::node, q);
  const double least = native_seconds < 0 ? mpi : std::min(mpi, native_seconds);
  const double unmeasured = least * unmeasured_node(topology.ranks());
  double node = measured.value_or(unmeasured);
  if (scattered(topology.ranks(), cores, bytes)) node = std::min(node, unmeasured);
  if (native_seconds >= 0 && q.node && std::isfinite(node)) {
    all->push_back(own_candidate(Provider::node, node));
    all->back().assumed = !measured;
  }
  if (!node_may_stream(q)) return;
  // Nothing was measured: values are copied into and out of shared memory.
  const Machine machine = machine_of(profile, q.element, q.ratio);
  const double raw = std::isfinite(std::min(node, mpi)) ? std::min(node, mpi) : machine.copy.of(2 * bytes);
  Candidate c =
      own_candidate(Provider::node, streamed_node(machine, q.collective, topology.ranks(), cores, bytes, raw));
  c.payload = q.payload < 0 ? payload::Kind::fused : static_cast<payload::Kind>(q.payload);
  if (std::isfinite(c.seconds)) all->push_back(c);
}

void Chooser::Impl::add_through_nodes(const Question& q, std::vector<Candidate>* all) const {
  const bool raw_or_any = q.payload <= static_cast<int>(payload::Kind::raw);
  const bool may = q.nodes && lane && (raw_or_any || q.nodes_streams);
  if (!may || q.code_space || !q.schedule.empty() || q.raw_below != 0) return;
  const Question between = between_hosts(q, topology);
  Candidate chosen;
  if (lane->choose(between, &chosen) == Status::ok)
    all->push_back(through_memory(chosen, q, machine_of(profile, q.element, between.compress ? q.ratio : 1), topology));
}

// Cheapest first; unless `all_of_them`, expensive candidates may be missing.
Status Chooser::Impl::table(const Question& q, bool all_of_them, std::vector<Candidate>* all) const {
  all->clear();
  std::string why;
  const auto bytes = static_cast<double>(q.bytes);
  // A device's native collective is NCCL's.
  const bool native = (q.native || q.node) && own_may_serve(q);
  double native_seconds = INFINITY;
  const auto own_seconds = [&] {
    return q.device ? nccl_seconds(profile, topology, q.collective, bytes)
                    : measured_by(Provider::mpi, q).value_or(INFINITY);
  };
  programs.forget_if_full();
  // The first call of most communicators on one host needs no search.
  std::optional<Search> made;
  const auto search = [&]() -> Search& { return made ? *made : made.emplace(programs, profile, q); };
  const KnownOfMpi of_mpi = native ? known_of_mpi(profile.mpi, q, topology) : KnownOfMpi();
  const bool is_known{of_mpi};
  double known = 0;
  if (is_known && of_mpi.piece > 0 && lane) {
    Question piece = q;
    piece.bytes = std::min(q.bytes, of_mpi.piece);
    known = Search(lane->impl_->programs, profile, piece).seconds_of(of_mpi) * bytes / static_cast<double>(piece.bytes);
  } else if (is_known) {
    known = search().seconds_of(of_mpi);
  }
  const bool compares = is_known && !q.started;  // a started sum takes at least as long as what is known of it
  const bool precise = compares || is_measured_well(profile, q, topology.ranks(), topology.hosts());
  // Measured natives are blocking calls.
  const double measured = native ? std::max(own_seconds(), q.started ? known : 0) : INFINITY;
  const bool guessed = native && !q.device && !std::isfinite(measured);
  // The node's guess is a fixed part of the MPI's.
  const bool too_short = q.contest && q.native && longest_worthwhile(measured, precise) <= 0;
  const bool natives_alone =
      (q.natives || too_short) && native && !q.device && !(guessed && measured_by(Provider::node, q));
  std::vector<Option> options = natives_alone ? std::vector<Option>() : options_for(q, topology, &why);
  // Beside fixed streams, dense ones gain nothing inside one host; a device's cost of making them is unknown.
  const bool dense = q.compress && q.dense_ratio > 0 && (!q.fixed || (!q.device && topology.hosts() > 1));
  const std::vector<Option> dense_options = dense ? ways_of(options, true) : std::vector<Option>();
  if (!q.fixed) options = ways_of(std::move(options), false);
  // If no schedule is worthwhile, a bound of the time is enough.
  const double enough = q.contest && q.native && !q.node && !compares ? kLongestUnbeaten : -1;
  if (guessed && !natives_alone)
    native_seconds =
        std::max(known, all_of_them ? search().least_of_mpi(options) : search().guess_of_mpi(options, enough));
  const bool unknown = guessed && (natives_alone || native_seconds <= enough);
  native_seconds = std::min(native_seconds, measured);
  const bool beside_mpi = native && q.native;
  double least = !beside_mpi ? INFINITY : q.contest ? longest_worthwhile(native_seconds, precise) : native_seconds;
  const bool wanted = all_of_them || least > 0 || !q.contest;
  if (all_of_them) {
    *all = search().all(options);
  } else if (!options.empty() && wanted) {
    // An MPI may have this raw path: it does not undercut the guess of the MPI, unless the MPI is known to be slower.
    const bool beyond_mpis = guessed && beside_mpi && !is_known && !search().takes_turns();
    *all = search().cheapest(options, least, beyond_mpis);
  }
  if (!dense_options.empty() && wanted) add_dense(q, dense_options, all_of_them, least, all);
  if (natives_alone && guessed) native_seconds = 1;
  if (native && q.native && std::isfinite(native_seconds))
    all->push_back(own_candidate(q.device ? Provider::device : Provider::mpi, native_seconds));
  add_in_node(q, native ? native_seconds : -1, all);
  if (!natives_alone) add_through_nodes(q, all);
  if (Candidate c; all_of_them && by_lines(q, &c)) all->push_back(std::move(c));
  if (all->empty()) {
    if (why.empty())
      why = fmt::format("no schedule of {} can be walked for {} ranks", name(q.collective), topology.ranks());
    return fail(Status::unsupported, "{}", why);
  }
  std::stable_sort(all->begin(), all->end(), [](const Candidate& a, const Candidate& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.native && !b.native;
  });
  if (unknown)
    for (Candidate& c : *all) c.seconds = 0;
  return Status::ok;
}

// Streams must gain clearly, the more so where ranks share cores, whose codecs all wait for each other.
bool Chooser::Impl::by_lines(const Question& q, Candidate* found) const {
  if (!lane || !go_by_lines(q) || lane->choose(between_hosts_by_lines(q, topology), found) != Status::ok) return false;
  if (q.compress) {
    Question raw = q;
    raw.compress = raw.nodes_streams = false;
    Candidate exact;
    if (lane->choose(between_hosts_by_lines(raw, topology), &exact) != Status::ok) return false;
    const double part = share_cores(topology, profile) ? 0.4 : 0.7;
    const bool gains = found->payload != payload::Kind::raw && found->seconds < part * exact.seconds;
    if (!gains && !gains_by_lines(q.collective, q.bytes, false)) return false;
    if (!gains) *found = exact;
  }
  *found = through_memory(*found, q, machine_of(profile, q.element, 1), topology);
  found->piece = schedule::kLongestShortCall;
  return true;
}

double power_of_two(long eighths) noexcept {
  static constexpr double kRoots[8] = {0x1p+0,
                                       0x1.172b83c7d517bp+0,
                                       0x1.306fe0a31b715p+0,
                                       0x1.4bfdad5362a27p+0,
                                       0x1.6a09e667f3bcdp+0,
                                       0x1.8ace5422aa0dbp+0,
                                       0x1.ae89f995ad3adp+0,
                                       0x1.d5818dcfba487p+0};
  return std::ldexp(kRoots[eighths & 7], static_cast<int>(eighths >> 3));
}

Question on_grid(Question q) noexcept {
  q.bytes = middle_of(cell_of(q.bytes));
  if (q.compress) q.ratio = power_of_two(ratio_cell_of(q.ratio));
  if (q.dense_ratio > 0) q.dense_ratio = power_of_two(ratio_cell_of(q.dense_ratio));
  return q;
}

Chooser::Chooser(Profile profile, topology::Topology topology)
    : impl_(std::make_unique<Impl>(std::move(profile), std::move(topology))) {}
Chooser::~Chooser() = default;
Chooser::Chooser(Chooser&&) noexcept = default;
Chooser& Chooser::operator=(Chooser&&) noexcept = default;

double Chooser::mpi_seconds(const std::vector<Candidate>& all) noexcept {
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Candidate& c) { return c.native && c.provider != Provider::node; });
  return found != all.end() ? found->seconds : 0;
}

Status Chooser::choose(const Question& question, Candidate* best, Candidate* own, double* mpi_seconds) {
  Key key = key_of(question);
  auto found = impl_->answers.find(key);
  if (found == impl_->answers.end()) {
    std::vector<Candidate> all;
    if (const Status s = impl_->table(on_grid(question), false, &all); s != Status::ok) return s;
    if (impl_->answers.size() >= kMostAnswers) impl_->answers.clear();
    const auto native = std::find_if(all.begin(), all.end(),
                                     [](const Candidate& c) { return c.native && c.payload == payload::Kind::raw; });
    Impl::CachedAnswer answer{taken_of(question, all), native != all.end() ? *native : Candidate{},
                              Chooser::mpi_seconds(all)};
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

bool Chooser::by_lines(const Question& question, Candidate* found) const {
  return impl_->by_lines(on_grid(question), found);
}

const Profile& Chooser::profile() const noexcept { return impl_->profile; }
const topology::Topology& Chooser::topology() const noexcept { return impl_->topology; }

}  // namespace stretto::model
