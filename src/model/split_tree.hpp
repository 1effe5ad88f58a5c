// A tree collective that is split between lanes: the levels next to the leaves run on the application's cores during
// the call, the others on communication cores while the application computes. A closed-form model in units of an edge's
// transfer over the lowest level. The work to overlap takes as long as a tree over all cores, shared by the ranks.
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
  double_  // gather, scatter: each level carries twice the data of the level below
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
  int transfers(int ranks, int level) const noexcept;  // at one level, concurrent on enough cores
  double work(int ranks) const noexcept;               // time of the work to overlap: cores / ranks * ceil(log2 cores)
  double blocking(int ranks) const noexcept;           // of the collective alone, each rank on its own core
  // Work and collective, of which `split` levels (or all there are) run before the work.
  double overlapped(int ranks, int split) const noexcept;
  // The fastest split among 0 to `most`; the smallest of equal ones.
  int best(int ranks, int most) const noexcept;
  // In the unit of `edge`, the times of a transfer at level 1, 2, ... A split of all levels needs no communication
  // cores.
  Parts parts(int ranks, int split, std::span<const double> edge) const noexcept;

 private:
  double weight(int level) const noexcept;
};

// A tree of a call, on equal hosts.
struct SplitCall {
  schedule::Collective collective{};  // reduce, bcast, gather, scatter, or allreduce: a tree up and one down
  double bytes = 0;                   // of the whole vector
  int ranks = 1;                      // per host, a core each; their levels are next to the leaves
  int hosts = 1;
  int comm_cores = 0;  // per host
  int radix = 2;       // of the tree
};

// Seconds of an edge at each level, from the leaves, of a tree in one direction: a message, and the sum in a reduction.
// In gather and scatter each level carries radix times the bytes of the level below, and the edge to the root the
// remaining bytes.
std::vector<double> edges_of(const Machine& machine, const SplitCall& call);

// The best number of levels for the application's cores, from the leaves; the smallest of equal ones. Assumes work as
// long as the same tree with a rank on each core, shared by the ranks (SplitTree::work, in seconds). 0 without
// communication cores.
int best_split(const Machine& machine, const SplitCall& call);

}  // namespace stretto::model
