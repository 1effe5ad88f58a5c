#include "schedule/registry.hpp"

#include <limits>

#include "schedule/algorithms/builders.hpp"
#include "schedule/names.hpp"

namespace stretto::schedule {

const std::vector<Algorithm>& algorithms() {
  using C = Collective;
  static const std::vector<Algorithm> kAll = {
      {{.symmetry = Symmetry::shift},
       C::allreduce,
       "ring",
       "2(p-1) rounds, 2(p-1)/p n sent, (p-1)/p n combined",
       ring_allreduce},
      {{.keeps_order = true, .symmetry = Symmetry::exclusive_or},
       C::allreduce,
       "rabenseifner",
       "2 log2 q (+2) rounds, 2(q-1)/q n (+n) sent, (q-1)/q n (+n) combined",
       rabenseifner_allreduce},
      {{.keeps_order = true, .symmetry = Symmetry::exclusive_or},
       C::allreduce,
       "recursive_doubling",
       "log2 q (+2) rounds, log2 q n (+n) sent, log2 q n (+n) combined",
       recursive_doubling_allreduce},
      {{.uses_torus = true},
       C::allreduce,
       "swing_bandwidth",
       "2 log2 q (+2) rounds, 2(q-1)/q n (+n) sent, (q-1)/q n (+n) combined",
       swing_bandwidth_allreduce},
      {{.uses_torus = true},
       C::allreduce,
       "swing_latency",
       "log2 q (+2) rounds, log2 q n (+n) sent, log2 q n (+n) combined",
       swing_latency_allreduce},
      {{.keeps_order = true, .uses_split = true},
       C::allreduce,
       "binomial",
       "2L rounds, L n sent, L n combined",
       binomial_allreduce},
      {{.keeps_order = true, .uses_radix = true, .uses_split = true},
       C::allreduce,
       "knomial",
       "at most 2K rounds, at most K n sent, at most K n combined",
       knomial_allreduce},
      {{.keeps_order = true, .uses_blocks = true, .rank_by_rank = true},
       C::allreduce,
       "chain",
       "2p-3+B rounds, at most 2n sent, n combined",
       chain_allreduce},
      {{.keeps_order = true, .uses_blocks = true},
       C::allreduce,
       "two_tree",
       "at most B-1+4t rounds, at most 2n sent, at most n combined",
       two_tree_allreduce},
      {{.uses_groups = true, .symmetry = Symmetry::shift},
       C::allreduce,
       "hierarchical_ring",
       "3(D-1) + 2(H-1) rounds, 2(D-1)/D n inside, 2(H-1)/H n/D between, (p-1)/p n combined",
       hierarchical_ring_allreduce},
      {{.uses_groups = true, .order_of_consecutive = true, .symmetry = Symmetry::exclusive_or},
       C::allreduce,
       "hierarchical_rabenseifner",
       "3(D-1) + 2 log2 Q (+2) rounds, 2(D-1)/D n inside, 2(Q-1)/Q n/D (+n/D) between, (D-1)/D n + (Q-1)/Q n/D (+n/D) "
       "combined",
       hierarchical_rabenseifner_allreduce},
      {{.uses_groups = true, .order_of_consecutive = true, .symmetry = Symmetry::exclusive_or},
       C::allreduce,
       "hierarchical_recursive_doubling",
       "3(D-1) + log2 Q (+2) rounds, 2(D-1)/D n inside, log2 Q n/D (+n/D) between, (D-1)/D n + log2 Q n/D (+n/D) "
       "combined",
       hierarchical_recursive_doubling_allreduce},
      {{.uses_split = true, .uses_groups = true, .order_of_consecutive = true, .symmetry = Symmetry::exclusive_or},
       C::allreduce,
       "leader",
       "2l + log2 Q (+2) rounds, l n inside, log2 Q n (+n) between, l n + log2 Q n (+n) combined",
       leader_allreduce},

      {{.keeps_order = true},
       C::reduce,
       "rabenseifner",
       "2 log2 q (+1) rounds, (q-1)/q n + n/2 sent, (q-1)/q n (+n) combined",
       rabenseifner_reduce},
      {{.keeps_order = true, .uses_split = true},
       C::reduce,
       "binomial",
       "L rounds, n sent, L n combined",
       binomial_reduce},
      {{.keeps_order = true, .uses_radix = true, .uses_split = true},
       C::reduce,
       "knomial",
       "at most K rounds, n sent, at most K n combined",
       knomial_reduce},
      {{.keeps_order = true, .uses_blocks = true},
       C::reduce,
       "chain",
       "at most p-1+B rounds, n sent, at most 2n combined",
       chain_reduce},
      {{.uses_blocks = true},
       C::reduce,
       "two_tree",
       "at most B+1+2t rounds, n sent, at most n combined",
       two_tree_reduce},
      {{.keeps_order = true}, C::reduce, "linear", "p-1 rounds, n sent, (p-1) n combined", linear_reduce},
      {{.uses_groups = true, .order_of_consecutive = true},
       C::reduce,
       "hierarchical_rabenseifner",
       "at most 3(D-1) + 2 log2 Q (+1) rounds, at most 2(D-1)/D n inside, at most 2(Q-1)/Q n/D (+n/D) between, (D-1)/D "
       "n + (Q-1)/Q n/D (+n/D) combined",
       hierarchical_rabenseifner_reduce},
      {{.uses_split = true, .uses_groups = true, .order_of_consecutive = true},
       C::reduce,
       "leader",
       "l + h rounds, n sent, (l + h) n combined",
       leader_reduce},
      {{.keeps_order = true, .uses_blocks = true, .rank_by_rank = true},
       C::reduce,
       "line",
       "at most p-1+B rounds, n sent, n combined",
       line_reduce},

      {{.symmetry = Symmetry::shift},
       C::reduce_scatter,
       "ring",
       "p-1 rounds, (p-1)/p n sent, (p-1)/p n combined",
       ring_reduce_scatter},
      {{.keeps_order = true},
       C::reduce_scatter,
       "recursive_halving",
       "at most log2 q + 1 (+1) rounds, at most (q-1)/q n + 2n/p (+n) sent, at most (q-1)/q n (+2n) combined",
       recursive_halving_reduce_scatter},
      {{.symmetry = Symmetry::shift_unshared},
       C::reduce_scatter,
       "pairwise",
       "p-1 rounds, (p-1)/p n sent, (p-1)/p n combined",
       pairwise_reduce_scatter},
      {{.keeps_order = true},
       C::reduce_scatter,
       "linear",
       "2(p-1) rounds, (p-1)/p n sent, (p-1)/p n combined",
       linear_reduce_scatter},
      {{.uses_groups = true},
       C::reduce_scatter,
       "hierarchical_ring",
       "2(D-1) + H-1 rounds, (D-1)/D n inside, (H-1)/H n/D between, (p-1)/p n combined",
       hierarchical_ring_reduce_scatter},
      {{.keeps_order = true, .rank_by_rank = true},
       C::reduce_scatter,
       "line",
       "2p-2 rounds, n sent, n combined",
       line_reduce_scatter},

      {{.keeps_order = true, .symmetry = Symmetry::shift},
       C::allgather,
       "ring",
       "p-1 rounds, (p-1)/p n sent",
       ring_allgather},
      {{.keeps_order = true}, C::allgather, "dissemination", "L rounds, (p-1)/p n sent", dissemination_allgather},
      {{.keeps_order = true, .symmetry = Symmetry::exclusive_or},
       C::allgather,
       "recursive_doubling",
       "log2 q (+2) rounds, at most (p-1)/p n (+2n) sent",
       recursive_doubling_allgather},
      {{.keeps_order = true, .symmetry = Symmetry::shift_unshared},
       C::allgather,
       "pairwise",
       "p-1 rounds, (p-1)/p n sent",
       pairwise_allgather},
      {{.keeps_order = true, .uses_groups = true},
       C::allgather,
       "hierarchical_ring",
       "H-1 + D-1 rounds, (D-1)/D n inside, (H-1)/H n/D between",
       hierarchical_ring_allgather},
      {{.keeps_order = true, .uses_groups = true},
       C::allgather,
       "leader",
       "2l + h rounds, l n inside, (H-1)/H n between",
       leader_allgather},

      {{.keeps_order = true, .uses_split = true}, C::bcast, "binomial", "L rounds, L n sent", binomial_broadcast},
      {{.keeps_order = true},
       C::bcast,
       "scatter_allgather",
       "L + p-1 rounds, at most 2(p-1)/p n sent",
       scatter_allgather_broadcast},
      {{.keeps_order = true, .uses_blocks = true}, C::bcast, "chain", "p-2+B rounds, n sent", chain_broadcast},
      {{.keeps_order = true, .uses_blocks = true},
       C::bcast,
       "two_tree",
       "at most B+1+2t rounds, n sent",
       two_tree_broadcast},
      {{.keeps_order = true, .uses_radix = true, .uses_split = true},
       C::bcast,
       "knomial",
       "at most K rounds, at most K n sent",
       knomial_broadcast},
      {{.keeps_order = true}, C::bcast, "linear", "p-1 rounds, (p-1) n sent", linear_broadcast},
      {{.keeps_order = true, .uses_groups = true},
       C::bcast,
       "hierarchical_scatter_allgather",
       "at most 2(D-1) + h + H-1 rounds, at most 2(D-1)/D n inside, at most 2(H-1)/H n/D between",
       hierarchical_broadcast},
      {{.keeps_order = true, .uses_split = true, .uses_groups = true},
       C::bcast,
       "leader",
       "h + l rounds, l n inside, h n between",
       leader_broadcast},

      {{.keeps_order = true, .uses_split = true},
       C::gather,
       "binomial",
       "L rounds, (p-1)/p n received",
       binomial_gather},
      {{.keeps_order = true, .uses_radix = true, .uses_split = true},
       C::gather,
       "knomial",
       "at most K rounds, (p-1)/p n received",
       knomial_gather},
      {{.keeps_order = true}, C::gather, "linear", "p-1 rounds, (p-1)/p n received", linear_gather},
      {{.keeps_order = true, .uses_split = true, .uses_groups = true},
       C::gather,
       "leader",
       "l + h rounds, (p-1)/p n received",
       leader_gather},

      {{.keeps_order = true, .uses_split = true}, C::scatter, "binomial", "L rounds, (p-1)/p n sent", binomial_scatter},
      {{.keeps_order = true, .uses_radix = true, .uses_split = true},
       C::scatter,
       "knomial",
       "at most K rounds, (p-1)/p n sent",
       knomial_scatter},
      {{.keeps_order = true}, C::scatter, "linear", "p-1 rounds, (p-1)/p n sent", linear_scatter},
      {{.keeps_order = true, .uses_split = true, .uses_groups = true},
       C::scatter,
       "leader",
       "h + l rounds, (p-1)/p n sent",
       leader_scatter},

      {{.keeps_order = true, .symmetry = Symmetry::shift_unshared},
       C::alltoall,
       "pairwise",
       "p-1 rounds, (p-1)/p n sent",
       pairwise_alltoall},
      {{.keeps_order = true}, C::alltoall, "linear", "1 rounds, (p-1)/p n sent", linear_alltoall},
      {{.keeps_order = true, .passes_blocks_on = true},
       C::alltoall,
       "bruck",
       "L rounds, at most (p+1)/(2p) L n sent",
       bruck_alltoall},

      {{.keeps_order = true, .symmetry = Symmetry::shift},
       C::barrier,
       "dissemination",
       "L rounds",
       dissemination_barrier},
      {{.keeps_order = true, .symmetry = Symmetry::exclusive_or},
       C::barrier,
       "recursive_doubling",
       "log2 q (+2) rounds",
       recursive_doubling_barrier},
      {{.keeps_order = true}, C::barrier, "binomial", "2L rounds", binomial_barrier},
      {{.keeps_order = true, .uses_radix = true}, C::barrier, "knomial", "at most 2K rounds", knomial_barrier},
      {{.keeps_order = true}, C::barrier, "linear", "2 rounds", linear_barrier},
      {{.keeps_order = true, .uses_groups = true}, C::barrier, "leader", "2l + h rounds", leader_barrier},

      {{.keeps_order = true, .uses_blocks = true, .rank_by_rank = true},
       C::scan,
       "chain",
       "p-2+B rounds, n sent, n combined",
       chain_scan},
      {{.keeps_order = true},
       C::scan,
       "recursive_doubling",
       "L rounds, L n sent, L n combined",
       recursive_doubling_scan},

      {{.keeps_order = true, .uses_blocks = true, .rank_by_rank = true},
       C::exscan,
       "chain",
       "p-2+B rounds, n sent, at most n combined",
       chain_exscan},
      {{.keeps_order = true},
       C::exscan,
       "recursive_doubling",
       "at most L+1 rounds, at most (L+1) n sent, at most L n combined",
       recursive_doubling_exscan},
  };
  return kAll;
}

std::int32_t most_ranks(Collective collective) {
  return collective == Collective::alltoall ? 46340 : std::numeric_limits<std::int32_t>::max();
}

Status check_ranks(Collective collective, std::int32_t ranks) {
  if (ranks <= most_ranks(collective)) return Status::ok;
  return fail(Status::unsupported, "schedules of {} serve up to {} ranks, not {}", name(collective),
              most_ranks(collective), ranks);
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

const Algorithm& farthest_first_halving() {
  static const Algorithm made{{}, Collective::reduce_scatter, "farthest_first", "", farthest_first_reduce_scatter};
  return made;
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
  // Unreachable: some algorithm of every collective keeps order, of every reduction rank by rank.
  return algorithms().front();
}

}  // namespace stretto::schedule
