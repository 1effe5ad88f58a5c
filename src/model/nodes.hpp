// Collectives of several hosts with shared memory (src/backend/hosts/nodes.hpp): sums and copies in memory, and a
// schedule between hosts in each lane.
#pragma once

#include "model/choose.hpp"
#include "model/profile/machine.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

topology::Topology lane_of(const topology::Topology& topology);

// Bytes that travel between hosts together, while others are worked on in memory.
std::uint64_t piece_of(schedule::Collective collective, std::uint64_t bytes,
                       const topology::Topology& topology) noexcept;

// Bytes from which memory was measured to gain (docs/node.md); the largest number: never.
std::uint64_t least_in_memory(schedule::Collective collective) noexcept;

// Ranks outnumber the cores of their hosts.
bool share_cores(const topology::Topology& topology, const Profile& profile) noexcept;

bool gains_by_lines(schedule::Collective collective, std::uint64_t bytes, bool coded) noexcept;

// Lines serve whatever is predicted, but for long vectors: predictions are rough for calls of microseconds.
bool go_by_lines(const Question& question) noexcept;

Question between_hosts_by_lines(const Question& question, const topology::Topology& topology);

// Lanes share their host's card, so all lanes together take the time of one rank with the whole piece. A chain is asked
// for a broadcast's whole vector.
Question between_hosts(const Question& question, const topology::Topology& topology);

// `lane`: chosen for between_hosts(). Memory and network overlap, but for one piece.
Candidate through_memory(const Candidate& lane, const Question& question, const Machine& machine,
                         const topology::Topology& topology);

}  // namespace stretto::model
