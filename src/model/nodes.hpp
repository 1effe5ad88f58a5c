// Collectives of several hosts whose ranks share memory inside each host (src/backend/nodes.hpp): sums and copies in
// memory, and between hosts a schedule in each lane, the ranks with one number on every host.
#pragma once

#include "model/choose.hpp"
#include "model/profile/machine.hpp"
#include "topology/topology.hpp"

namespace stretto::model {

// The first rank of each host.
topology::Topology lane_of(const topology::Topology& topology);

// Bytes of the vector that are summed in memory while the previous piece is between the hosts.
std::uint64_t piece_of(std::uint64_t bytes) noexcept;

// The question that a lane answers for one piece. Lanes share their host's card, so all together take a single rank's
// time for the whole piece.
Question between_hosts(const Question& question);

// By a lane's choice for a piece. Memory and network work at the same time, but for one piece.
Candidate through_memory(const Candidate& lane, const Question& question, const Machine& machine,
                         const topology::Topology& topology);

}  // namespace stretto::model
