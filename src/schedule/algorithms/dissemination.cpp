// Dissemination: in round j each rank sends all its data to the rank 2^j behind it. In an allgather (Bruck's) a rank
// holds at most 2^j blocks from its own on; blocks that wrap around at p take a second message. Reductions would count
// contributions twice unless p is a power of two.
#include <algorithm>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

template <class F>
void ranges(int first, int count, int p, F&& f) {
  const int straight = std::min(count, p - first);
  f(first, straight);
  if (count > straight) f(0, count - straight);
}

}  // namespace

Schedule dissemination_allgather(const Request& q) {
  const int p = q.ranks;
  Program program(q, Collective::allgather, "dissemination", p, true);
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  for (int j = 0, known = 1; known < p; ++j) {
    const int behind = wrap(q.rank - known, p);
    const int ahead = wrap(q.rank + known, p);
    const int count = std::min(known, p - known);
    ranges(q.rank, count, p, [&](int first, int n) { program.send(behind, Buffer::out, first, n, j); });
    ranges(ahead, count, p, [&](int first, int n) { program.replace(ahead, Buffer::out, first, n, j); });
    known += count;
  }
  return std::move(program).finish();
}

Schedule dissemination_barrier(const Request& q) {
  const int p = q.ranks;
  Program program(q, Collective::barrier, "dissemination", 0, true);
  for (int j = 0; j < log2_ceil(p); ++j) {
    program.signal(wrap(q.rank - (1 << j), p), j);
    program.await(wrap(q.rank + (1 << j), p), j);
  }
  return std::move(program).finish();
}

}  // namespace stretto::schedule
