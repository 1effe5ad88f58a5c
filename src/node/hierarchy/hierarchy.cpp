#include "node/hierarchy/hierarchy.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace stretto::node {

Hierarchy::Hierarchy(int ranks) {
  group_of_.emplace_back(static_cast<std::size_t>(ranks), 0);
  close(ranks);
}

Status Hierarchy::from_places(std::span<const topology::Place> places, const std::string& levels,
                              Hierarchy* hierarchy) {
  std::vector<std::vector<int>> labels;
  for (std::size_t at = 0; at < levels.size();) {
    const std::size_t end = std::min(levels.find(',', at), levels.size());
    const std::string level = levels.substr(at, end - at);
    at = end + 1;
    const bool cache = level == "l3", numa = level == "numa";
    if (!cache && !numa && level != "socket")
      return fail(Status::invalid_argument, "'{}' is no level of a hierarchy: it takes l3, numa, socket", level);
    std::vector<int>& group = labels.emplace_back();
    for (const topology::Place& p : places) group.push_back(cache ? p.cache : numa ? p.numa : p.socket);
    // A rank that is not bound belongs to no cache or socket, so the level is dropped.
    if (std::find(group.begin(), group.end(), -1) != group.end()) labels.pop_back();
  }
  const auto groups = [](const std::vector<int>& label) { return std::set<int>(label.begin(), label.end()).size(); };
  std::stable_sort(labels.begin(), labels.end(), [&](const auto& a, const auto& b) { return groups(a) > groups(b); });
  return from_labels(labels, static_cast<int>(places.size()), hierarchy);
}

Status Hierarchy::from_labels(const std::vector<std::vector<int>>& labels, int ranks, Hierarchy* hierarchy) {
  const auto p = static_cast<std::size_t>(ranks);
  Hierarchy h;
  h.group_of_.clear();
  for (const auto& label : labels) {
    if (label.size() != p) return fail(Status::invalid_argument, "a level names {} ranks of {}", label.size(), ranks);
    std::map<int, int> number;
    std::vector<int> group;
    for (const int g : label) group.push_back(number.emplace(g, static_cast<int>(number.size())).first->second);
    if (number.size() == p || number.size() == 1) continue;
    if (!h.group_of_.empty()) {
      const auto& below = h.group_of_.back();
      if (group == below) continue;
      std::map<int, int> above;
      for (std::size_t r = 0; r < p; ++r) {
        if (above.emplace(below[r], group[r]).first->second != group[r])
          return fail(Status::invalid_argument, "levels do not nest: a group below is split at rank {}", r);
      }
    }
    h.group_of_.push_back(std::move(group));
  }
  h.group_of_.emplace_back(p, 0);
  h.close(ranks);
  *hierarchy = std::move(h);
  return Status::ok;
}

void Hierarchy::close(int ranks) {
  ranks_ = ranks;
  groups_.clear();
  children_.clear();
  index_.clear();
  for (std::size_t l = 0; l < group_of_.size(); ++l) {
    auto& groups = groups_.emplace_back();
    auto& children = children_.emplace_back();
    auto& index = index_.emplace_back();
    for (int r = 0; r < ranks; ++r) {
      const auto g = static_cast<std::size_t>(group_of_[l][static_cast<std::size_t>(r)]);
      if (groups.size() <= g) groups.resize(g + 1), children.resize(g + 1);
      index.push_back(static_cast<int>(groups[g].size()));
      groups[g].push_back(r);
      const bool first_below = l == 0 || index_[l - 1][static_cast<std::size_t>(r)] == 0;
      if (first_below) children[g].push_back(r);
    }
  }
}

int Hierarchy::leader(int level, int rank, int root) const noexcept {
  if (level == 0) return rank;
  const auto members = group(level, rank);
  return std::binary_search(members.begin(), members.end(), root) ? root : members.front();
}

int Hierarchy::parent(int rank, int root) const noexcept {
  for (int level = 1; level <= levels(); ++level) {
    if (const int above = leader(level, rank, root); above != rank) return above;
  }
  return -1;
}

std::vector<int> Hierarchy::offspring(int rank, int root) const {
  std::vector<int> all;
  for (int r = 0; r < ranks_; ++r) {
    if (parent(r, root) == rank) all.push_back(r);
  }
  return all;
}

}  // namespace stretto::node
