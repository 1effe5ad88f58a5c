// A tree collective that is split between lanes: the first levels from the leaves run on the application's cores, where it is called, the
// others on communication cores, while the application computes. A closed model: the transfer of an edge over the lowest level is
// the unit of time, and there is work for as long as a tree over all cores takes, which ranks share.
#pragma once

#include <span>
#include <vector>

#include "base/status.hpp"
#include "model/profile/machine.hpp"
#include "schedule/collective.hpp"

namespace stretto::model {

// How an edge's weight grows from the leaves to the root.
enum class Edges {
  alike,   // reduce, broadcast: each carries the whole vector
  double_  // gather, scatter: each level carries twice what the one below it does
};

// Times of a tree's levels: on the ranks' cores, and on the communication cores.
struct Parts {
  double before = 0;
  double beside = 0;
};

struct SplitTree {
  int cores = 0;  // of the node; those without a rank communicate
  Edges edges = Edges::alike;

  // 1 <= ranks < cores, or invalid_argument with both values.
  Status check(int ranks) const noexcept;

  int levels(int ranks) const noexcept;                // ceil(log2 ranks); level 1 is at the leaves
  int transfers(int ranks, int level) const noexcept;  // at one level, all at once on cores enough
  double work(int ranks) const noexcept;               // that can be hidden: cores / ranks * ceil(log2 cores)
  double blocking(int ranks) const noexcept;           // of the collective alone, each rank on a core of its own
  // Work and collective, of which `split` levels (or all there are) run before the work.
  double overlapped(int ranks, int split) const noexcept;
  // The split of the shortest time among 0 to `most`; of equal ones the smallest.
  int best(int ranks, int most) const noexcept;
  // In the unit of `edge`, the times of a transfer at level 1, 2, ... A split of all levels needs no communication cores.
  Parts parts(int ranks, int split, std::span<const double> edge) const noexcept;

 private:
  double weight(int level) const noexcept;
};

// A tree of a call, on hosts that are alike.
struct SplitCall {
  schedule::Collective collective{};  // reduce, bcast, gather, scatter, or allreduce: a tree up and one down
  double bytes = 0;                   // of the whole vector
  int ranks = 1;                      // of a host, on a core each; their levels are next to the leaves
  int hosts = 1;
  int comm_cores = 0;  // of a host
  int radix = 2;       // of the tree
};

// Seconds of an edge at each level, from the leaves, of a tree in one direction: a message, and the sum in a reduction. In gather and scatter each level
// carries radix times the bytes of the level below it, and the edge to the root the remaining bytes.
std::vector<double> edges_of(const Machine& machine, const SplitCall& call);

// How many levels from the leaves the application's cores best take, if its work is as long as the same tree with a rank
// on each core, shared by the ranks (SplitTree::work, in seconds); of equal ones the smallest. 0 without communication cores.
int best_split(const Machine& machine, const SplitCall& call);

}  // namespace stretto::model
