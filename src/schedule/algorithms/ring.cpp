// Ring: each rank sends to the next rank and receives from the previous one. Each of p blocks goes once around: in a
// reduce-scatter it collects contributions, and ends at the rank of its number. Blocks meet ranks in ring order, so the
// operation must commute.
#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

struct Ring {
  explicit Ring(const Request& q) : p(q.ranks), rank(q.rank), next(wrap(rank + 1, p)), previous(wrap(rank - 1, p)) {}
  int before(int distance) const { return wrap(rank - distance, p); }  // distance in [0, p]

  int p, rank, next, previous;
};

// Every rank's own block is in out.
void circulate(Program& program, const Ring& ring, int first_round) {
  for (int s = 0; s + 1 < ring.p; ++s) {
    program.send(ring.next, Buffer::out, ring.before(s), 1, first_round + s);
    program.replace(ring.previous, Buffer::out, ring.before(s + 1), 1, first_round + s);
  }
}

}  // namespace

Schedule ring_allreduce(const Request& q) {
  const Ring ring(q);
  Program program(q, Collective::allreduce, "ring", q.ranks, false);
  for (int s = 1; s <= ring.p; ++s) program.copy(Buffer::out, Buffer::in, ring.before(s), 1);
  for (int s = 1; s < ring.p; ++s) {
    program.send(ring.next, Buffer::out, ring.before(s), 1, s - 1);
    program.combine(ring.previous, Buffer::out, ring.before(s + 1), 1, true, s - 1);
  }
  circulate(program, ring, ring.p - 1);
  return std::move(program).finish();
}

Schedule ring_reduce_scatter(const Request& q) {
  const Ring ring(q);
  Program program(q, Collective::reduce_scatter, "ring", q.ranks, false);
  for (int s = 2; s < ring.p; ++s) program.copy(Buffer::tmp, Buffer::in, ring.before(s), 1);
  program.copy(Buffer::out, Buffer::in, ring.rank, 1);
  for (int s = 1; s < ring.p; ++s) {
    program.send(ring.next, s == 1 ? Buffer::in : Buffer::tmp, ring.before(s), 1, s - 1);
    program.combine(ring.previous, s + 1 == ring.p ? Buffer::out : Buffer::tmp, ring.before(s + 1), 1, true, s - 1);
  }
  return std::move(program).finish();
}

Schedule ring_allgather(const Request& q) {
  const Ring ring(q);
  Program program(q, Collective::allgather, "ring", q.ranks, true);
  program.copy(Buffer::out, Buffer::in, ring.rank, 1);
  circulate(program, ring, 0);
  return std::move(program).finish();
}

}  // namespace stretto::schedule
