#include "schedule/floors.hpp"

#include <algorithm>
#include <unordered_map>

namespace stretto::schedule {

Groups groups_of(std::span<const std::int32_t> color_of_rank) {
  Groups groups;
  groups.consecutive = true;
  std::unordered_map<std::int32_t, std::int32_t> numbers;
  for (std::size_t r = 0; r < color_of_rank.size(); ++r) {
    const auto rank = static_cast<std::int32_t>(r);
    const auto [at, is_new] = numbers.try_emplace(color_of_rank[r], static_cast<std::int32_t>(groups.members.size()));
    if (is_new) groups.members.emplace_back();
    auto& members = groups.members[static_cast<std::size_t>(at->second)];
    groups.consecutive = groups.consecutive && (members.empty() || members.back() + 1 == rank);
    members.push_back(rank);
    groups.largest = std::max(groups.largest, static_cast<std::int32_t>(members.size()));
    groups.group_of.push_back(at->second);
  }
  return groups;
}

Floors::Floors(const Request& request, int root)
    : groups_(request.groups), ranks_(request.ranks), root_(root), root_group_(root >= 0 ? group_of(root) : -1) {}

int Floors::index(int rank) const {
  if (groups_ == nullptr) return 0;
  const auto& all = members(group_of(rank));
  return static_cast<int>(std::lower_bound(all.begin(), all.end(), rank) - all.begin());
}

}  // namespace stretto::schedule
