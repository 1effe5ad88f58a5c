#include "model/split_tree.hpp"

#include <algorithm>
#include <array>
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

Parts SplitTree::parts(int ranks, int split, std::span<const double> edge) const noexcept {
  const int comm_cores = cores - ranks;
  Parts parts;
  for (int i = 1; i <= levels(ranks); ++i) {
    const double one = edge[static_cast<std::size_t>(i) - 1];
    if (i <= split)
      parts.before += one;
    else
      parts.beside += one * ((transfers(ranks, i) + comm_cores - 1) / comm_cores);
  }
  return parts;
}

double SplitTree::overlapped(int ranks, int split) const noexcept {
  std::array<double, 32> weights{};
  for (int i = 1; i <= levels(ranks); ++i) weights[static_cast<std::size_t>(i) - 1] = weight(i);
  const Parts p = parts(ranks, split, weights);
  return p.before + std::max(work(ranks), p.beside);
}

int SplitTree::best(int ranks, int most) const noexcept {
  int found = 0;
  for (int split = 1; split <= most; ++split)
    if (overlapped(ranks, split) < overlapped(ranks, found)) found = split;
  return found;
}

}  // namespace stretto::model
