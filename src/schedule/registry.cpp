#include "schedule/registry.hpp"

#include <limits>

#include "schedule/builders.hpp"
#include "schedule/names.hpp"

namespace stretto::schedule {

const std::vector<Algorithm>& algorithms() {
  using C = Collective;
  // L = ceil(log2 p), K = (k-1) ceil(log_k p), q = largest power of two <= p; sent: by the busiest rank, n the whole vector. t = floor(log2 p) + 1. H groups
  // of D ranks, l = ceil(log2 D), h = ceil(log2 H), Q = largest power of two <= H.
  static const std::vector<Algorithm> all = {
      {C::allreduce, "ring", false, false, false, "2(p-1) rounds, 2(p-1)/p n sent, (p-1)/p n combined", ring_allreduce},
      {C::allreduce, "rabenseifner", true, false, false,
       "2 log2 q (+2) rounds, 2(q-1)/q n (+n) sent, (q-1)/q n (+n) combined", rabenseifner_allreduce},
      {C::allreduce, "recursive_doubling", true, false, false,
       "log2 q (+2) rounds, n log2 q (+n) sent, n log2 q (+n) combined", recursive_doubling_allreduce},
      {C::allreduce, "binomial", true, false, false, "2 L rounds, n L sent, n L combined", binomial_allreduce},
      {C::allreduce, "knomial", true, false, true, "2 K rounds, n K sent, n K combined", knomial_allreduce},
      {C::allreduce, "chain", true, true, false, "2p-3+B rounds of n/B, 2n sent, n combined", chain_allreduce, false,
       false, true},
      {C::allreduce, "two_tree", true, true, false, "at most B-1+4t rounds of n/B, 2n sent, n combined",
       two_tree_allreduce},
      {C::allreduce, "hierarchical_ring", false, false, false,
       "3(D-1) + 2(H-1) rounds, 2(D-1)/D n inside, 2(H-1)/H n/D between, (p-1)/p n combined",
       hierarchical_ring_allreduce, true},
      {C::allreduce, "hierarchical_rabenseifner", false, false, false,
       "3(D-1) + 2 log2 Q (+2) rounds, 2(D-1)/D n inside, 2(Q-1)/Q n/D (+n/D) between",
       hierarchical_rabenseifner_allreduce, true, true},
      {C::allreduce, "hierarchical_recursive_doubling", false, false, false,
       "3(D-1) + log2 Q (+2) rounds, 2(D-1)/D n inside, log2 Q n/D (+n/D) between",
       hierarchical_recursive_doubling_allreduce, true, true},
      {C::allreduce, "leader", false, false, false, "2 l + log2 Q (+2) rounds, n l inside, n log2 Q (+n) between",
       leader_allreduce, true, true},

      {C::reduce, "rabenseifner", true, false, false,
       "2 log2 q (+1) rounds, 2(q-1)/q n sent (+n folded), (q-1)/q n (+n) combined", rabenseifner_reduce},
      {C::reduce, "binomial", true, false, false, "L rounds, n sent, n L combined", binomial_reduce},
      {C::reduce, "knomial", true, false, true, "K rounds, n sent, n K combined", knomial_reduce},
      {C::reduce, "chain", true, true, false, "at most p-2+B rounds of n/B, n sent, n combined, 2n at a root inside",
       chain_reduce},
      {C::reduce, "two_tree", false, true, false, "at most B+1+2t rounds of n/B, n sent, n combined", two_tree_reduce},
      {C::reduce, "linear", true, false, false, "p-1 rounds, n sent, (p-1) n combined at the root", linear_reduce},
      {C::reduce, "hierarchical_rabenseifner", false, false, false,
       "3(D-1) + 2 log2 Q (+1) rounds, (D-1)/D n inside, 2(Q-1)/Q n/D (+n/D) between", hierarchical_rabenseifner_reduce,
       true, true},
      {C::reduce, "leader", false, false, false, "l + h rounds, n sent, n (l + h) combined at the root", leader_reduce,
       true, true},
      {C::reduce, "line", true, true, false, "p-2+B (+1) rounds of n/B, n sent, n combined", line_reduce, false, false,
       true},

      {C::reduce_scatter, "ring", false, false, false, "p-1 rounds, (p-1)/p n sent, (p-1)/p n combined",
       ring_reduce_scatter},
      {C::reduce_scatter, "recursive_halving", true, false, false,
       "log2 q + 1 (+1) rounds, (q-1)/q n + 2n/p (+n) sent, (q-1)/q n (+n) combined", recursive_halving_reduce_scatter},
      {C::reduce_scatter, "pairwise", false, false, false, "p-1 rounds, (p-1)/p n sent, (p-1)/p n combined",
       pairwise_reduce_scatter},
      {C::reduce_scatter, "linear", true, false, false, "2(p-1) half-filled rounds, (p-1)/p n sent, (p-1)/p n combined",
       linear_reduce_scatter},
      {C::reduce_scatter, "hierarchical_ring", false, false, false,
       "2(D-1) half-filled + H-1 rounds, (D-1)/D n inside, (H-1)/H n/D between", hierarchical_ring_reduce_scatter,
       true},
      {C::reduce_scatter, "line", true, false, false, "2p-2 rounds, n sent, n combined", line_reduce_scatter, false,
       false, true},

      {C::allgather, "ring", true, false, false, "p-1 rounds, (p-1)/p n sent", ring_allgather},
      {C::allgather, "dissemination", true, false, false, "L rounds, (p-1)/p n sent", dissemination_allgather},
      {C::allgather, "recursive_doubling", true, false, false, "log2 q (+2) rounds, (p-1)/p n (+n) sent",
       recursive_doubling_allgather},
      {C::allgather, "pairwise", true, false, false, "p-1 rounds, (p-1)/p n sent", pairwise_allgather},
      {C::allgather, "hierarchical_ring", true, false, false, "H-1 + D-1 rounds, (H-1)/H n/D between, (D-1)/D n inside",
       hierarchical_ring_allgather, true},
      {C::allgather, "leader", true, false, false, "2 l + h rounds, (H-1)/H n between, n l inside", leader_allgather,
       true},

      {C::broadcast, "binomial", true, false, false, "L rounds, n L sent", binomial_broadcast},
      {C::broadcast, "scatter_allgather", true, false, false, "L + p-1 rounds, 2(p-1)/p n sent",
       scatter_allgather_broadcast},
      {C::broadcast, "chain", true, true, false, "p-2+B rounds of n/B, n sent", chain_broadcast},
      {C::broadcast, "two_tree", true, true, false, "at most B+1+2t rounds of n/B, n sent", two_tree_broadcast},
      {C::broadcast, "knomial", true, false, true, "K rounds, n K sent", knomial_broadcast},
      {C::broadcast, "linear", true, false, false, "p-1 rounds, (p-1) n sent", linear_broadcast},
      {C::broadcast, "hierarchical_scatter_allgather", true, false, false,
       "2(D-1) + h + H-1 rounds, 2(D-1)/D n inside, 2(H-1)/H n/D between", hierarchical_broadcast, true},
      {C::broadcast, "leader", true, false, false, "h + l rounds, n h between, n l inside", leader_broadcast, true},

      {C::gather, "binomial", true, false, false, "L rounds, (p-1)/p n into the root", binomial_gather},
      {C::gather, "knomial", true, false, true, "K rounds, (p-1)/p n into the root", knomial_gather},
      {C::gather, "linear", true, false, false, "p-1 rounds, (p-1)/p n into the root", linear_gather},
      {C::gather, "leader", true, false, false, "l + h rounds, (p-1)/p n into the root", leader_gather, true},

      {C::scatter, "binomial", true, false, false, "L rounds, (p-1)/p n sent", binomial_scatter},
      {C::scatter, "knomial", true, false, true, "K rounds, (p-1)/p n sent", knomial_scatter},
      {C::scatter, "linear", true, false, false, "p-1 rounds, (p-1)/p n sent", linear_scatter},
      {C::scatter, "leader", true, false, false, "h + l rounds, (p-1)/p n sent", leader_scatter, true},

      {C::alltoall, "pairwise", true, false, false, "p-1 rounds, (p-1)/p n sent", pairwise_alltoall},
      {C::alltoall, "linear", true, false, false, "1 round of p-1 messages, (p-1)/p n sent", linear_alltoall},
      {C::alltoall, "bruck", true, false, false, "L rounds with one peer each, about n L/2 sent", bruck_alltoall},

      {C::barrier, "dissemination", true, false, false, "L rounds, nothing sent", dissemination_barrier},
      {C::barrier, "recursive_doubling", true, false, false, "log2 q (+2) rounds, nothing sent",
       recursive_doubling_barrier},
      {C::barrier, "binomial", true, false, false, "2 L rounds, nothing sent", binomial_barrier},
      {C::barrier, "knomial", true, false, true, "2 K rounds, nothing sent", knomial_barrier},
      {C::barrier, "linear", true, false, false, "2 rounds, p-1 messages at rank 0", linear_barrier},
      {C::barrier, "leader", true, false, false, "2 l + h rounds, nothing sent", leader_barrier, true},
  };
  return all;
}

std::int32_t most_ranks(Collective collective) {
  return collective == Collective::alltoall ? 46340 : std::numeric_limits<std::int32_t>::max();
}

Status check_ranks(Collective collective, std::int32_t ranks) {
  if (ranks <= most_ranks(collective)) return Status::ok;
  return fail(Status::unsupported, "schedules of {} serve up to {} ranks, not {}", name(collective),
              most_ranks(collective), ranks);
}

bool passes_blocks_on(Collective collective, std::string_view name) {
  return collective == Collective::alltoall && name == "bruck";
}

bool keeps_order(const Algorithm& algorithm, const Groups* groups) {
  return algorithm.keeps_order || (algorithm.order_of_consecutive && (groups == nullptr || groups->ordered));
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

const Algorithm& default_algorithm(Collective collective, bool keeps_order, bool rank_by_rank) {
  for (const Algorithm& a : algorithms()) {
    if (a.collective == collective && (a.keeps_order || !keeps_order) && (a.rank_by_rank || !rank_by_rank)) return a;
  }
  return algorithms()
      .front();  // no collective is without an algorithm that keeps order, nor a reduction without one rank by rank
}

}  // namespace stretto::schedule
