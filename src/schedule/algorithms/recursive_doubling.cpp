// Recursive doubling: in round j each rank exchanges all its data with the rank whose number differs in bit j. Ranks
// are folded (fold.hpp). Neighbouring intervals merge, in rank order. Received blocks go to tmp, since the rank's own
// are in flight.
//
// A scan (Hillis and Steele, "Data parallel algorithms", 1986) sends one way: in round j to the rank 2^j above. After
// it a rank has the sum of the last 2^(j+1) ranks up to its own. An exscan is a scan of the predecessors'
// contributions, which a first round delivers.
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

namespace {

void scan_upwards(const Request& q, int first, int level, Program* program) {
  for (int distance = 1; distance < q.ranks - first; distance *= 2, ++level) {
    const bool sends = q.rank >= first && q.rank + distance < q.ranks, receives = q.rank - distance >= first;
    if (sends) program->send(q.rank + distance, Buffer::out, 0, 1, level);
    if (!receives) continue;
    if (sends) program->replace(q.rank - distance, Buffer::tmp, 0, 1, level);
    if (sends) program->combine_local(Buffer::out, Buffer::tmp, 0, 1, true, level);
    if (!sends) program->combine(q.rank - distance, Buffer::out, 0, 1, true, level);
  }
}

}  // namespace

Schedule recursive_doubling_scan(const Request& q) {
  Program program(q, Collective::scan, "recursive_doubling", 1, true);
  program.copy(Buffer::out, Buffer::in, 0, 1);
  scan_upwards(q, 0, 0, &program);
  return std::move(program).finish();
}

// In place, a rank's contribution is in `out` until it has left.
Schedule recursive_doubling_exscan(const Request& q) {
  Program program(q, Collective::exscan, "recursive_doubling", 1, true);
  const int last = q.ranks - 1;
  if (q.rank == 0 && last > 0) program.send(1, Buffer::in, 0, 1, 0);
  if (q.rank > 0 && q.rank == last) program.replace(q.rank - 1, Buffer::out, 0, 1, 0);
  if (q.rank > 0 && q.rank < last) {
    program.copy(Buffer::out, Buffer::in, 0, 1);
    program.send(q.rank + 1, Buffer::out, 0, 1, 0);
    program.replace(q.rank - 1, Buffer::tmp, 0, 1, 0);
    program.copy(Buffer::out, Buffer::tmp, 0, 1);
  }
  scan_upwards(q, 1, 1, &program);
  return std::move(program).finish();
}

}  // namespace stretto::schedule
