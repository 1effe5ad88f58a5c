// Binomial trees, knomial.cpp with k = 2: for short vectors and rooted collectives.
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
