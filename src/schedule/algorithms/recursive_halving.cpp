// Recursive halving: a reduce-scatter in log2 p rounds, as in rabenseifner.cpp, on p blocks. With the nearest ranks
// first that leaves blocks in the order of reversed bits, and one more round passes each block to its owner. With the
// farthest first each rank keeps its own, but ranks do not combine in their order.
#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/fold.hpp"
#include "schedule/algorithms/halving.hpp"

namespace stretto::schedule {
namespace {

enum class First : bool { nearest, farthest };

Interval held(const Fold& fold, int team, int rounds, First first) {
  if (first == First::nearest) return halved(team, rounds, fold.teams());
  const int left = fold.rounds() - rounds;
  return {team >> left << left, 1 << left};
}

Schedule halving(const Request& q, std::string_view name, First order) {
  const Fold fold(q.ranks);
  const int partner = fold.partner(q.rank);
  const int team = fold.team(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + fold.rounds();
  const auto holder = [&](int of) { return fold.acting(held(fold, of, fold.rounds(), order).first); };
  Program program(q, Collective::reduce_scatter, name, q.ranks, order == First::nearest);
  if (!fold.acts(q.rank)) {
    program.send(partner, Buffer::in, 0, q.ranks, 0);
    program.replace(holder(team), Buffer::out, q.rank, 1, last);
    return std::move(program).finish();
  }

  program.copy(Buffer::tmp, Buffer::in, 0, q.ranks);
  if (partner >= 0) program.combine(partner, Buffer::tmp, 0, q.ranks, partner < q.rank, 0);
  for (int j = 0; j < fold.rounds(); ++j) {
    const int other = team ^ (1 << (order == First::nearest ? j : fold.rounds() - 1 - j));
    const int peer = fold.acting(other);
    const Interval give = held(fold, other, j + 1, order);
    const Interval keep = held(fold, team, j + 1, order);
    const auto first = [&](int piece) { return fold.first_rank(piece); };
    program.send(peer, Buffer::tmp, first(give.first), first(give.first + give.count) - first(give.first),
                 first_round + j);
    program.combine(peer, Buffer::tmp, first(keep.first), first(keep.first + keep.count) - first(keep.first),
                    other < team, first_round + j);
  }

  const int piece = held(fold, team, fold.rounds(), order).first;
  for (int block = fold.first_rank(piece); block < fold.first_rank(piece + 1); ++block) {
    if (block == q.rank) {
      program.copy(Buffer::out, Buffer::tmp, block, 1, last);
    } else {
      program.send(block, Buffer::tmp, block, 1, last);
    }
  }
  if (holder(team) != q.rank) program.replace(holder(team), Buffer::out, q.rank, 1, last);
  return std::move(program).finish();
}

}  // namespace

Schedule recursive_halving_reduce_scatter(const Request& q) { return halving(q, "recursive_halving", First::nearest); }

Schedule farthest_first_reduce_scatter(const Request& q) { return halving(q, "farthest_first", First::farthest); }

}  // namespace stretto::schedule
