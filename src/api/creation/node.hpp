#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/hosts/nodes.hpp"
#include "backend/transport.hpp"
#include "base/status.hpp"
#include "model/choose.hpp"
#include "model/profile/profile.hpp"
#include "node/collectives/collectives.hpp"
#include "topology/topology.hpp"

namespace stretto::api {

// Names do not tell hosts apart (containers): the kernel's number does.
struct Introduction {
  std::array<char, 40> boot{};
  std::uint64_t cores = 0;  // hash of those that the process may use
  bool wanted = true;       // not STRETTO_NODE=0
  bool hierarchy = false;   // STRETTO_HIERARCHY is set
};

Introduction introduce();

// FNV-1a, equal in every process; never 0.
std::uint64_t hash_of(std::string_view text) noexcept;

// For ranks on one host; collective, also for a rank that has failed before (`ready`), which has no chooser. Null, with
// the reason in *why, on all ranks: its memory cannot be shared, or STRETTO_NODE=0 on any rank. A failure is this
// rank's alone, but for invalid_argument: rank 0's STRETTO_HIERARCHY cannot be read. Waits let the transport progress,
// which outlives the result.
Status find_node(backend::Transport& transport, Status ready, const std::vector<Introduction>& all,
                 const model::Chooser* chooser, std::string* why, std::unique_ptr<node::Collectives>* node) noexcept;

// For ranks on several hosts, without a message: makes this host's memory when called. Empty, with the reason in *why,
// on all ranks: every rank is on a host of its own, or STRETTO_NODE=0 on any rank. The transport outlives the result.
backend::MakeHost later_node(backend::Transport& transport, const std::vector<Introduction>& all,
                             const topology::Topology& topology, const model::Profile& profile, std::string* why);

}  // namespace stretto::api
