// Bruck: a block travels d ranks ahead by the powers of two of d, the largest first. So a rank sends ranges of other
// ranks' blocks: about p / 2^(k+1) messages to one peer in a round of distance 2^k, p - 1 in all. Sources compress
// blocks once. Forwarding ranks must know lengths: no alltoallv.
#include <algorithm>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

// Calls f(sender, first, count) for the ranges that `rank` sends 2^k ahead: a sender's blocks for fewer than 2^k ranks
// from rank + 2^k on, in two parts if they wrap around at p.
template <class F>
void ranges_sent(int rank, int k, int p, F&& f) {
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

// A block for this rank is its range's first, and is copied from tmp unless it came alone.
Schedule bruck_alltoall(const Request& q) {
  const int p = q.ranks;
  const int rounds = log2_ceil(p);
  Program program(q, Collective::alltoall, "bruck", p * p, true);
  program.copy(Buffer::out, Buffer::in, q.rank * p + q.rank, 1);
  for (int k = rounds - 1; k >= 0; --k) {
    const int level = rounds - 1 - k;
    const int to = wrap(q.rank + (1 << k), p);
    const int from = wrap(q.rank - (1 << k), p);
    ranges_sent(q.rank, k, p, [&](int sender, int first, int count) {
      program.send(to, sender == q.rank ? Buffer::in : Buffer::tmp, sender * p + first, count, level);
    });
    ranges_sent(from, k, p, [&](int sender, int first, int count) {
      const bool alone = first == q.rank && count == 1;
      program.replace(from, alone ? Buffer::out : Buffer::tmp, sender * p + first, count, level);
      if (first == q.rank && !alone) program.copy(Buffer::out, Buffer::tmp, sender * p + q.rank, 1, level);
    });
  }
  return std::move(program).finish();
}

}  // namespace stretto::schedule
