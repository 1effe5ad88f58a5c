// Parser of STRETTO_HIERARCHY (docs/node.md, "Hierarchy"):
//
//   TEXT      = [OPERATION "="] LEVELS, separated by ";"
//   OPERATION = barrier, bcast, reduce, allreduce or reduce_scatter; without it, LEVELS are for all others
//   LEVELS    = "flat" | a list of l3, numa and socket | GROUPS, separated by "/", the innermost first
//   GROUPS    = ranks and ranges of them, separated by "," within a group and by "|" between groups
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

// places[r] and numbers[r]: the place of rank r, and its number in the text. A rank in no group of a level is a group
// of its own; numbers without a rank are ignored. invalid_argument names text that cannot be parsed.
Status parse_hierarchies(std::string_view text, std::span<const topology::Place> places, std::span<const int> numbers,
                         Hierarchies* hierarchies);

}  // namespace stretto::node
