// Rabenseifner: a reduce-scatter by recursive halving (halving.hpp), then an allgather by recursive doubling along the
// same pairs, backwards. A reduce gathers to the root instead, which acts for its team (fold.hpp). Near ranks merge
// first, which keeps rank order.
#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/fold.hpp"
#include "schedule/algorithms/halving.hpp"

namespace stretto::schedule {
namespace {

// Among acting ranks; `sum` includes the partner's contribution.
void halve(Program& program, const Fold& fold, int rank, Buffer sum, int first_round) {
  const int team = fold.team(rank);
  for (int j = 0; j < fold.rounds(); ++j) {
    const int other = team ^ (1 << j);
    const int peer = fold.acting(other);
    const Interval give = halved(other, j + 1, fold.teams());
    const Interval keep = halved(team, j + 1, fold.teams());
    program.send(peer, sum, give.first, give.count, first_round + j);
    program.combine(peer, sum, keep.first, keep.count, other < team, first_round + j);
  }
}

}  // namespace

Schedule rabenseifner_allreduce(const Request& q) {
  const Fold fold(q.ranks);
  const int blocks = fold.teams();
  const int partner = fold.partner(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + 2 * fold.rounds();
  Program program(q, Collective::allreduce, "rabenseifner", blocks, true);
  program.copy(Buffer::out, Buffer::in, 0, blocks);
  if (!fold.acts(q.rank)) {
    program.send(partner, Buffer::out, 0, blocks, 0);
    program.replace(partner, Buffer::out, 0, blocks, last);
    return std::move(program).finish();
  }
  if (partner >= 0) program.combine(partner, Buffer::out, 0, blocks, partner < q.rank, 0);
  halve(program, fold, q.rank, Buffer::out, first_round);
  const int team = fold.team(q.rank);
  for (int j = fold.rounds() - 1; j >= 0; --j) {
    const int other = team ^ (1 << j);
    const int peer = fold.acting(other);
    const Interval own = halved(team, j + 1, fold.teams());
    const Interval its = halved(other, j + 1, fold.teams());
    program.send(peer, Buffer::out, own.first, own.count, last - 1 - j);
    program.replace(peer, Buffer::out, its.first, its.count, last - 1 - j);
  }
  if (partner >= 0) program.send(partner, Buffer::out, 0, blocks, last);
  return std::move(program).finish();
}

Schedule rabenseifner_reduce(const Request& q) {
  const Fold fold(q.ranks, q.root);
  const int blocks = fold.teams();
  const int partner = fold.partner(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + 2 * fold.rounds();
  Program program(q, Collective::reduce, "rabenseifner", blocks, true);
  if (!fold.acts(q.rank)) {
    program.send(partner, Buffer::in, 0, blocks, 0);
    return std::move(program).finish();
  }
  const Buffer sum = q.rank == q.root ? Buffer::out : Buffer::tmp;
  program.copy(sum, Buffer::in, 0, blocks);
  if (partner >= 0) program.combine(partner, sum, 0, blocks, partner < q.rank, 0);
  halve(program, fold, q.rank, sum, first_round);
  const int team = fold.team(q.rank);
  const int root_team = fold.team(q.root);
  for (int j = fold.rounds() - 1; j >= 0; --j) {
    const int other = team ^ (1 << j);
    const int peer = fold.acting(other);
    if (((team ^ root_team) >> j & 1) != 0) {
      const Interval own = halved(team, j + 1, fold.teams());
      program.send(peer, sum, own.first, own.count, last - 1 - j);
      break;
    }
    const Interval its = halved(other, j + 1, fold.teams());
    program.replace(peer, sum, its.first, its.count, last - 1 - j);
  }
  return std::move(program).finish();
}

}  // namespace stretto::schedule
