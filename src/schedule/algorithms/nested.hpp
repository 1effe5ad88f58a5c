// Exchanges inside a group, on as many floors as it has: all its ranks at work on each.
//
// Between the groups of a floor travels, of each block, only the part that its lane needs. The i-th members of all
// groups (several of a smaller group) own one lane together. So a byte crosses each kind of link once for a group, not
// once for each of its ranks. On the lowest floor, and between groups inside, these are linear and pairwise exchanges,
// which keep the order of ranks.
#pragma once

#include <string_view>

#include "schedule/part.hpp"

namespace stretto::schedule {

// Place of a rank in its group, as the request of a part inside; and of its group among groups.
struct Ground {
  explicit Ground(const Request& q)
      : floors(q),
        group(floors.group_of(q.rank)),
        index(floors.index(q.rank)),
        size(floors.size(group)),
        first(floors.first_piece(group, index)),
        end(floors.first_piece(group, index + 1)) {}

  Request inside(int root = 0) const {
    return {.ranks = size, .rank = index, .root = root, .groups = floors.inside(group)};
  }
  Request between(int root = 0) const { return {.ranks = floors.groups(), .rank = group, .root = root}; }
  int scatter_rounds() const { return 2 * floors.exchange_rounds(); }  // of reduce_scatter_inside
  int others() const { return floors.largest() - 1; }  // rounds in which one member hears from, or tells, all

  Floors floors;
  int group, index, size;
  int first, end;  // own pieces
};

// Vectors of one block a rank: among the members of each group first and between groups then, or in the opposite order.
// `flat`: of this rank's group among groups.
Schedule reduce_scatter(const Request& request, std::string_view name, const Schedule& flat);
Schedule allgather(const Request& request, std::string_view name, const Schedule& flat);

// Those of a group whose members may be grouped in turn (Request::groups).
Schedule reduce_scatter_inside(const Request& request);
Schedule allgather_inside(const Request& request);

}  // namespace stretto::schedule
