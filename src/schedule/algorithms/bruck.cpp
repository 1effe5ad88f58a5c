// Bruck. An alltoall in ceil(log2 p) rounds: a block that has to go d ranks ahead goes there by the powers of two that make up d, a
// round each, and so travels through up to log2 p ranks. A rank speaks to log2 p others and not to p - 1; each byte is sent about
// log2(p)/2 times: for short blocks.
//
// The powers go down, the largest first. Then what remains to go is less than the power, so a rank sends a range of another rank's blocks, to
// ranks next to each other: a round of distance 2^k takes about p / 2^(k+1) messages, all to one peer, p - 1
// in all rounds together. (The usual order, with the smallest power first, would leave single blocks.) The ranks on the way must know how long the blocks
// are that they pass on: where counts differ and a rank knows its own alone, as in an alltoallv, take pairwise or linear.
//
// Cost: L = ceil(log2 p) rounds, each with one peer, at most ceil(p/2)/p n L bytes a rank; n the p blocks of a rank. Compressed: p-1
//   blocks compressed once by their sources, forwarded as they are, p-1 decompressed; error eps.
#include <algorithm>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

// Calls f(sender, first, count) for the ranges of blocks that `rank` sends 2^k ahead: of sender s, those for the ranks from
// rank + 2^k on, fewer than 2^k further, as far as s sends to them; in two where they wrap around at p.
template <class F>
void ranges(int rank, int k, int p, F&& f) {
  const int step = 1 << k;
  for (int gone = 0; gone + step < p; gone += 2 * step) {
    const int sender = wrap(rank - gone, p);
    const int first = wrap(rank + step, p);
    const int count = std::min(step, p - gone - step);
    const int straight = std::min(count, p - first);
    f(sender, first, straight);
    if (count > straight) f(sender, 0, count - straight);
  }
}

}  // namespace

// The block that ends here comes first in its range, and is copied from tmp, unless it came alone.
Schedule bruck_alltoall(const Request& q) {
  const int p = q.ranks;
  const int rounds = log2_ceil(p);
  Program program(q, Collective::alltoall, "bruck", p * p, true);
  program.copy(Buffer::out, Buffer::in, q.rank * p + q.rank, 1);
  for (int k = rounds - 1; k >= 0; --k) {
    const int level = rounds - 1 - k;
    const int to = wrap(q.rank + (1 << k), p);
    const int from = wrap(q.rank - (1 << k), p);
    ranges(q.rank, k, p, [&](int sender, int first, int count) {
      program.send(to, sender == q.rank ? Buffer::in : Buffer::tmp, sender * p + first, count, level);
    });
    ranges(from, k, p, [&](int sender, int first, int count) {
      const bool alone = first == q.rank && count == 1;
      program.replace(from, alone ? Buffer::out : Buffer::tmp, sender * p + first, count, level);
      if (first == q.rank && !alone) program.copy(Buffer::out, Buffer::tmp, sender * p + q.rank, 1, level);
    });
  }
  return std::move(program).finish();
}

}  // namespace stretto::schedule
