// Pairwise exchange: in each of p - 1 rounds a rank exchanges one block. Partners are rank xor round if p is a power of
// two, else the ranks at that distance ahead and behind. A reduce-scatter adds blocks in order of arrival, so the
// operation must commute.
#include <bit>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

struct Pairing {
  explicit Pairing(const Request& q)
      : p(q.ranks), rank(q.rank), xors(std::has_single_bit(static_cast<unsigned>(q.ranks))) {}
  int to(int round) const { return xors ? rank ^ round : wrap(rank + round, p); }
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
