#include "schedule/algorithms/tree.hpp"

#include <algorithm>
#include <cstdint>

namespace stretto::schedule {
namespace {

struct Group {
  std::int64_t size;
  std::int64_t ranks;
  int root;

  int first(int rank) const { return static_cast<int>(rank / size * size); }
  int end(int rank) const { return static_cast<int>(std::min(first(rank) + size, ranks)); }
  int leader(int rank) const { return first(rank) <= root && root < end(rank) ? root : first(rank); }
};

// The leader of `around` meets its group's other members: lower ones downwards, then higher ones.
int turn(const Group& inner, const Group& around, int leader, int member) {
  const auto place = [&](int rank) { return static_cast<int>((rank - around.first(rank)) / inner.size); };
  const int own = place(leader);
  const int its = place(member);
  return its < own ? own - 1 - its : its - 1;
}

}  // namespace

Tree tree_of(int ranks, int rank, int root, int radix) {
  Tree tree;
  tree.first = rank;
  tree.end = rank + 1;
  int level = 0;
  for (Group inner{1, ranks, root}; inner.size < ranks; inner.size *= radix, ++level) {
    const Group around{inner.size * radix, ranks, root};
    const std::int64_t members = (ranks + inner.size - 1) / inner.size;
    tree.rounds += static_cast<int>(std::min<std::int64_t>(members, radix)) - 1;
    if (tree.parent >= 0) continue;
    const int leader = around.leader(rank);
    if (leader != rank) {
      tree.parent = leader;
      tree.round = level * (radix - 1) + turn(inner, around, leader, rank);
      continue;
    }
    tree.first = around.first(rank);
    tree.end = around.end(rank);
    for (std::int64_t member = tree.first; member < tree.end; member += inner.size) {
      const int m = static_cast<int>(member);
      if (inner.first(m) == inner.first(rank)) continue;
      const int round = level * (radix - 1) + turn(inner, around, rank, m);
      tree.children.push_back({inner.leader(m), inner.first(m), inner.end(m), round});
    }
  }
  std::sort(tree.children.begin(), tree.children.end(), [](const auto& a, const auto& b) { return a.round < b.round; });
  return tree;
}

}  // namespace stretto::schedule
