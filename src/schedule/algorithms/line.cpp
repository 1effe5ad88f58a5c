// Up the line. Pieces of the vector go from rank 0 over every rank to rank p - 1, each of which adds its contribution to what comes from below,
// and the last rank sends them where they belong. So every element is ((x0 + x1) + x2) + ..., one contribution after the other in the
// order of the ranks, as in an allreduce by `chain`: the same bits whatever the root, the length, the pieces and the groups of ranks. It
// costs p - 1 messages before the first piece arrives; other schedules that keep the order of ranks bracket as it suits them, and are faster.
//
// Cost, reduce: p-2+B rounds (one more where the root is not the last rank), n bytes a rank, n combined (B pieces). reduce_scatter: 2p-2
//   rounds, n bytes a rank, (p-1)/p n at the last one, n combined. Compressed: 1 vector at rank 0, fused after; error p eps.
#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

// Blocks as they pass this rank; `owner(b)` gets block b in `out`.
template <class Owner>
Schedule up_the_line(const Request& q, Collective collective, int blocks, const Owner& owner) {
  const int last = q.ranks - 1;
  Program program(q, collective, "line", blocks, true);
  for (int b = 0; b < blocks; ++b) {
    const bool stays = q.rank == last && owner(b) == last;
    const Buffer sum = q.rank == owner(b) ? Buffer::out : q.rank == 0 ? Buffer::in : Buffer::tmp;
    if (sum != Buffer::in) program.copy(sum, Buffer::in, b, 1);
    if (q.rank > 0) program.combine(q.rank - 1, sum, b, 1, true, q.rank - 1 + b);
    if (!stays) program.send(q.rank < last ? q.rank + 1 : owner(b), sum, b, 1, q.rank + b);
    if (q.rank < last && q.rank == owner(b)) program.replace(last, Buffer::out, b, 1, last + b);
  }
  program.interleave(0);
  return std::move(program).finish();
}

}  // namespace

Schedule line_reduce(const Request& q) {
  return up_the_line(q, Collective::reduce, q.blocks > 0 ? q.blocks : 8, [&](int) { return q.root; });
}

Schedule line_reduce_scatter(const Request& q) {
  return up_the_line(q, Collective::reduce_scatter, q.ranks, [](int b) { return b; });
}

}  // namespace stretto::schedule
