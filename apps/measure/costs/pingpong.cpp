#include <algorithm>
#include <cmath>

#include "api/communicator.hpp"
#include "api/creation/network.hpp"
#include "costs/exchange.hpp"
#include "costs/parts.hpp"

namespace stretto::measure {
namespace {

constexpr int kSweepPasses = 3;

// Two ranks and their placement.
struct Pair {
  int first = -1, second = -1;
  Placement placement;
};

// All placements of the first two ranks that share a host, and the first two ranks of different hosts.
std::vector<Pair> pairs(const Job& job) {
  std::vector<Pair> all;
  const auto [a, b] = job.ranks.pair_inside();
  if (a >= 0) {
    // Hosts may differ; the placements are those of the pair's first rank.
    std::vector<Placement> placements = job.machine.placements();
    placements.resize(job.ranks.from(a, placements.size()));
    for (Placement& p : placements) {
      const auto numbers = job.ranks.from(
          a, std::array<int, 4>{static_cast<int>(p.distance), p.cpu[0], p.cpu[1], int{p.name == "core"}});
      p.distance = static_cast<topology::Distance>(numbers[0]);
      p.cpu[0] = numbers[1];
      p.cpu[1] = numbers[2];
      p.name = numbers[3] != 0 ? "core" : topology::name(p.distance);
      all.push_back({a, b, p});
    }
    if (placements.empty()) all.push_back({a, b, {"unbound", topology::Distance::cache, {-1, -1}}});
  }
  const auto [c, d] = job.ranks.pair_between();
  if (c >= 0)
    all.push_back({c, d, {topology::name(topology::Distance::network), topology::Distance::network, {-1, -1}}});
  return all;
}

// 0, then powers of two from 1, with one and a half times each from `fine` on.
std::vector<std::size_t> sizes(std::size_t largest, std::size_t fine) {
  std::vector<std::size_t> all{0};
  for (std::size_t n = 1; n <= largest; n *= 2) {
    all.push_back(n);
    if (n >= fine && n + n / 2 <= largest) all.push_back(n + n / 2);
  }
  return all;
}

Json row(const Pair& pair, std::size_t bytes, Buffers buffers, const Timing& t) {
  return {{"placement", pair.placement.name},
          {"distance", topology::name(pair.placement.distance)},
          {"buffers", name(buffers)},
          {"bytes", bytes},
          {"seconds", t.median},
          {"mean", t.mean},
          {"least", t.least},
          {"samples", t.samples}};
}

// Collective. The timing of rank `from`, on every rank.
Timing shared(const Ranks& ranks, int from, Timing t) {
  const auto numbers =
      ranks.from(from, std::array<double, 4>{t.median, t.mean, t.least, static_cast<double>(t.samples)});
  return {numbers[0], numbers[1], numbers[2], static_cast<int>(numbers[3])};
}

// The median of the passes' medians.
Timing together(const std::vector<Timing>& passes) {
  Timing all;
  all.least = passes.front().least;
  std::vector<double> medians;
  for (const Timing& t : passes) {
    medians.push_back(t.median);
    all.mean += t.mean / static_cast<double>(passes.size());
    all.least = std::min(all.least, t.least);
    all.samples += t.samples;
  }
  all.median = summary(medians).median;
  return all;
}

// Bytes of rotated buffers: twice the cache, limited.
std::size_t walk(const Machine& machine) { return std::min(2 * machine.cache(), std::size_t{256} << 20); }

void sweep(const Job& job, const Pair& pair, const std::vector<std::size_t>& sizes, std::span<const Buffers> kinds,
           const Budget& budget) {
  const Ranks& ranks = job.ranks;
  const bool first = ranks.rank == pair.first, active = first || ranks.rank == pair.second;
  std::unique_ptr<PingPong> pingpong;
  const Bound bound(job.machine, active ? pair.placement.cpu[first ? 0 : 1] : -1);
  if (active) {
    pingpong = std::make_unique<PingPong>(ranks.world, first ? pair.second : pair.first, first, sizes.back(),
                                          walk(job.machine));
  }
  for (const Buffers buffers : kinds) {
    // Several passes over the sizes, so that a short disturbance affects only one of them.
    std::vector<std::vector<Timing>> all(sizes.size());
    for (int pass = 0; pass < kSweepPasses; ++pass) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        Timing t;
        ranks.while_quiet(active, [&] { t = pingpong->measure(sizes[i], buffers, budget); });
        all[i].push_back(shared(ranks, pair.first, t));
        job.report.step();
      }
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) job.report.row(row(pair, sizes[i], buffers, together(all[i])));
  }
}

