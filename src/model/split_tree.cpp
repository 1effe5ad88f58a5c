#include "model/split_tree.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

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

namespace {

int levels_of(int ranks, int radix) noexcept {
  int levels = 0;
  for (std::int64_t reached = 1; reached < ranks; reached *= radix) ++levels;
  return levels;
}

// Seconds per level on the application's and communication cores.
struct Levels {
  std::vector<double> before, beside;

  Levels(const Machine& machine, const SplitCall& call) : before(edges_of(machine, call)), beside(before) {
    std::int64_t subtrees = call.ranks;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (subtrees <= 1) break;
      const std::int64_t joined = (subtrees + call.radix - 1) / call.radix;
      const std::int64_t transfers = subtrees - joined, rounds = std::min<std::int64_t>(subtrees, call.radix) - 1;
      beside[i] *= static_cast<double>((transfers + call.comm_cores - 1) / call.comm_cores);
      before[i] *= static_cast<double>(rounds);
      subtrees = joined;
    }
  }

  double with_all_cores(const SplitCall& call) const {
    const int more = levels_of(call.ranks + call.comm_cores, call.radix) - levels_of(call.ranks, call.radix);
    return std::accumulate(before.begin(), before.end(), more * (before.empty() ? 0 : before.front()));
  }
};

}  // namespace

std::vector<double> edges_of(const Machine& machine, const SplitCall& call) {
  using schedule::Collective;
  const bool blocks = call.collective == Collective::gather || call.collective == Collective::scatter;
  const double all = double(call.ranks) * call.hosts;
  const int inside = levels_of(call.ranks, call.radix), levels = inside + levels_of(call.hosts, call.radix);
  std::vector<double> edges;
  for (int i = 0; i < levels; ++i) {
    const double below = i < inside ? std::pow(call.radix, i) : call.ranks * std::pow(call.radix, i - inside);
    const double n = blocks ? call.bytes / all * std::min(below, all - below) : call.bytes;
    const Span& span = machine.span(i < inside ? topology::Distance::cache : topology::Distance::network, n);
    edges.push_back(span.alpha + n * span.beta + (call.collective == Collective::reduce ? machine.combine.of(n) : 0));
  }
  return edges;
}

int best_split(const Machine& machine, const SplitCall& call) {
  using schedule::Collective;
  if (call.comm_cores < 1 || call.ranks < 1) return 0;
  std::vector<Levels> ways;
  SplitCall one = call;
  if (call.collective == Collective::allreduce) {
    one.collective = Collective::bcast;
    ways.emplace_back(machine, one);
    one.collective = Collective::reduce;
  }
  ways.emplace_back(machine, one);
  double work = 0;
  for (const Levels& way : ways) work += way.with_all_cores(call);
  work *= double(call.ranks + call.comm_cores) / call.ranks;
  int best = 0;
  double shortest = INFINITY;
  for (std::size_t split = 0; split <= ways.front().before.size(); ++split) {
    Parts parts;
    for (const Levels& way : ways) {
      const auto here = static_cast<std::ptrdiff_t>(split);
      parts.before = std::accumulate(way.before.begin(), way.before.begin() + here, parts.before);
      parts.beside = std::accumulate(way.beside.begin() + here, way.beside.end(), parts.beside);
    }
    const double time = parts.before + std::max(work, parts.beside);
    if (time >= shortest * (1 - 1e-9)) continue;
    shortest = time;
    best = static_cast<int>(split);
  }
  return best;
}

}  // namespace stretto::model
