// Nested groups of a node's ranks, from the closest (level 1) to all of them. A group is a union of groups of the level
// below, or of single ranks. Equal on every rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "topology/topology.hpp"

namespace stretto::node {

class Hierarchy {
 public:
  Hierarchy() : Hierarchy(1) {}
  explicit Hierarchy(int ranks);

  // `levels`: a comma-separated list of l3, numa and socket. Labels with more groups become inner levels. A level that
  // separates no ranks is dropped. invalid_argument names an unknown label.
  static Status from_places(std::span<const topology::Place> places, const std::string& levels, Hierarchy* hierarchy);

  // labels[l][r] is the group of rank r at level l + 1. Levels that do not nest are refused.
  static Status from_labels(const std::vector<std::vector<int>>& labels, int ranks, Hierarchy* hierarchy);

  Hierarchy flat() const { return Hierarchy(ranks_); }

  int ranks() const noexcept { return ranks_; }
  int levels() const noexcept { return static_cast<int>(groups_.size()); }

  // 1 <= level <= levels(). Ascending.
  std::span<const int> group(int level, int rank) const noexcept {
    const auto l = static_cast<std::size_t>(level - 1);
    return groups_[l][static_cast<std::size_t>(group_of_[l][static_cast<std::size_t>(rank)])];
  }
  int index(int level, int rank) const noexcept {
    return index_[static_cast<std::size_t>(level - 1)][static_cast<std::size_t>(rank)];
  }
  // The lowest rank of each member of the group of `rank`, ascending.
  std::span<const int> children(int level, int rank) const noexcept {
    const auto l = static_cast<std::size_t>(level - 1);
    return children_[l][static_cast<std::size_t>(group_of_[l][static_cast<std::size_t>(rank)])];
  }

  // Parent in a broadcast; the root's is -1. The root leads every group that contains it, the lowest rank any other.
  int parent(int rank, int root) const noexcept;
  std::vector<int> offspring(int rank, int root) const;

 private:
  void close(int ranks);
  int leader(int level, int rank, int root) const noexcept;

  int ranks_ = 1;
  std::vector<std::vector<std::vector<int>>> groups_;
  std::vector<std::vector<std::vector<int>>> children_;
  std::vector<std::vector<int>> group_of_, index_;
};

}  // namespace stretto::node
