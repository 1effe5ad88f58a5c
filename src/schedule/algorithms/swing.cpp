// Swing (De Sensi, Bonato, Saam and Hoefler, "Swing: Short-cutting Rings for Higher Bandwidth Allreduce", NSDI 2024):
// recursive doubling and halving with near partners. In step k even rank x meets x + r(k) and odd rank x meets x - r(k)
// on a ring, at most |r(k)| hops away. r(k) = 1, -1, 3, -5, ... is the sum of (-2)^i for i = 0 ... k. On a torus
// (Groups::torus) each dimension is a ring, as are a host's ranks; near steps of all dimensions come first.
//
// swing_bandwidth is Rabenseifner's algorithm with these partners. The ranks joined by steps k, k + 1, ... are one set
// for all its members, along which blocks are numbered, so each message is one range.
//
// swing_latency exchanges whole sums, far partners first. Ranks that hold one sum are then such a set, and bracket it
// alike; with near partners first, as published, they would not.
//
// Ranks are folded (fold.hpp) to one ring, as is a torus with a side that is no power of two. Rank order is not kept.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/fold.hpp"
#include "schedule/algorithms/halving.hpp"

namespace stretto::schedule {
namespace {

// Offset of an even rank's partner in step k.
int reach(int k) { return (1 - (k % 2 == 0 ? -2 : 2) * (1 << k)) / 3; }

struct Dimension {
  int stride, side;
};

bool even_ring(int side) { return std::has_single_bit(static_cast<unsigned>(side)); }

// Innermost first: a host's ranks, then the torus; without a fitting torus a single ring of all teams.
std::vector<Dimension> rings(const Request& q, const Fold& fold) {
  const std::vector<Dimension> one{{1, fold.teams()}};
  if (q.groups == nullptr || q.groups->torus.empty() || fold.folds()) return one;
  const int size = q.groups->largest, groups = static_cast<int>(q.groups->members.size());
  if (!q.groups->consecutive || size * groups != q.ranks || !even_ring(size)) return one;
  std::vector<Dimension> all{{1, size}};
  for (auto side = q.groups->torus.rbegin(); side != q.groups->torus.rend(); ++side) {
    if (!even_ring(*side)) return one;
    all.push_back({all.back().stride * all.back().side, *side});
  }
  return all;
}

class Swing {
 public:
  explicit Swing(const Request& q) : fold(q.ranks) {
    const std::vector<Dimension> all = rings(q, fold);
    for (const Dimension& ring : all) {
      const bool inside = all.size() > 1 && ring.stride == 1;
      for (int k = 0; 1 << k < ring.side; ++k) steps_.push_back({ring, k, inside ? 0 : std::abs(reach(k))});
    }
    std::stable_sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.hops < b.hops; });
  }

  int partner(int team, int step) const {
    const auto& [ring, k, hops] = steps_[static_cast<std::size_t>(step)];
    const int x = team / ring.stride % ring.side;
    const int y = (x + (x % 2 == 0 ? reach(k) : -reach(k)) + ring.side) % ring.side;
    return team + (y - x) * ring.stride;
  }

  // Blocks of the team and those joined with it after the first `steps` (halving.hpp). Bit j of the halved number
  // differs between the partners of step j, and is equal between those of later steps.
  Interval blocks(int team, int steps) const {
    int number = 0;
    for (std::size_t j = 0; j < steps_.size(); ++j) {
      const auto& [ring, k, hops] = steps_[j];
      const int x = team / ring.stride % ring.side, last = log2_floor(ring.side) - 1;
      const int even = (x % 2 == 0 ? x : x - reach(last) + ring.side) % ring.side;
      number |= (k == last ? x % 2 : even / 2 >> k & 1) << j;
    }
    return halved(number, steps, fold.teams());
  }

  Fold fold;

 private:
  struct Step {
    Dimension ring;
    int k, hops;
  };
  std::vector<Step> steps_;
};

}  // namespace

Schedule swing_bandwidth_allreduce(const Request& q) {
  const Swing swing(q);
  const Fold& fold = swing.fold;
  const int blocks = fold.teams(), other = fold.partner(q.rank), team = fold.team(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + 2 * fold.rounds();
  Program program(q, Collective::allreduce, "swing_bandwidth", blocks, false);
  program.copy(Buffer::out, Buffer::in, 0, blocks);
  if (!fold.acts(q.rank)) {
    program.send(other, Buffer::out, 0, blocks, 0);
    program.replace(other, Buffer::out, 0, blocks, last);
    return std::move(program).finish();
  }
  if (other >= 0) program.combine(other, Buffer::out, 0, blocks, other < q.rank, 0);
  for (int j = 0; j < fold.rounds(); ++j) {
    const int partner = swing.partner(team, j), peer = fold.acting(partner);
    const Interval give = swing.blocks(partner, j + 1), keep = swing.blocks(team, j + 1);
    program.send(peer, Buffer::out, give.first, give.count, first_round + j);
    program.combine(peer, Buffer::out, keep.first, keep.count, peer < q.rank, first_round + j);
  }
  for (int j = fold.rounds() - 1; j >= 0; --j) {
    const int partner = swing.partner(team, j), peer = fold.acting(partner);
    const Interval own = swing.blocks(team, j + 1), its = swing.blocks(partner, j + 1);
    program.send(peer, Buffer::out, own.first, own.count, last - 1 - j);
    program.replace(peer, Buffer::out, its.first, its.count, last - 1 - j);
  }
  if (other >= 0) program.send(other, Buffer::out, 0, blocks, last);
  return std::move(program).finish();
}

Schedule swing_latency_allreduce(const Request& q) {
  const Swing swing(q);
  const Fold& fold = swing.fold;
  const int other = fold.partner(q.rank), team = fold.team(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + fold.rounds();
  Program program(q, Collective::allreduce, "swing_latency", 1, false);
  program.copy(Buffer::out, Buffer::in, 0, 1);
  if (!fold.acts(q.rank)) {
    program.send(other, Buffer::out, 0, 1, 0);
    program.replace(other, Buffer::out, 0, 1, last);
    return std::move(program).finish();
  }
  if (other >= 0) program.combine(other, Buffer::out, 0, 1, other < q.rank, 0);
  for (int j = fold.rounds() - 1, round = first_round; j >= 0; --j, ++round) {
    const int peer = fold.acting(swing.partner(team, j));
    program.send(peer, Buffer::out, 0, 1, round);
    program.replace(peer, Buffer::tmp, 0, 1, round);
    program.combine_local(Buffer::out, Buffer::tmp, 0, 1, peer < q.rank, round);
  }
  if (other >= 0) program.send(other, Buffer::out, 0, 1, last);
  return std::move(program).finish();
}

}  // namespace stretto::schedule