// Messages in a row, more than a shaped port passes at full speed: at least a mebibyte, and four.
constexpr std::size_t kStreamed = std::size_t{1} << 20;
constexpr int kLeastStreamed = 4;
int in_a_row(std::size_t bytes) { return std::max(static_cast<int>(kStreamed / bytes), kLeastStreamed); }

// Of longer messages the bursts are a small part.
bool has_stream(const Pair& pair, std::size_t bytes) {
  return pair.placement.distance == topology::Distance::network && bytes >= 256 && bytes <= 4 * kStreamed;
}

// Time of a message of each size where many follow one another between hosts.
void streams(const Job& job, const Pair& pair, const std::vector<std::size_t>& sizes) {
  const Ranks& ranks = job.ranks;
  const bool first = ranks.rank == pair.first, active = first || ranks.rank == pair.second;
  std::vector<std::vector<Timing>> all(sizes.size());
  for (int pass = 0; pass < kSweepPasses; ++pass) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (!has_stream(pair, sizes[i])) continue;
      Timing t;
      ranks.while_quiet(active, [&] {
        PingPong p(ranks.world, first ? pair.second : pair.first, first, sizes[i], 0);
        t = p.stream(sizes[i], in_a_row(sizes[i]), false, {job.seconds(0.12) / kSweepPasses, 1, 10});
      });
      all[i].push_back(shared(ranks, pair.first, t));
      job.report.step();
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (all[i].empty()) continue;
    const Timing t = together(all[i]);
    job.report.row({{"placement", pair.placement.name},
                    {"distance", topology::name(pair.placement.distance)},
                    {"what", "stream"},
                    {"bytes", sizes[i]},
                    {"seconds", t.median},
                    {"least", t.least},
                    {"samples", t.samples}});
  }
}

// Concurrency of both directions: the time of a message each way, against one way. Between hosts messages are in a row,
// and short, since an MPI sends those of a rendezvous by turns. Each way at once, a message waits for the one that
// came; so one way takes half a round trip where that is longer.
void duplex(const Job& job, const Pair& pair) {
  const bool between = pair.placement.distance == topology::Distance::network;
  const std::size_t bytes = between ? std::size_t{32} << 10 : std::size_t{1} << 20;
  const Ranks& ranks = job.ranks;
  const bool first = ranks.rank == pair.first, active = first || ranks.rank == pair.second;
  const Bound bound(job.machine, active ? pair.placement.cpu[first ? 0 : 1] : -1);
  const Budget budget{job.seconds(0.1), 5, 1000};
  Timing one, both;
  ranks.while_quiet(active, [&] {
    PingPong p(ranks.world, first ? pair.second : pair.first, first, bytes, walk(job.machine));
    one = p.measure(bytes, Buffers::rotated, budget);
    if (between) {
      const Timing streamed = p.stream(bytes, in_a_row(bytes), false, budget);
      if (streamed.median > one.median) one = streamed;
    }
    both = between ? p.stream(bytes, in_a_row(bytes), true, budget) : p.both_ways(bytes, budget);
  });
  one = shared(ranks, pair.first, one);
  both = shared(ranks, pair.first, both);
  job.report.row({{"placement", pair.placement.name},
                  {"distance", topology::name(pair.placement.distance)},
                  {"what", "duplex"},
                  {"bytes", bytes},
                  {"one_way", one.median},
                  {"both_ways", both.median}});
  job.report.step();
}

