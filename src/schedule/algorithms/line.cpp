// Line: pieces go from rank 0 over every rank to rank p - 1, which sends them to their owners. Every element is ((x0 +
// x1) + x2) + ..., as in an allreduce by `chain`: equal bits for any root, length, pieces and groups.
#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

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
