#include "schedule/floors.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

using Levels = std::span<const std::vector<std::int32_t>>;

void finish(Groups& groups) {
  groups.ordered = groups.consecutive;
  groups.exchange_rounds = groups.tree_rounds = 0;
  for (std::size_t g = 0; g < groups.members.size(); ++g) {
    const auto size = static_cast<std::int32_t>(groups.members[g].size());
    std::int32_t exchange = size - 1, tree = log2_ceil(size);
    if (!groups.inside.empty() && !groups.inside[g].members.empty()) {
      const Groups& inside = groups.inside[g];
      const auto parts = static_cast<std::int32_t>(inside.members.size());
      exchange = inside.exchange_rounds + parts - 1;
      tree = inside.tree_rounds + log2_ceil(parts);
      groups.ordered = groups.ordered && inside.ordered;
    }
    groups.exchange_rounds = std::max(groups.exchange_rounds, exchange);
    groups.tree_rounds = std::max(groups.tree_rounds, tree);
  }
}

Groups nest(Levels levels, std::span<const std::int32_t> ranks);

Groups nest_in(std::span<const std::int32_t> colors, Levels others, std::span<const std::int32_t> ranks) {
  Groups groups = groups_of(colors);
  bool any = false;
  for (const auto& members : groups.members) {
    std::vector<std::int32_t> some;
    for (const std::int32_t i : members) some.push_back(ranks[static_cast<std::size_t>(i)]);
    groups.inside.push_back(nest(others, some));
    any = any || !groups.inside.back().members.empty();
  }
  if (!any) groups.inside.clear();
  finish(groups);
  return groups;
}

Groups nest(Levels levels, std::span<const std::int32_t> ranks) {
  for (; !levels.empty(); levels = levels.subspan(1)) {
    std::vector<std::int32_t> colors;
    for (const std::int32_t r : ranks) colors.push_back(levels.front()[static_cast<std::size_t>(r)]);
    std::vector<std::int32_t> distinct = colors;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() > 1 && distinct.size() < ranks.size()) return nest_in(colors, levels.subspan(1), ranks);
  }
  return {};
}

}  // namespace

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
  finish(groups);
  return groups;
}

Groups groups_of(Levels levels) {
  std::vector<std::int32_t> ranks(levels.front().size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return nest_in(levels.front(), levels.subspan(1), ranks);
}

Floors::Floors(const Request& request, int root)
    : groups_(request.groups), ranks_(request.ranks), root_(root), root_group_(root >= 0 ? group_of(root) : -1) {}

const Groups* Floors::inside(int group) const {
  if (groups_ == nullptr || groups_->inside.empty()) return nullptr;
  const Groups& inside = groups_->inside[static_cast<std::size_t>(group)];
  return inside.members.empty() ? nullptr : &inside;
}

int Floors::index(int rank) const {
  if (groups_ == nullptr) return 0;
  const auto& all = members(group_of(rank));
  return static_cast<int>(std::lower_bound(all.begin(), all.end(), rank) - all.begin());
}

}  // namespace stretto::schedule
