// Finds out if the ranks of each host share its memory, and makes their collectives there.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backend/hosts/nodes.hpp"
#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/profile/profile.hpp"
#include "node/collectives/collectives.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// What a rank tells all others. Hosts may bear the same name, and one of several names (of containers) may have one memory: the
// kernel's number tells.
struct Introduction {
  std::array<char, 40> boot{};
  bool wanted = true;  // not STRETTO_NODE=0
};

// Throws std::bad_alloc.
Introduction introduce();

// For ranks on one host; collective. Null, with the reason in *why: its memory cannot be shared, or STRETTO_NODE=0 on any
// rank. invalid_argument, on all ranks: STRETTO_HIERARCHY cannot be read (rank 0's counts). Waits let the transport
// progress, which outlives the result. `all`: of each rank. `profile`, the same on all ranks, says where the collectives
// change protocols.
Status find_node(backend::Transport& transport, const std::vector<Introduction>& all,
                 const topology::Topology& topology, const model::Profile& profile, std::string* why,
                 std::unique_ptr<node::Collectives>* node) noexcept;

// For ranks on several hosts, without a message: makes the memory of this rank's host when it is called. Empty, with the
// reason in *why, on all ranks: every rank is on a host of its own, or STRETTO_NODE=0 on any rank. The transport outlives the
// result. Throws std::bad_alloc.
backend::MakeHost later_node(backend::Transport& transport, const std::vector<Introduction>& all,
                             const topology::Topology& topology, const model::Profile& profile, std::string* why);

}  // namespace stretto::api
