// Exchanges inside groups, with all ranks at work. The i-th members of all groups (several of a smaller group) own one
// lane, and only its part of a block travels between the groups of a floor: a byte crosses each kind of link once per
// group. Linear and pairwise exchanges inside keep the order of ranks.
#pragma once

#include <string_view>

#include "schedule/part.hpp"

namespace stretto::schedule {

struct GroupPosition {
  explicit GroupPosition(const Request& q)
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
  int scatter_rounds() const { return 2 * floors.exchange_rounds(); }
  int others() const { return floors.largest() - 1; }  // rounds for one member to hear from, or tell, all

  Floors floors;
  int group, index, size;
  int first, end;
};

// Vectors of one block per rank. The reduce-scatter runs inside groups first, the allgather between groups first.
// `flat`: of this rank's group among groups.
Schedule reduce_scatter(const Request& request, std::string_view name, const Schedule& flat);
Schedule allgather(const Request& request, std::string_view name, const Schedule& flat);

Schedule reduce_scatter_inside(const Request& request);
Schedule allgather_inside(const Request& request);

}  // namespace stretto::schedule
