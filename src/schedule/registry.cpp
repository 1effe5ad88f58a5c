#include "schedule/registry.hpp"

#include "schedule/builders.hpp"

namespace stretto::schedule {

const std::vector<Algorithm>& algorithms() {
  using C = Collective;
  // L = ceil(log2 p), K = (k-1) ceil(log_k p), q = largest power of two <= p; sent: by the busiest rank, n the whole vector.
  static const std::vector<Algorithm> all = {
      {C::allreduce, "ring", false, false, false, "2(p-1) rounds, 2(p-1)/p n sent, (p-1)/p n combined", ring_allreduce},
      {C::allreduce, "rabenseifner", true, false, false,
       "2 log2 q (+2) rounds, 2(q-1)/q n (+n) sent, (q-1)/q n (+n) combined", rabenseifner_allreduce},
      {C::allreduce, "recursive_doubling", true, false, false,
       "log2 q (+2) rounds, n log2 q (+n) sent, n log2 q (+n) combined", recursive_doubling_allreduce},
      {C::allreduce, "binomial", true, false, false, "2 L rounds, n L sent, n L combined", binomial_allreduce},
      {C::allreduce, "knomial", true, false, true, "2 K rounds, n K sent, n K combined", knomial_allreduce},
      {C::allreduce, "chain", true, true, false, "2p-3+B rounds of n/B, 2n sent, n combined", chain_allreduce},

      {C::reduce, "rabenseifner", true, false, false,
       "2 log2 q (+1) rounds, 2(q-1)/q n sent (+n folded), (q-1)/q n (+n) combined", rabenseifner_reduce},
      {C::reduce, "binomial", true, false, false, "L rounds, n sent, n L combined", binomial_reduce},
      {C::reduce, "knomial", true, false, true, "K rounds, n sent, n K combined", knomial_reduce},
      {C::reduce, "chain", true, true, false, "at most p-2+B rounds of n/B, n sent, n combined, 2n at a root inside",
       chain_reduce},
      {C::reduce, "linear", true, false, false, "p-1 rounds, n sent, (p-1) n combined at the root", linear_reduce},

      {C::reduce_scatter, "ring", false, false, false, "p-1 rounds, (p-1)/p n sent, (p-1)/p n combined",
       ring_reduce_scatter},
      {C::reduce_scatter, "recursive_halving", true, false, false,
       "log2 q + 1 (+1) rounds, (q-1)/q n + 2n/p (+n) sent, (q-1)/q n (+n) combined", recursive_halving_reduce_scatter},
      {C::reduce_scatter, "pairwise", false, false, false, "p-1 rounds, (p-1)/p n sent, (p-1)/p n combined",
       pairwise_reduce_scatter},
      {C::reduce_scatter, "linear", true, false, false, "2(p-1) half-filled rounds, (p-1)/p n sent, (p-1)/p n combined",
       linear_reduce_scatter},

      {C::allgather, "ring", true, false, false, "p-1 rounds, (p-1)/p n sent", ring_allgather},
      {C::allgather, "dissemination", true, false, false, "L rounds, (p-1)/p n sent", dissemination_allgather},
      {C::allgather, "recursive_doubling", true, false, false, "log2 q (+2) rounds, (p-1)/p n (+n) sent",
       recursive_doubling_allgather},
      {C::allgather, "pairwise", true, false, false, "p-1 rounds, (p-1)/p n sent", pairwise_allgather},

      {C::broadcast, "binomial", true, false, false, "L rounds, n L sent", binomial_broadcast},
      {C::broadcast, "scatter_allgather", true, false, false, "L + p-1 rounds, 2(p-1)/p n sent",
       scatter_allgather_broadcast},
      {C::broadcast, "chain", true, true, false, "p-2+B rounds of n/B, n sent", chain_broadcast},
      {C::broadcast, "knomial", true, false, true, "K rounds, n K sent", knomial_broadcast},
      {C::broadcast, "linear", true, false, false, "p-1 rounds, (p-1) n sent", linear_broadcast},

      {C::gather, "binomial", true, false, false, "L rounds, (p-1)/p n into the root", binomial_gather},
      {C::gather, "knomial", true, false, true, "K rounds, (p-1)/p n into the root", knomial_gather},
      {C::gather, "linear", true, false, false, "p-1 rounds, (p-1)/p n into the root", linear_gather},

      {C::scatter, "binomial", true, false, false, "L rounds, (p-1)/p n sent", binomial_scatter},
      {C::scatter, "knomial", true, false, true, "K rounds, (p-1)/p n sent", knomial_scatter},
      {C::scatter, "linear", true, false, false, "p-1 rounds, (p-1)/p n sent", linear_scatter},

      {C::alltoall, "pairwise", true, false, false, "p-1 rounds, (p-1)/p n sent", pairwise_alltoall},
      {C::alltoall, "linear", true, false, false, "1 round of p-1 messages, (p-1)/p n sent", linear_alltoall},

      {C::barrier, "dissemination", true, false, false, "L rounds, nothing sent", dissemination_barrier},
      {C::barrier, "recursive_doubling", true, false, false, "log2 q (+2) rounds, nothing sent",
       recursive_doubling_barrier},
      {C::barrier, "binomial", true, false, false, "2 L rounds, nothing sent", binomial_barrier},
      {C::barrier, "knomial", true, false, true, "2 K rounds, nothing sent", knomial_barrier},
      {C::barrier, "linear", true, false, false, "2 rounds, p-1 messages at rank 0", linear_barrier},
  };
  return all;
}

std::vector<Schedule> build_all(const Algorithm& algorithm, Request request) {
  std::vector<Schedule> all;
  all.reserve(static_cast<std::size_t>(request.ranks));
  for (request.rank = 0; request.rank < request.ranks; ++request.rank) all.push_back(algorithm.build(request));
  return all;
}

const Algorithm* find(Collective collective, std::string_view name) {
  for (const Algorithm& a : algorithms()) {
    if (a.collective == collective && (name.empty() || a.name == name)) return &a;
  }
  return nullptr;
}

const Algorithm& default_algorithm(Collective collective, bool keeps_order) {
  for (const Algorithm& a : algorithms()) {
    if (a.collective == collective && (a.keeps_order || !keeps_order)) return a;
  }
  return algorithms().front();  // no collective is without an algorithm that keeps order
}

}  // namespace stretto::schedule
