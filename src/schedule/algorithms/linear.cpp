// Linear: every block goes straight to its destination, with p - 1 messages at the busiest rank. Reductions combine in
// rank order, from the owner's contribution outwards.
#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

// The root's round with a rank: lower neighbours outwards, then higher ones.
int turn(int rank, int root) { return rank < root ? root - 1 - rank : rank - 1; }
int at_turn(int round, int root) { return round < root ? root - 1 - round : round + 1; }

}  // namespace

Schedule linear_reduce(const Request& q) {
  Program program(q, Collective::reduce, "linear", 1, true);
  if (q.rank != q.root) {
    program.send(q.root, Buffer::in, 0, 1, turn(q.rank, q.root));
    return std::move(program).finish();
  }
  program.copy(Buffer::out, Buffer::in, 0, 1);
  for (int round = 0; round + 1 < q.ranks; ++round) {
    const int peer = at_turn(round, q.root);
    program.combine(peer, Buffer::out, 0, 1, peer < q.root, round);
  }
  return std::move(program).finish();
}

// At distance d = 1, 2, ... blocks go to higher ranks first, so every sum grows outwards on both sides.
Schedule linear_reduce_scatter(const Request& q) {
  const int p = q.ranks;
  Program program(q, Collective::reduce_scatter, "linear", p, true);
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  for (int d = 1; d < p; ++d) {
    const int low = q.rank - d;
    const int high = q.rank + d;
    const int round = 2 * (d - 1);
    if (high < p) program.send(high, Buffer::in, high, 1, round);
    if (low >= 0) program.combine(low, Buffer::out, q.rank, 1, true, round);
    if (low >= 0) program.send(low, Buffer::in, low, 1, round + 1);
    if (high < p) program.combine(high, Buffer::out, q.rank, 1, false, round + 1);
  }
  return std::move(program).finish();
}

Schedule linear_broadcast(const Request& q) {
  Program program(q, Collective::bcast, "linear", 1, true);
  if (q.rank != q.root) {
    program.replace(q.root, Buffer::out, 0, 1, turn(q.rank, q.root));
    return std::move(program).finish();
  }
  program.copy(Buffer::out, Buffer::in, 0, 1);
  for (int round = 0; round + 1 < q.ranks; ++round) program.send(at_turn(round, q.root), Buffer::in, 0, 1, round);
  return std::move(program).finish();
}

Schedule linear_gather(const Request& q) {
  Program program(q, Collective::gather, "linear", q.ranks, true);
  if (q.rank != q.root) {
    program.send(q.root, Buffer::in, q.rank, 1, turn(q.rank, q.root));
    return std::move(program).finish();
  }
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  for (int round = 0; round + 1 < q.ranks; ++round) {
    program.replace(at_turn(round, q.root), Buffer::out, at_turn(round, q.root), 1, round);
  }
  return std::move(program).finish();
}

Schedule linear_scatter(const Request& q) {
  Program program(q, Collective::scatter, "linear", q.ranks, true);
  if (q.rank != q.root) {
    program.replace(q.root, Buffer::out, q.rank, 1, turn(q.rank, q.root));
    return std::move(program).finish();
  }
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  for (int round = 0; round + 1 < q.ranks; ++round) {
    program.send(at_turn(round, q.root), Buffer::in, at_turn(round, q.root), 1, round);
  }
  return std::move(program).finish();
}

Schedule linear_alltoall(const Request& q) {
  const int p = q.ranks;
  Program program(q, Collective::alltoall, "linear", p * p, true);
  program.copy(Buffer::out, Buffer::in, q.rank * p + q.rank, 1);
  for (int d = 1; d < p; ++d) {
    const int to = wrap(q.rank + d, p);
    const int from = wrap(q.rank - d, p);
    program.replace(from, Buffer::out, from * p + q.rank, 1, 0);
    program.send(to, Buffer::in, q.rank * p + to, 1, 0);
  }
  return std::move(program).finish();
}

Schedule linear_barrier(const Request& q) {
  Program program(q, Collective::barrier, "linear", 0, true);
  if (q.rank != 0) {
    program.signal(0, 0);
    program.await(0, 1);
    return std::move(program).finish();
  }
  for (int r = 1; r < q.ranks; ++r) program.await(r, 0);
  for (int r = 1; r < q.ranks; ++r) program.signal(r, 1);
  return std::move(program).finish();
}

}  // namespace stretto::schedule
