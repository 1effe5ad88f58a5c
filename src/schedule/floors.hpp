// Groups of ranks as two floors: members of a group, and groups. The lower floor may be two floors again.
//
// Algorithms are composed of flat ones (part.hpp), inside groups and between representatives: one leader, or every
// member for its part of the vector, cut into as many pieces as the largest group has members. Members own the pieces
// in even, contiguous shares.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace stretto::schedule {

// Ranks of one color (host, socket) form a group.
Groups groups_of(std::span<const std::int32_t> color_of_rank);

// Levels from the outermost inwards. A level is left out inside a group if all its ranks have one color there, or all
// differ.
Groups groups_of(std::span<const std::vector<std::int32_t>> levels);

class Floors {
 public:
  // Borrows the request's groups; without any, every rank is a group. `root` (-1: none) leads its group, the lowest
  // rank any other.
  explicit Floors(const Request& request, int root = -1);

  int groups() const { return groups_ != nullptr ? static_cast<int>(groups_->members.size()) : ranks_; }
  int largest() const { return groups_ != nullptr ? groups_->largest : 1; }
  bool consecutive() const { return groups_ == nullptr || groups_->consecutive; }
  bool ordered() const { return groups_ == nullptr || groups_->ordered; }
  int exchange_rounds() const { return groups_ != nullptr ? groups_->exchange_rounds : 0; }
  int tree_rounds() const { return groups_ != nullptr ? groups_->tree_rounds : 0; }

  const Groups* inside(int group) const;

  int group_of(int rank) const { return groups_ != nullptr ? groups_->group_of[static_cast<std::size_t>(rank)] : rank; }
  int size(int group) const { return groups_ != nullptr ? static_cast<int>(members(group).size()) : 1; }
  int member(int group, int i) const {
    return groups_ != nullptr ? members(group)[static_cast<std::size_t>(i)] : group;
  }
  int index(int rank) const;
  int leader(int group) const { return group == root_group_ ? root_ : member(group, 0); }

  // Member i owns the pieces up to the next member's.
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
