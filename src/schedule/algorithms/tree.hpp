// Trees whose subtrees are intervals of ranks, for any root and radix. Ranks are cut into groups of k, those into
// groups of k*k, and so on; the last of a size may be short. The root leads its groups, the lowest rank any other. A
// leader is the parent of the other leaders inside its group: ceil(log_k p) levels. A parent that combines the nearest
// intervals first keeps rank order, and a subtree's blocks are one range.
#pragma once

#include <vector>

namespace stretto::schedule {

struct Tree {
  struct Child {
    int rank = 0;
    int first = 0;  // subtree: ranks [first, end)
    int end = 0;
    int round = 0;
  };

  int rounds = 0;  // radix - 1 per level, perhaps fewer on the uppermost
  int parent = -1;
  int round = 0;
  int first = 0;
  int end = 0;
  std::vector<Child> children;  // by round: nearest subtrees first, lower ranks first
};

// radix >= 2
Tree tree_of(int ranks, int rank, int root, int radix);

}  // namespace stretto::schedule
