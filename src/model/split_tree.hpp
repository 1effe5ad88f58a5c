// A closed form of a tree split between lanes (docs/model.md, "Split trees"), in transfers over the lowest level. The
// work takes as long as a tree over all cores, divided by the ranks.
#pragma once

#include <span>
#include <vector>

#include "base/status.hpp"
#include "model/profile/machine.hpp"
#include "schedule/collective.hpp"

namespace stretto::model {

enum class Edges {
  alike,   // reduce, broadcast: whole vectors
  double_  // gather, scatter: doubles per level
};

struct Parts {
  double before = 0;
  double beside = 0;
};

struct SplitTree {
  int cores = 0;  // those without a rank communicate
  Edges edges = Edges::alike;

  // 1 <= ranks < cores, or invalid_argument with both values.
  Status check(int ranks) const noexcept;

  int levels(int ranks) const noexcept;  // ceil(log2 ranks); level 1 is at the leaves
  int transfers(int ranks, int level) const noexcept;
  double work(int ranks) const noexcept;
  double blocking(int ranks) const noexcept;
  // Time with `split` levels before the work.
  double overlapped(int ranks, int split) const noexcept;
  // 0 to `most`; the smallest of equal ones.
  int best(int ranks, int most) const noexcept;
  // `edge`: times of a transfer at level 1, 2, ...
  Parts parts(int ranks, int split, std::span<const double> edge) const noexcept;

 private:
  double weight(int level) const noexcept;
};

struct SplitCall {
  schedule::Collective collective{};
  double bytes = 0;
  int ranks = 1;
  int hosts = 1;
  int comm_cores = 0;
  int radix = 2;
};

// Seconds at each level from the leaves: a message, and in a reduction the sum. In gather and scatter each level
// carries radix times the bytes of the level below, and the edge to the root the rest.
std::vector<double> edges_of(const Machine& machine, const SplitCall& call);

// The smallest of equal ones. Assumes SplitTree::work. 0 without communication cores.
int best_split(const Machine& machine, const SplitCall& call);

}  // namespace stretto::model
