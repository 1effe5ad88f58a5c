// Recursive doubling: in round j each rank exchanges all its data with the rank whose number differs in bit j. The
// fewest rounds, but a whole vector per round of a reduction: best for short vectors and many ranks. Ranks are folded
// (fold.hpp). Neighbouring intervals merge, in rank order. Received blocks go to tmp, since the rank's own are under
// way.
#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/fold.hpp"

namespace stretto::schedule {

Schedule recursive_doubling_allreduce(const Request& q) {
  const Fold fold(q.ranks);
  const int partner = fold.partner(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + fold.rounds();
  Program program(q, Collective::allreduce, "recursive_doubling", 1, true);
  program.copy(Buffer::out, Buffer::in, 0, 1);
  if (!fold.acts(q.rank)) {
    program.send(partner, Buffer::out, 0, 1, 0);
    program.replace(partner, Buffer::out, 0, 1, last);
    return std::move(program).finish();
  }
  if (partner >= 0) program.combine(partner, Buffer::out, 0, 1, partner < q.rank, 0);
  for (int j = 0; j < fold.rounds(); ++j) {
    const int peer = fold.acting(fold.team(q.rank) ^ (1 << j));
    program.send(peer, Buffer::out, 0, 1, first_round + j);
    program.replace(peer, Buffer::tmp, 0, 1, first_round + j);
    program.combine_local(Buffer::out, Buffer::tmp, 0, 1, peer < q.rank, first_round + j);
  }
  if (partner >= 0) program.send(partner, Buffer::out, 0, 1, last);
  return std::move(program).finish();
}

// A folded rank gets its own block, too: one message instead of two.
Schedule recursive_doubling_allgather(const Request& q) {
  const Fold fold(q.ranks);
  const int partner = fold.partner(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + fold.rounds();
  Program program(q, Collective::allgather, "recursive_doubling", q.ranks, true);
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  if (!fold.acts(q.rank)) {
    program.send(partner, Buffer::out, q.rank, 1, 0);
    program.replace(partner, Buffer::out, 0, q.ranks, last);
    return std::move(program).finish();
  }
  if (partner >= 0) program.replace(partner, Buffer::out, partner, 1, 0);
  for (int j = 0; j < fold.rounds(); ++j) {
    const int size = 1 << j;
    const int own = fold.team(q.rank) & -size;
    const int other = own ^ size;
    const int peer = fold.acting(fold.team(q.rank) ^ size);
    const auto first = [&](int group) { return fold.first_rank(group); };
    program.send(peer, Buffer::out, first(own), first(own + size) - first(own), first_round + j);
    program.replace(peer, Buffer::out, first(other), first(other + size) - first(other), first_round + j);
  }
  if (partner >= 0) program.send(partner, Buffer::out, 0, q.ranks, last);
  return std::move(program).finish();
}

Schedule recursive_doubling_barrier(const Request& q) {
  const Fold fold(q.ranks);
  const int partner = fold.partner(q.rank);
  const int first_round = fold.folds() ? 1 : 0;
  const int last = first_round + fold.rounds();
  Program program(q, Collective::barrier, "recursive_doubling", 0, true);
  if (!fold.acts(q.rank)) {
    program.signal(partner, 0);
    program.await(partner, last);
    return std::move(program).finish();
  }
  if (partner >= 0) program.await(partner, 0);
  for (int j = 0; j < fold.rounds(); ++j) {
    const int peer = fold.acting(fold.team(q.rank) ^ (1 << j));
    program.signal(peer, first_round + j);
    program.await(peer, first_round + j);
  }
  if (partner >= 0) program.signal(partner, last);
  return std::move(program).finish();
}

}  // namespace stretto::schedule
