// Leaders represent their groups, the root its own. A collective runs inside groups on binomial trees, and between
// leaders on the flat algorithm of fewest rounds. Nested groups have leaders on each floor.
#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/fold.hpp"
#include "schedule/part.hpp"

namespace stretto::schedule {
namespace {

struct LeaderPosition {
  LeaderPosition(const Request& q, int root)
      : floors(q, root),
        group(floors.group_of(q.rank)),
        index(floors.index(q.rank)),
        size(floors.size(group)),
        leader(floors.index(floors.leader(group))),
        rounds_inside(floors.tree_rounds()) {}

  bool leads() const { return index == leader; }
  int rounds() const { return rounds_inside + log2_ceil(floors.groups()); }
  template <class Build>
  Schedule inside(const Build& flat, const Build& grouped) const {
    const Groups* groups = floors.inside(group);
    return (groups != nullptr ? grouped : flat)({.ranks = size, .rank = index, .root = leader, .groups = groups});
  }
  Request between(int root_group = 0) const { return {.ranks = floors.groups(), .rank = group, .root = root_group}; }

  Floors floors;
  int group, index, size;
  int leader;
  int rounds_inside;
};

}  // namespace

Schedule leader_allreduce(const Request& q) {
  const LeaderPosition own(q, -1);
  const Fold fold(own.floors.groups());
  const int between = fold.rounds() + (fold.folds() ? 2 : 0);
  Program program(q, Collective::allreduce, "leader", 1, own.floors.ordered());
  program.split(q.split, 2 * own.rounds_inside + between, own.rounds_inside, own.rounds_inside);
  program.copy(Buffer::out, Buffer::in, 0, 1);
  Part inside{.rank = members(own.floors, own.group), .blocks = all_of(1), .tmp = Buffer::out};
  append(program, own.inside(binomial_reduce, leader_reduce), inside);
  if (own.leads()) {
    append(program, recursive_doubling_allreduce(own.between()),
           {.rank = leaders(own.floors), .blocks = all_of(1), .level = own.rounds_inside});
  }
  inside.level = own.rounds_inside + between;
  append(program, own.inside(binomial_broadcast, leader_broadcast), inside);
  return std::move(program).finish();
}

Schedule leader_reduce(const Request& q) {
  const LeaderPosition own(q, q.root);
  const Buffer sum = q.rank == q.root ? Buffer::out : Buffer::tmp;
  const bool alone = own.size == 1;
  Program program(q, Collective::reduce, "leader", 1, own.floors.ordered());
  program.split(q.split, own.rounds(), own.rounds(), 0);
  if (!alone) {
    append(program, own.inside(binomial_reduce, leader_reduce),
           {.rank = members(own.floors, own.group), .blocks = all_of(1), .in = Buffer::in, .out = sum});
  }
  if (own.leads()) {
    append(
        program, binomial_reduce(own.between(own.floors.group_of(q.root))),
        {.rank = leaders(own.floors), .blocks = all_of(1), .level = own.rounds_inside, .in = alone ? Buffer::in : sum});
  }
  return std::move(program).finish();
}

Schedule leader_broadcast(const Request& q) {
  const LeaderPosition own(q, q.root);
  const Buffer held = q.rank == q.root ? Buffer::in : Buffer::out;
  Program program(q, Collective::bcast, "leader", 1, true);
  program.split(q.split, own.rounds(), 0, own.rounds());
  if (q.rank == q.root) program.copy(Buffer::out, Buffer::in, 0, 1);
  if (own.leads()) {
    append(program, binomial_broadcast(own.between(own.floors.group_of(q.root))),
           {.rank = leaders(own.floors), .blocks = all_of(1), .in = held, .out = held});
  }
  append(program, own.inside(binomial_broadcast, leader_broadcast),
         {.rank = members(own.floors, own.group),
          .blocks = all_of(1),
          .level = log2_ceil(own.floors.groups()),
          .in = held,
          .out = held});
  return std::move(program).finish();
}

Schedule leader_allgather(const Request& q) {
  const LeaderPosition own(q, -1);
  Program program(q, Collective::allgather, "leader", q.ranks, true);
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  Part inside{
      .rank = members(own.floors, own.group), .blocks = blocks_of_members(own.floors, own.group), .tmp = Buffer::out};
  append(program, own.inside(binomial_gather, leader_gather), inside);
  if (own.leads()) {
    append(program, dissemination_allgather(own.between()),
           {.rank = leaders(own.floors), .blocks = blocks_of_groups(own.floors), .level = own.rounds_inside});
  }
  inside.blocks = all_of(q.ranks);
  inside.level = own.rounds_inside + log2_ceil(own.floors.groups());
  append(program, own.inside(binomial_broadcast, leader_broadcast), inside);
  return std::move(program).finish();
}

Schedule leader_gather(const Request& q) {
  const LeaderPosition own(q, q.root);
  const Buffer gathered = q.rank == q.root ? Buffer::out : Buffer::tmp;
  const bool alone = own.size == 1 && q.rank != q.root;
  Program program(q, Collective::gather, "leader", q.ranks, true);
  program.split(q.split, own.rounds(), own.rounds(), 0);
  if (!alone) {
    append(program, own.inside(binomial_gather, leader_gather),
           {.rank = members(own.floors, own.group),
            .blocks = blocks_of_members(own.floors, own.group),
            .in = Buffer::in,
            .out = gathered});
  }
  if (own.leads()) {
    append(program, binomial_gather(own.between(own.floors.group_of(q.root))),
           {.rank = leaders(own.floors),
            .blocks = blocks_of_groups(own.floors),
            .level = own.rounds_inside,
            .in = alone ? Buffer::in : gathered});
  }
  return std::move(program).finish();
}

Schedule leader_scatter(const Request& q) {
  const LeaderPosition own(q, q.root);
  const bool root = q.rank == q.root;
  const bool alone = own.size == 1 && !root;
  Program program(q, Collective::scatter, "leader", q.ranks, true);
  program.split(q.split, own.rounds(), 0, own.rounds());
  if (own.leads()) {
    append(program, binomial_scatter(own.between(own.floors.group_of(q.root))),
           {.rank = leaders(own.floors),
            .blocks = blocks_of_groups(own.floors),
            .in = Buffer::in,
            .out = root ? Buffer::in : (alone ? Buffer::out : Buffer::tmp)});
  }
  if (!alone) {
    append(program, own.inside(binomial_scatter, leader_scatter),
           {.rank = members(own.floors, own.group),
            .blocks = blocks_of_members(own.floors, own.group),
            .level = log2_ceil(own.floors.groups()),
            .in = root ? Buffer::in : Buffer::tmp});
  }
  return std::move(program).finish();
}

Schedule leader_barrier(const Request& q) {
  const LeaderPosition own(q, -1);
  Program program(q, Collective::barrier, "leader", 0, true);
  Part inside{.rank = members(own.floors, own.group)};
  append_signals(program, own.inside(binomial_reduce, leader_reduce), inside);
  if (own.leads()) {
    append_signals(program, dissemination_barrier(own.between()),
                   {.rank = leaders(own.floors), .level = own.rounds_inside});
  }
  inside.level = own.rounds_inside + log2_ceil(own.floors.groups());
  append_signals(program, own.inside(binomial_broadcast, leader_broadcast), inside);
  return std::move(program).finish();
}

}  // namespace stretto::schedule
