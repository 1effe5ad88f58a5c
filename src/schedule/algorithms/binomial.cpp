// Binomial trees: the trees of knomial.cpp with k = 2, and the classic for short vectors and for rooted collectives. In each
// of ceil(log2 p) rounds the number of ranks that have been reached doubles (broadcast, scatter) or the number of sums halves
// (reduce, gather). Subtrees are intervals of ranks whatever the root, so reductions keep the order of contributions
// and a gather moves whole ranges.
//
// Cost, reduce: ceil(log2 p) rounds, n bytes sent a rank, ceil(log2 p) n combined at the root. Compressed: 1 vector compressed,
//   1 decompressed at the root; error p eps. broadcast: as many rounds, ceil(log2 p) n bytes sent at the root, compressed once;
//   error eps. gather, scatter: as many rounds, (p-1)/p n bytes at the root; error eps. allreduce: reduce and broadcast.
//   barrier: 2 ceil(log2 p) rounds.
#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/knomial.hpp"

namespace stretto::schedule {

Schedule binomial_allreduce(const Request& q) { return tree_allreduce(q, 2, "binomial"); }
Schedule binomial_reduce(const Request& q) { return tree_reduce(q, 2, "binomial"); }
Schedule binomial_broadcast(const Request& q) { return tree_broadcast(q, 2, "binomial"); }
Schedule binomial_gather(const Request& q) { return tree_gather(q, 2, "binomial"); }
Schedule binomial_scatter(const Request& q) { return tree_scatter(q, 2, "binomial"); }
Schedule binomial_barrier(const Request& q) { return tree_barrier(q, 2, "binomial"); }

}  // namespace stretto::schedule
