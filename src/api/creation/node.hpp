// Finds out if the ranks of each host share its memory, and makes their collectives there.
#pragma once

#include <memory>
#include <string>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "carrier/carrier.hpp"
#include "model/profile/profile.hpp"
#include "node/collectives/collectives.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// Collective; each rank gets the collectives of the ranks on its host in ascending order, or no rank gets any. Null,
// with the reason in *why: every rank is on a host of its own, some host's memory cannot be shared, STRETTO_NODE=0 on any
// rank, or several hosts and a rank without STRETTO_NODE=hosts. invalid_argument, on all ranks of one host:
// STRETTO_HIERARCHY cannot be read (rank 0's counts); several hosts do not ask for it. Waits let the transport progress,
// which outlives the result. `profile`, the same on all ranks, says where the collectives change protocols. `messages`
// carries exchanges inside hosts, and is free again on return.
Status find_node(backend::Transport& transport, carrier::Carrier& messages, const topology::Topology& topology,
                 const model::Profile& profile, std::string* why, std::unique_ptr<node::Collectives>* node) noexcept;

}  // namespace stretto::api
