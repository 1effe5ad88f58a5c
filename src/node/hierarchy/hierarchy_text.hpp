// Parser of STRETTO_HIERARCHY (docs/node.md, "Hierarchy").
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "node/group/call.hpp"
#include "node/hierarchy/hierarchy.hpp"
#include "topology/topology.hpp"

namespace stretto::node {

struct Hierarchies {
  Hierarchy usual;
  std::vector<std::pair<Collective, Hierarchy>> of;
};

// By rank: places, and numbers in the text. A rank in no group of a level is a group of its own; numbers without a rank
// are ignored. invalid_argument names text that cannot be parsed.
Status parse_hierarchies(std::string_view text, std::span<const topology::Place> places, std::span<const int> numbers,
                         Hierarchies* hierarchies);

}  // namespace stretto::node
