// Trees whose subtrees are intervals of ranks, for any root and radix.
//
// Cut 0..p-1 into groups of k, those into groups of k*k, and so on (the last group of a size may be short). Each group
// is led by the root where the root is a member, else by its lowest rank. The leader of a group is parent to the
// leaders of the other groups inside that group. The tree has ceil(log_k p) levels whatever the root, as with ranks
// renumbered from the root. But each subtree is an interval of ranks: a parent that combines the intervals next to its
// own first keeps the order of contributions, and a subtree's blocks of a gather or scatter are one range.
#pragma once

#include <vector>

namespace stretto::schedule {

struct Tree {
  struct Child {
    int rank = 0;
    int first = 0;  // its subtree is the ranks [first, end)
    int end = 0;
    int round = 0;  // of the exchange with it, counted from the leaves
  };

  int rounds = 0;   // of all: a level takes radix - 1, the uppermost perhaps less
  int parent = -1;  // none at the root
  int round = 0;    // of the exchange with the parent
  int first = 0;    // the subtree of this rank
  int end = 0;
  std::vector<Child> children;  // in order of rounds: nearest subtrees first, first the lower, then the higher ones
};

// The place of `rank` in the tree. radix >= 2.
Tree tree_of(int ranks, int rank, int root, int radix);

}  // namespace stretto::schedule