// Number of ranks of a host that send at the rate of one: all pairs at once, against one pair.
void concurrent(const Job& job) {
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  const Ranks& ranks = job.ranks;
  const std::vector<int> here = ranks.of_host(0), there = ranks.of_host(1);
  const int most = static_cast<int>(std::min(here.size(), there.size()));
  double alone = 0;
  for (const int pairs : {1, most}) {
    int peer = -1;
    bool first = false;
    std::vector<int> active;
    for (int i = 0; i < pairs; ++i) {
      const int a = here[static_cast<std::size_t>(i)], b = there[static_cast<std::size_t>(i)];
      active.insert(active.end(), {a, b});
      if (ranks.rank == a) peer = b;
      if (ranks.rank == b) peer = a;
      first = first || ranks.rank == a;
    }
    Timing t;
    ranks.while_quiet(peer >= 0, [&] {
      PingPong p(ranks.world, peer, first, kBytes, 0);
      ranks.barrier(active);
      t = p.both_ways(kBytes, {job.seconds(0.2), 10, 200});
    });
    double slowest = t.median;
    ranks.largest({&slowest, 1});
    if (pairs == 1) alone = slowest;
    if (pairs == most) {
      job.report.row(
          {{"what", "concurrent"}, {"bytes", kBytes}, {"pairs", most}, {"alone", alone}, {"together", slowest}});
    }
  }
  job.report.step();
}

// How long messages between hosts keep a core busy, as the library's probe measures it.
void cores(const Job& job) {
  const Ranks& ranks = job.ranks;
  std::vector<topology::Place> places;
  for (const int host : ranks.host_of) places.push_back({host});
  stretto_comm_s& comm = *ranks.world.comm();
  api::NetworkSpeed speed;
  must(api::probe_network(*comm.transport, topology::Topology(std::move(places)), ranks.world.carrier(),
                          *comm.carriers.data, &speed));
  job.report.row({{"placement", topology::name(topology::Distance::network)},
                  {"distance", topology::name(topology::Distance::network)},
                  {"what", "cores"},
                  {"byte", speed.core_byte},
                  {"message", speed.core_message}});
  job.report.step();
}

}  // namespace

void pingpong(const Job& job) {
  constexpr Buffers kinds[] = {Buffers::reused, Buffers::rotated};
  const auto all = pairs(job);
  const auto grid = sizes(job.largest, job.quick ? job.largest : 64);
  job.report.begin(Part::pingpong, static_cast<int>(all.size() * grid.size() * std::size(kinds)) * kSweepPasses);
  for (const Pair& pair : all) sweep(job, pair, grid, kinds, {job.seconds(0.12) / kSweepPasses, 3, 20000});
}

void links(const Job& job) {
  constexpr Buffers kinds[] = {Buffers::rotated};
  const auto all = pairs(job);
  const auto grid = sizes(std::size_t{16} << 20, job.quick ? std::size_t{1} << 30 : 512);
  const bool crowded = job.ranks.hosts > 1 && job.ranks.of_host(0).size() > 1 && job.ranks.of_host(1).size() > 1;
  const bool between = job.ranks.hosts > 1;
  std::size_t rows = all.size() * (kSweepPasses * grid.size() + 1) + (crowded ? 1 : 0) + (between ? 1 : 0);
  for (const Pair& pair : all)
    rows +=
        static_cast<std::size_t>(std::count_if(grid.begin(), grid.end(), [&](auto n) { return has_stream(pair, n); }));
  job.report.begin(Part::links, static_cast<int>(rows));
  for (const Pair& pair : all) {
    sweep(job, pair, grid, kinds, {job.seconds(0.12) / kSweepPasses, 3, 4000});
    streams(job, pair, grid);
    duplex(job, pair);
  }
  if (crowded) concurrent(job);
  if (between) cores(job);
}

}  // namespace stretto::measure
