#include "model/split_tree.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stretto::model {
namespace {

int ceil_log2(int n) noexcept { return std::bit_width(static_cast<unsigned>(n) - 1u); }

}  // namespace

Status SplitTree::check(int ranks) const noexcept {
  if (cores < 2)
    return fail(Status::invalid_argument, "{} cores; at least 2: a rank's and one that communicates", cores);
  if (ranks >= 1 && ranks < cores) return Status::ok;
  return fail(Status::invalid_argument, "{} ranks on {} cores leave none to communicate, or are none", ranks, cores);
}

int SplitTree::levels(int ranks) const noexcept { return ceil_log2(ranks); }

int SplitTree::transfers(int ranks, int level) const noexcept { return (ranks + (1 << (level - 1)) - 1) >> level; }

double SplitTree::weight(int level) const noexcept { return edges == Edges::alike ? 1.0 : std::ldexp(1.0, level - 1); }

double SplitTree::work(int ranks) const noexcept { return static_cast<double>(cores) / ranks * ceil_log2(cores); }

double SplitTree::blocking(int ranks) const noexcept {
  double time = 0;
  for (int i = 1; i <= levels(ranks); ++i) time += weight(i);
  return time;
}

double SplitTree::overlapped(int ranks, int split) const noexcept {
  const int comm_cores = cores - ranks;
  double before = 0, beside = 0;
  for (int i = 1; i <= levels(ranks); ++i) {
    if (i <= split)
      before += weight(i);
    else
      beside += weight(i) * ((transfers(ranks, i) + comm_cores - 1) / comm_cores);
  }
  return before + std::max(work(ranks), beside);
}

int SplitTree::best(int ranks, int most) const noexcept {
  int found = 0;
  for (int split = 1; split <= most; ++split)
    if (overlapped(ranks, split) < overlapped(ranks, found)) found = split;
  return found;
}

}  // namespace stretto::model
