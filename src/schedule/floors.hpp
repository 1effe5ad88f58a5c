// Groups of ranks as two floors: the members of a group, and the groups. The lower floor may be two floors again.
//
// Algorithms of floors are composed of flat ones (part.hpp): among the members of a group, and between groups among ranks that stand
// for theirs. Either one rank stands for its group (its leader), or all do, each for its part of the vector: the vector is
// cut into as many pieces as the largest group has members, and in every group the members own the pieces in even, contiguous
// shares. The owners of a piece do its steps between groups.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// Ranks of one color are a group. For example the hosts of the ranks, or their sockets.
Groups groups_of(std::span<const std::int32_t> color_of_rank);

// Groups in groups, by levels from the outermost inwards: ranks of a group that have one color at the next level are a group in it.
// Inside a group, levels at which all its ranks are together, or each is alone, are left out.
Groups groups_of(std::span<const std::vector<std::int32_t>> levels);

class Floors {
 public:
  // Borrows the request's groups; without any, every rank is a group. `root` leads its group, the lowest rank any other (and its,
  // when root is -1).
  explicit Floors(const Request& request, int root = -1);

  int groups() const { return groups_ != nullptr ? static_cast<int>(groups_->members.size()) : ranks_; }
  int largest() const { return groups_ != nullptr ? groups_->largest : 1; }
  bool consecutive() const { return groups_ == nullptr || groups_->consecutive; }
  bool ordered() const { return groups_ == nullptr || groups_->ordered; }
  int exchange_rounds() const { return groups_ != nullptr ? groups_->exchange_rounds : 0; }
  int tree_rounds() const { return groups_ != nullptr ? groups_->tree_rounds : 0; }

  // How the members of a group are grouped in turn; null: they are not.
  const Groups* inside(int group) const;

  int group_of(int rank) const { return groups_ != nullptr ? groups_->group_of[static_cast<std::size_t>(rank)] : rank; }
  int size(int group) const { return groups_ != nullptr ? static_cast<int>(members(group).size()) : 1; }
  int member(int group, int i) const {
    return groups_ != nullptr ? members(group)[static_cast<std::size_t>(i)] : group;
  }
  int index(int rank) const;  // among the members of its group
  int leader(int group) const { return group == root_group_ ? root_ : member(group, 0); }

  // Member i owns the pieces [first_piece(group, i), first_piece(group, i + 1)), of 0 ... largest() - 1.
  int first_piece(int group, int i) const { return static_cast<int>(std::int64_t{i} * largest() / size(group)); }
  int owner(int group, int piece) const {
    return member(group, static_cast<int>((std::int64_t{piece + 1} * size(group) - 1) / largest()));
  }

 private:
  const std::vector<std::int32_t>& members(int group) const {
    return groups_->members[static_cast<std::size_t>(group)];
  }

  const Groups* groups_;
  int ranks_;
  int root_;
  int root_group_;
};

}  // namespace stretto::schedule
