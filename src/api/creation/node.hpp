// Finds out if the ranks of a transport share one host's memory, and makes their collectives there.
#pragma once

#include <memory>
#include <string>

#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// Collective; all ranks get a backend, or none. Null, with the reason in *why:
// the ranks are not all on one host, the memory cannot be shared, or STRETTO_NODE=0 on any rank. invalid_argument, on
// all ranks: STRETTO_HIERARCHY cannot be read (rank 0's counts). Waits let the transport progress, which outlives
// the result. `profile`, the same on all ranks, says where the collectives change protocols.
Status find_node(backend::Transport& transport, const topology::Topology& topology, const model::Profile& profile,
                 std::string* why, std::unique_ptr<backend::NodeBackend>* node) noexcept;

}  // namespace stretto::api
