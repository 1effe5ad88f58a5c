// Hierarchies as users write them (STRETTO_HIERARCHY): one for all operations, and others for single ones.
//
//   TEXT   = [OPERATION "="] LEVELS, separated by ";"        OPERATION: barrier, bcast, reduce, allreduce or reduce_scatter; none: all others
//   LEVELS = "flat" | a list of l3, numa and socket | GROUPS, separated by "/", the innermost first
//   GROUPS = ranks and ranges of them, separated by "," within a group and by "|" between groups: "0-3,8|4-7"
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "node/group/call.hpp"
#include "node/group/hierarchy.hpp"
#include "topology/topology.hpp"

namespace stretto::node {

struct Hierarchies {
  Hierarchy usual;
  std::vector<std::pair<Collective, Hierarchy>> of;
};

// places[r] and numbers[r] are of rank r: where it is, and by which number groups name it. A rank in none of a level's
// groups is a group of its own, and numbers that no rank has say nothing. invalid_argument names what cannot be read.
Status parse_hierarchies(std::string_view text, std::span<const topology::Place> places, std::span<const int> numbers,
                         Hierarchies* hierarchies);

}  // namespace stretto::node
