#include "model/native.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stretto::model {

double longest_worthwhile(double native, bool known) noexcept {
  const double part = known ? 0.9 : 0.75, gain = known ? 2e-6 : kLongestUnbeaten;
  return std::min(part * native, native - gain);
}

bool is_measured_well(const Profile& profile, const Question& q, int ranks, int hosts) noexcept {
  constexpr std::uint64_t least = 256 << 10;
  if (q.compress || q.device || q.started || hosts < 2 || q.bytes < least) return false;
  return std::any_of(profile.natives.begin(), profile.natives.end(), [&](const Native& n) {
    return n.provider == Provider::mpi && n.collective == q.collective && n.ranks == ranks && n.hosts == hosts &&
           !n.points.empty() && 2 * n.points.back().first >= static_cast<double>(q.bytes);
  });
}

namespace {

// Open MPI's coll/tuned where it does not sum by recursive doubling; null: unknown.
const char* tuned_sum(int ranks, std::uint64_t bytes) noexcept {
  struct Row {
    int ranks;                  // fewer than so many
    std::uint64_t least, most;  // bytes
    const char* schedule;
  };
  constexpr Row rows[] = {
      {4, 4096, 8191, "ring"},
      {4, 16384, 65535, "ring"},
      {4, 262144, UINT64_MAX, "rabenseifner"},
      {16, 8192, UINT64_MAX, "rabenseifner"},
      {32, 4096, UINT64_MAX, "rabenseifner"},
      {64, 128, UINT64_MAX, "rabenseifner"},
      {128, 262144, UINT64_MAX, "rabenseifner"},
  };
  int most_ranks = 0;
  for (const Row& row : rows) {
    if (most_ranks == 0 && ranks < row.ranks) most_ranks = row.ranks;
    if (row.ranks == most_ranks && bytes >= row.least && bytes <= row.most) return row.schedule;
  }
  return nullptr;
}

}  // namespace

bool goes_by_host(std::string_view mpi, const Question& q, const topology::Topology& topology) noexcept {
  using schedule::Collective;
  const bool several = topology.hosts() > 1 && topology.ranks() > topology.hosts(), even = topology.uniform();
  const bool served = q.collective == Collective::allreduce ||
                      (even && (q.collective == Collective::reduce || q.collective == Collective::bcast));
  return several && served && !q.started && !q.keeps_order && !q.device && q.native && mpi.starts_with("Open MPI 5") &&
         !mpi.ends_with(kWithoutHan);
}

KnownOfMpi known_of_mpi(std::string_view mpi, const Question& q, const topology::Topology& topology) {
  using schedule::Collective;
  const int ranks = topology.ranks(), hosts = topology.hosts();
  constexpr std::uint64_t piece = 64 << 10;
  if (q.device || !q.native || hosts < 2) return {};
  if (q.started && mpi.starts_with("Open MPI")) {
    const bool by_tree = ranks < 4 || (q.bytes > kLongestShort && q.bytes < piece);
    if (q.collective == Collective::allreduce && by_tree) return {schedule::find(q.collective, "binomial")};
    if (q.collective == Collective::reduce_scatter) return {schedule::find(Collective::reduce, "binomial")};
  }
  const bool sum = !q.started && !q.keeps_order && q.collective == Collective::allreduce;
  const std::uint64_t values = q.bytes / std::max(q.element, 1u);
  const bool halves = sum && values >= std::bit_floor(static_cast<unsigned>(ranks));  // Rabenseifner's needs as many
  if (halves && q.bytes > 8 && (mpi.starts_with("MPICH 4") || mpi.starts_with("MPICH 5")))
    return {schedule::find(q.collective, "rabenseifner")};
  if (halves && ranks == hosts && (mpi.starts_with("Open MPI 4.1") || mpi.starts_with("Open MPI 5")))
    if (const char* const tuned = tuned_sum(ranks, q.bytes)) return {schedule::find(q.collective, tuned)};
  const bool several = ranks > hosts && mpi.starts_with("Open MPI 5") && !q.started && !q.keeps_order;
  // Shorter ones gained nothing at 5 Gb/s; some longer ones are rings.
  constexpr std::uint64_t least_halved = 128 << 10, most_halved = (512 << 10) - 1;
  if (several && q.collective == Collective::reduce_scatter && q.bytes >= least_halved && q.bytes <= most_halved)
    return {&schedule::farthest_first_halving()};
  if (q.bytes <= kLongestShort || !goes_by_host(mpi, q, topology)) return {};
  const schedule::Algorithm* const down = schedule::find(Collective::bcast, "binomial");
  if (sum) return {schedule::find(Collective::reduce, "binomial"), down, piece};
  constexpr int most_linear = 4;
  if (q.collective == Collective::bcast && q.bytes >= piece && hosts > 2 && hosts <= most_linear)
    return {down, nullptr, piece};
  return {};
}

