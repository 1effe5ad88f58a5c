// Pairwise exchange. p - 1 rounds, in each of which every rank sends one block to one rank and receives one from one: from
// the same rank when p is a power of two (rank xor round), else the ranks at that distance ahead and behind. Every block
// travels straight from where it is to where it is needed, so no byte passes through a third rank, nothing waits for
// anything but its own sum, and the network sees one message a rank and round. In a reduce-scatter the receiver adds
// the blocks in the order in which they come, so the operation must commute; the variant of linear.cpp keeps the order.
//
// Cost: p-1 rounds, (p-1)/p n bytes a rank. reduce_scatter: (p-1)/p n combined; compressed: p-1 blocks compressed, p-1 (fused)
//   combines, 1 decompressed; error p eps. allgather: 1 block compressed, p-1 decompressed; alltoall: p-1 and p-1; error eps.
#include <bit>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

struct Pairing {
  explicit Pairing(const Request& q)
      : p(q.ranks), rank(q.rank), xors(std::has_single_bit(static_cast<unsigned>(q.ranks))) {}
  int to(int round) const { return xors ? rank ^ round : wrap(rank + round, p); }  // round in [1, p)
  int from(int round) const { return xors ? rank ^ round : wrap(rank - round, p); }

  int p, rank;
  bool xors;
};

}  // namespace

Schedule pairwise_reduce_scatter(const Request& q) {
  const Pairing pair(q);
  Program program(q, Collective::reduce_scatter, "pairwise", q.ranks, false);
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  for (int s = 1; s < q.ranks; ++s) {
    program.send(pair.to(s), Buffer::in, pair.to(s), 1, s - 1);
    program.combine(pair.from(s), Buffer::out, q.rank, 1, pair.from(s) < q.rank, s - 1);
  }
  return std::move(program).finish();
}

Schedule pairwise_allgather(const Request& q) {
  const Pairing pair(q);
  Program program(q, Collective::allgather, "pairwise", q.ranks, true);
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  for (int s = 1; s < q.ranks; ++s) {
    program.send(pair.to(s), Buffer::out, q.rank, 1, s - 1);
    program.replace(pair.from(s), Buffer::out, pair.from(s), 1, s - 1);
  }
  return std::move(program).finish();
}

Schedule pairwise_alltoall(const Request& q) {
  const Pairing pair(q);
  const int p = q.ranks;
  Program program(q, Collective::alltoall, "pairwise", p * p, true);
  program.copy(Buffer::out, Buffer::in, q.rank * p + q.rank, 1);
  for (int s = 1; s < p; ++s) {
    program.send(pair.to(s), Buffer::in, q.rank * p + pair.to(s), 1, s - 1);
    program.replace(pair.from(s), Buffer::out, pair.from(s) * p + q.rank, 1, s - 1);
  }
  return std::move(program).finish();
}

}  // namespace stretto::schedule
