// Pipelined chain: B pieces pass along a line of ranks. A reduction runs from both ends to the root, in rank order; a
// broadcast from the root around to the previous rank; an allreduce up the line and back, both overlapping; a scan up
// the line.
#include <algorithm>

#include "schedule/algorithms/builders.hpp"
#include "schedule/program.hpp"

namespace stretto::schedule {
namespace {

int pieces(const Request& q) { return q.blocks > 0 ? q.blocks : 8; }

}  // namespace

Schedule chain_broadcast(const Request& q) {
  const int p = q.ranks;
  const int blocks = pieces(q);
  const int place = wrap(q.rank - q.root, p);
  Program program(q, Collective::bcast, "chain", blocks, true);
  if (place == 0) program.copy(Buffer::out, Buffer::in, 0, blocks);
  for (int b = 0; b < blocks; ++b) {
    if (place > 0) program.replace(wrap(q.rank - 1, p), Buffer::out, b, 1, place - 1 + b);
    if (place + 1 < p) program.send(wrap(q.rank + 1, p), place == 0 ? Buffer::in : Buffer::out, b, 1, place + b);
  }
  return std::move(program).finish();
}

Schedule chain_reduce(const Request& q) {
  const int p = q.ranks;
  const int blocks = pieces(q);
  const bool root = q.rank == q.root;
  const int below = q.root;
  const int above = p - 1 - q.root;
  const int start_below = 0;
  const int start_above = below > 0 && above == below ? 1 : 0;  // equal sides would collide in each round
  const Buffer sum = root ? Buffer::out : Buffer::tmp;
  Program program(q, Collective::reduce, "chain", blocks, true);

  const bool end = !root && (q.rank == 0 || q.rank == p - 1);
  if (!end) {
    for (int b = 0; b < blocks; ++b) program.copy(sum, Buffer::in, b, 1);
  }
  for (int b = 0; b < blocks; ++b) {
    const auto take = [&](int peer, bool first, int level) { program.combine(peer, sum, b, 1, first, level); };
    const auto give = [&](int peer, int level) { program.send(peer, end ? Buffer::in : sum, b, 1, level); };
    if (root) {
      const int from_below = start_below + below - 1 + b;
      const int from_above = start_above + above - 1 + b;
      if (below > 0 && from_below <= from_above) take(q.rank - 1, true, from_below);
      if (above > 0) take(q.rank + 1, false, from_above);
      if (below > 0 && from_below > from_above) take(q.rank - 1, true, from_below);
    } else if (q.rank < q.root) {
      if (q.rank > 0) take(q.rank - 1, true, start_below + q.rank - 1 + b);
      give(q.rank + 1, start_below + q.rank + b);
    } else {
      if (q.rank < p - 1) take(q.rank + 1, false, start_above + p - 2 - q.rank + b);
      give(q.rank - 1, start_above + p - 1 - q.rank + b);
    }
  }
  return std::move(program).finish();
}

// Piece b goes up from rank 0 in rounds b, b+1, ..., and returns from rank p-1 from round p-1+b on.
Schedule chain_allreduce(const Request& q) {
  const int p = q.ranks;
  const int blocks = pieces(q);
  const int up = q.rank;  // round of piece b: up + b
  const int down = p - 1 + (p - 1 - q.rank);
  Program program(q, Collective::allreduce, "chain", blocks, true);
  for (int b = 0; b < blocks; ++b) {
    program.copy(Buffer::out, Buffer::in, b, 1);
    if (q.rank > 0) program.combine(q.rank - 1, Buffer::out, b, 1, true, up - 1 + b);
    if (q.rank < p - 1) {
      program.send(q.rank + 1, Buffer::out, b, 1, up + b);
      program.replace(q.rank + 1, Buffer::out, b, 1, down - 1 + b);
    }
    if (q.rank > 0) program.send(q.rank - 1, Buffer::out, b, 1, down + b);
  }
  program.interleave(0);
  return std::move(program).finish();
}

// Piece b leaves rank r in round r + b, with the sum of ranks 0 to r.
Schedule chain_scan(const Request& q) {
  Program program(q, Collective::scan, "chain", pieces(q), true);
  for (int b = 0; b < pieces(q); ++b) {
    program.copy(Buffer::out, Buffer::in, b, 1);
    if (q.rank > 0) program.combine(q.rank - 1, Buffer::out, b, 1, true, q.rank - 1 + b);
    if (q.rank < q.ranks - 1) program.send(q.rank + 1, Buffer::out, b, 1, q.rank + b);
  }
  return std::move(program).finish();
}

// In place, the received result is in tmp until the contribution has left `out`.
Schedule chain_exscan(const Request& q) {
  const int last = q.ranks - 1;
  Program program(q, Collective::exscan, "chain", pieces(q), true);
  for (int b = 0; b < pieces(q); ++b) {
    if (q.rank == 0 && last > 0) program.send(1, Buffer::in, b, 1, b);
    if (q.rank > 0 && q.rank == last) program.replace(q.rank - 1, Buffer::out, b, 1, q.rank - 1 + b);
    if (q.rank == 0 || q.rank == last) continue;
    program.copy(Buffer::out, Buffer::in, b, 1);
    program.replace(q.rank - 1, Buffer::tmp, b, 1, q.rank - 1 + b);
    program.combine_local(Buffer::out, Buffer::tmp, b, 1, true, q.rank - 1 + b);
    program.send(q.rank + 1, Buffer::out, b, 1, q.rank + b);
    program.copy(Buffer::out, Buffer::tmp, b, 1);
  }
  return std::move(program).finish();
}

}  // namespace stretto::schedule