std::optional<double> measured_native(const Profile& profile, Provider provider, schedule::Collective collective,
                                      int ranks, int hosts, double bytes) noexcept {
  for (const Native& native : profile.natives) {
    if (native.provider != provider || native.collective != collective || native.ranks != ranks ||
        native.hosts != hosts || native.points.empty())
      continue;
    const auto& points = native.points;
    if (bytes <= points.front().first) return points.front().second;
    if (bytes >= points.back().first) return points.back().second * bytes / points.back().first;
    std::size_t i = 1;
    while (points[i].first < bytes) ++i;
    const auto [x0, y0] = points[i - 1];
    const auto [x1, y1] = points[i];
    if (x0 <= 0 || y0 <= 0 || y1 <= 0) return y0 + (y1 - y0) * (bytes - x0) / (x1 - x0);
    return y0 * std::pow(y1 / y0, std::log(bytes / x0) / std::log(x1 / x0));
  }
  return std::nullopt;
}

namespace {

// A host's ranks use all its cards at once, and share them if there are fewer.
NcclHop hop_of(const Profile& profile, const Machine& machine, topology::Distance distance, int ranks_a_host,
               double message) {
  const bool between = distance == topology::Distance::network;
  const NcclHop& measured = between ? profile.device.nccl_between : profile.device.nccl_inside;
  if (measured.known()) return measured;
  const Span& span = machine.span(distance, message);
  const int cards = !between ? 1 : machine.nics > 0 ? machine.nics : ranks_a_host;
  return {span.alpha, span.beta / cards};
}

topology::Distance farthest_inside(const topology::Topology& t) noexcept {
  topology::Distance most{};
  for (int h = 0; h < t.hosts(); ++h) {
    const auto ranks = t.ranks_of(h);
    for (std::size_t i = 1; i < ranks.size(); ++i) most = std::max(most, t.distance(ranks[i - 1], ranks[i]));
  }
  return most;
}

int ranks_a_host(const topology::Topology& t) noexcept { return (t.ranks() + t.hosts() - 1) / std::max(t.hosts(), 1); }

}  // namespace

double nccl_seconds(const Profile& profile, const topology::Topology& topology, schedule::Collective collective,
                    double n) {
  using schedule::Collective;
  const int ranks = topology.ranks(), hosts = topology.hosts(), inside = ranks_a_host(topology);
  const Machine machine = machine_on_device(profile, 4, 1, 1, false);
  const double p = ranks, launch = machine.copy.call;
  if (ranks == 1) return launch + machine.copy.of(n);
  const NcclHop near = hop_of(profile, machine, farthest_inside(topology), inside, n / p);
  const NcclHop far = hop_of(profile, machine, topology::Distance::network, inside, n / p);
  const double byte = std::max(inside > 1 ? near.byte : 0, hosts > 1 ? far.byte : 0);
  // hosts - 1 of p - 1 steps leave a host.
  const double around = (p - hosts) * near.step + (hosts - 1) * far.step;
  switch (collective) {
    case Collective::allreduce: {
      int levels = 0;
      while (1 << levels < hosts) ++levels;
      const double ring = 2 * around + 2 * (p - 1) / p * n * byte;
      const double tree = 2 * ((inside - 1) * near.step + levels * far.step) + 2 * n * byte;
      return launch + (hosts > 1 ? std::min(ring, tree) : ring);
    }
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
    case Collective::allgather: return launch + around + (p - 1) / p * n * byte;
    case Collective::reduce:
    case Collective::bcast: return launch + around + n * byte;
    case Collective::allreduce_multi:
    case Collective::allgatherv:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier:
    case Collective::agreement: break;
  }
  return INFINITY;
}

double streamed_node(const Machine& m, schedule::Collective collective, int ranks, int cores, double n,
                     double raw) noexcept {
  using schedule::Collective;
  constexpr double chunk = 128 * 1024;
  const double p = ranks, chunks = std::max(1.0, std::ceil(n / chunk));
  double codec = INFINITY;
  switch (collective) {
    case Collective::allreduce:
    case Collective::allreduce_multi:
    case Collective::reduce:
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block: {
      const double others = p - 1, more = std::max(p - 2, 0.0);
      const double share = collective == Collective::reduce_scatter ? 1 / p : 1;
      codec = m.compress.of(n * others / p, chunks * others) + m.fused.of(n / p, chunks) +
              m.add.of(n * more / p, chunks * more) + m.decompress.of(n * share, chunks * p * share);
      break;
    }
    case Collective::bcast: codec = m.compress.of(n, chunks) + m.decompress.of(n, chunks); break;
    case Collective::allgather:
    case Collective::allgatherv: codec = m.compress.of(n / p, chunks) + m.decompress.of(n, chunks * p); break;
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier:
    case Collective::agreement: break;
  }
  return raw + codec * std::max(1.0, p / std::max(cores, 1));
}

}  // namespace stretto::model
