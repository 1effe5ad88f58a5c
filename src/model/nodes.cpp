#include "model/nodes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stretto::model {
namespace {

constexpr std::uint64_t kKibibyte = 1024;

// Time on the busiest host. In a sum each rank reads its share of all vectors, and (but in a reduce_scatter) copies the
// result's other shares.
double seconds_inside(schedule::Collective collective, const Machine& machine, const topology::Topology& topology,
                      double bytes) {
  const int counted = topology.cores_per_host() > 0 ? topology.cores_per_host() : machine.cores;
  const double cores = std::max(counted, 1) * topology.core_part();
  double most = 0;
  for (int h = 0; h < topology.hosts(); ++h) {
    const auto ranks = static_cast<double>(topology.ranks_of(h).size());
    if (ranks < 2) continue;
    const double share = std::max(1.0, ranks / cores);
    double rank = 0;
    switch (collective) {
      case schedule::Collective::bcast: rank = machine.copy.of(bytes); break;
      case schedule::Collective::allgather:
      case schedule::Collective::alltoall: rank = machine.copy.of(2 * bytes); break;
      case schedule::Collective::reduce_scatter:
        rank = machine.combine.of(bytes * (ranks - 1) / ranks) + machine.copy.of(bytes);
        break;
      default: rank = machine.combine.of(bytes * (ranks - 1) / ranks) + machine.copy.of(bytes * (2 + 1 / ranks));
    }
    most = std::max(most, share * rank);
  }
  return most;
}

constexpr std::uint64_t kPieceOfBroadcast = 512 * kKibibyte;

bool is_chained(const Question& q) noexcept {
  return q.collective == schedule::Collective::bcast && q.bytes > kPieceOfBroadcast;
}

}  // namespace

topology::Topology lane_of(const topology::Topology& topology) {
  std::vector<topology::Place> places;
  places.reserve(static_cast<std::size_t>(topology.hosts()));
  for (int h = 0; h < topology.hosts(); ++h) places.push_back(topology.place(topology.ranks_of(h).front()));
  topology::Topology lane(std::move(places), topology.cores_per_host());
  lane.share_cores(topology.core_part());
  return lane;
}

// Blocks of 64 KiB to 1 MiB were best between 4 hosts of 2 ranks at 1 Gb/s; of a broadcast, which has one lane, 256 to
// 512 KiB.
std::uint64_t piece_of(schedule::Collective collective, std::uint64_t bytes,
                       const topology::Topology& topology) noexcept {
  if (collective == schedule::Collective::bcast) return kPieceOfBroadcast;
  constexpr std::uint64_t pieces = 16;
  std::size_t lanes = static_cast<std::size_t>(topology.ranks());
  for (int h = 0; h < topology.hosts(); ++h) lanes = std::min(lanes, topology.ranks_of(h).size());
  return lanes * std::clamp(bytes / (pieces * lanes), 64 * kKibibyte, 1024 * kKibibyte);
}

std::uint64_t least_in_memory(schedule::Collective collective) noexcept {
  switch (collective) {
    case schedule::Collective::allreduce: return 0;
    case schedule::Collective::reduce_scatter: return 4096 * kKibibyte;
    case schedule::Collective::bcast: return 8192 * kKibibyte;
    default: return ~std::uint64_t{0};
  }
}

bool share_cores(const topology::Topology& topology, const Profile& profile) noexcept {
  const int cores = topology.cores_per_host() > 0 ? topology.cores_per_host() : profile.cores;
  return topology.ranks() > topology.hosts() * cores * topology.core_part();
}

bool gains_by_lines(schedule::Collective collective, std::uint64_t bytes, bool coded) noexcept {
  constexpr std::uint64_t least_broadcast = 512, least_gathered = 2 * kKibibyte, most_gathered = 16 * kKibibyte;
  switch (collective) {
    case schedule::Collective::allreduce:
    case schedule::Collective::reduce: return bytes > 0 && bytes <= schedule::longest_short_vector(collective);
    case schedule::Collective::bcast:
      return bytes >= least_broadcast && bytes <= schedule::longest_short_vector(collective);
    case schedule::Collective::allgather: return bytes >= least_gathered && bytes <= most_gathered;
    case schedule::Collective::alltoall:
      return bytes > 0 && bytes <= (coded ? schedule::kLongestCodedVector : schedule::kLongestShortVector);
    default: return false;
  }
}

bool go_by_lines(const Question& q) noexcept {
  const bool any_payload = q.payload <= static_cast<int>(payload::Kind::raw);
  const bool codes = q.compress && q.nodes_streams && q.collective == schedule::Collective::alltoall;
  return q.lines && any_payload && (!q.compress || codes) && !q.started && !q.device && !q.keeps_order &&
         !q.rank_by_rank && q.segment == 0 && q.raw_below == 0 && q.schedule.empty();
}

Question between_hosts_by_lines(const Question& question, const topology::Topology& topology) {
  Question q = between_hosts(question, topology);
  q.dense_ratio = 0;
  switch (q.collective) {
    case schedule::Collective::allreduce:
    case schedule::Collective::barrier: q.schedule = "recursive_doubling"; break;
    case schedule::Collective::allgather: q.schedule = "dissemination"; break;
    case schedule::Collective::alltoall:
      q.bytes *= static_cast<std::uint64_t>(topology.ranks() / topology.hosts());
      q.schedule = "linear";
      break;
    default: q.schedule = "binomial";
  }
  return q;
}

Question between_hosts(const Question& question, const topology::Topology& topology) {
  Question q = question;
  if (is_chained(question))
    q.schedule = "chain";
  else
    q.bytes = std::min(question.bytes, piece_of(question.collective, question.bytes, topology));
  q.root = topology.host_of(question.root);
  q.native = q.node = q.node_streams = q.natives = q.contest = q.nodes = false;
  if (!question.nodes_streams) {
    q.compress = false;
    q.payload = static_cast<int>(payload::Kind::raw);
  }
  // A stream is a small part of its values: shorter messages cost more than they overlap.
  constexpr std::uint64_t least_streamed = 256 * kKibibyte;
  if (q.compress && q.segment == 0) q.segment = least_streamed;
  q.nodes_streams = false;
  return q;
}

Candidate through_memory(const Candidate& lane, const Question& question, const Machine& machine,
                         const topology::Topology& topology) {
  Candidate c = lane;
  c.provider = Provider::node;
  c.raw_inside = c.payload != payload::Kind::raw;
  c.raw_below = 0;
  c.piece = piece_of(question.collective, question.bytes, topology);
  const double bytes = static_cast<double>(question.bytes);
  const double pieces = std::max(1.0, std::ceil(bytes / static_cast<double>(c.piece)));
  const bool chained = is_chained(question);
  if (chained) c.blocks = 1;
  const double between = chained ? lane.seconds : pieces * lane.seconds;
  const double inside = seconds_inside(question.collective, machine, topology, bytes);
  c.seconds = std::max(between, inside) + std::min(between, inside) / pieces;
  return c;
}

}  // namespace stretto::model
