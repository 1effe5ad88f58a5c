// Dissemination. In round j each rank tells the rank 2^j behind it all that it knows, and hears from the rank 2^j ahead:
// knowledge doubles, and ceil(log2 p) rounds do for any p, with no folding. As a barrier the messages are empty. As an allgather
// (Bruck's) a rank knows the blocks that start with its own, at most 2^j of them, wrapping around at p; what wraps takes a
// second message. Reductions would count contributions twice unless p is a power of two, so there is none here.
//
// Cost, barrier: ceil(log2 p) rounds, no bytes. allgather: ceil(log2 p) rounds, (p-1)/p n bytes a rank; 1 block compressed,
//   p-1 decompressed; error eps.
#include <algorithm>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

// Calls f(first, count) for `count` blocks from `first` on, wrapping around at p: one range or two.
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
