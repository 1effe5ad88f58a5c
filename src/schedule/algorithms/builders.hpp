// Contract and costs: registry.hpp.
#pragma once

#include "schedule/schedule.hpp"

namespace stretto::schedule {

Schedule ring_allreduce(const Request& request);
Schedule ring_reduce_scatter(const Request& request);
Schedule ring_allgather(const Request& request);

Schedule recursive_doubling_allreduce(const Request& request);
Schedule recursive_doubling_allgather(const Request& request);
Schedule recursive_doubling_barrier(const Request& request);
Schedule recursive_doubling_scan(const Request& request);
Schedule recursive_doubling_exscan(const Request& request);

Schedule rabenseifner_allreduce(const Request& request);
Schedule rabenseifner_reduce(const Request& request);

Schedule recursive_halving_reduce_scatter(const Request& request);
Schedule farthest_first_reduce_scatter(const Request& request);

Schedule swing_bandwidth_allreduce(const Request& request);
Schedule swing_latency_allreduce(const Request& request);

// binomial.cpp; with Request::radix knomial.cpp
Schedule binomial_allreduce(const Request& request);
Schedule binomial_reduce(const Request& request);
Schedule binomial_broadcast(const Request& request);
Schedule binomial_gather(const Request& request);
Schedule binomial_scatter(const Request& request);
Schedule binomial_barrier(const Request& request);
Schedule knomial_allreduce(const Request& request);
Schedule knomial_reduce(const Request& request);
Schedule knomial_broadcast(const Request& request);
Schedule knomial_gather(const Request& request);
Schedule knomial_scatter(const Request& request);
Schedule knomial_barrier(const Request& request);

Schedule scatter_allgather_broadcast(const Request& request);

Schedule chain_allreduce(const Request& request);
Schedule chain_reduce(const Request& request);
Schedule chain_broadcast(const Request& request);
Schedule chain_scan(const Request& request);
Schedule chain_exscan(const Request& request);

Schedule pairwise_reduce_scatter(const Request& request);
Schedule pairwise_allgather(const Request& request);
Schedule pairwise_alltoall(const Request& request);

Schedule bruck_alltoall(const Request& request);

Schedule dissemination_allgather(const Request& request);
Schedule dissemination_barrier(const Request& request);

Schedule line_reduce(const Request& request);
Schedule line_reduce_scatter(const Request& request);

Schedule linear_reduce(const Request& request);
Schedule linear_reduce_scatter(const Request& request);
Schedule linear_broadcast(const Request& request);
Schedule linear_gather(const Request& request);
Schedule linear_scatter(const Request& request);
Schedule linear_alltoall(const Request& request);
Schedule linear_barrier(const Request& request);

Schedule two_tree_allreduce(const Request& request);
Schedule two_tree_reduce(const Request& request);
Schedule two_tree_broadcast(const Request& request);

Schedule hierarchical_ring_allreduce(const Request& request);
Schedule hierarchical_rabenseifner_allreduce(const Request& request);
Schedule hierarchical_recursive_doubling_allreduce(const Request& request);
Schedule hierarchical_rabenseifner_reduce(const Request& request);
Schedule hierarchical_broadcast(const Request& request);
Schedule hierarchical_ring_reduce_scatter(const Request& request);
Schedule hierarchical_ring_allgather(const Request& request);

Schedule leader_allreduce(const Request& request);
Schedule leader_reduce(const Request& request);
Schedule leader_broadcast(const Request& request);
Schedule leader_allgather(const Request& request);
Schedule leader_gather(const Request& request);
Schedule leader_scatter(const Request& request);
Schedule leader_barrier(const Request& request);

}  // namespace stretto::schedule
