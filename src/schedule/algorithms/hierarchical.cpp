// Hierarchical: each value crosses between groups once, in as many concurrent streams as a group has ranks. The vector
// is cut into D pieces (floors.hpp), D the size of the largest group. An allreduce is a reduce-scatter inside groups, D
// independent allreduces between the owners of a piece, and an allgather inside (hierarchical mixed, or ArGM).
#include <vector>

#include "schedule/algorithms/builders.hpp"
#include "schedule/algorithms/fold.hpp"
#include "schedule/algorithms/nested.hpp"

namespace stretto::schedule {
namespace {

int rounds_of_rabenseifner(const Fold& fold) { return 2 * fold.rounds() + (fold.folds() ? 2 : 0); }

// `flat`: one piece's schedule among groups, in `rounds` rounds.
Schedule allreduce(const Request& q, std::string_view name, const Schedule& flat, int rounds) {
  const GroupPosition own(q);
  const int width = flat.blocks;
  const int blocks = own.floors.largest() * width;
  Program program(q, Collective::allreduce, name, blocks, flat.keeps_order && own.floors.ordered());
  program.copy(Buffer::out, Buffer::in, 0, blocks);
  const Part inside{
      .rank = members(own.floors, own.group), .blocks = shares(own.floors, own.group, width), .tmp = Buffer::out};
  append(program, reduce_scatter_inside(own.inside()), inside);
  const std::size_t here = program.size();
  for (int piece = own.first; piece < own.end; ++piece) {
    append(program, flat,
           {.rank = owners(own.floors, piece), .blocks = evenly(piece * width, 1), .level = own.scatter_rounds()});
  }
  program.interleave(here);
  Part gathered = inside;
  gathered.level = own.scatter_rounds() + rounds;
  append(program, allgather_inside(own.inside()), gathered);
  return std::move(program).finish();
}

}  // namespace

Schedule hierarchical_ring_allreduce(const Request& q) {
  const GroupPosition own(q);
  return allreduce(q, "hierarchical_ring", ring_allreduce(own.between()), 2 * (own.floors.groups() - 1));
}

Schedule hierarchical_rabenseifner_allreduce(const Request& q) {
  const GroupPosition own(q);
  const Fold fold(own.floors.groups());
  return allreduce(q, "hierarchical_rabenseifner", rabenseifner_allreduce(own.between()), rounds_of_rabenseifner(fold));
}

Schedule hierarchical_recursive_doubling_allreduce(const Request& q) {
  const GroupPosition own(q);
  const Fold fold(own.floors.groups());
  return allreduce(q, "hierarchical_recursive_doubling", recursive_doubling_allreduce(own.between()),
                   fold.rounds() + (fold.folds() ? 2 : 0));
}

Schedule hierarchical_rabenseifner_reduce(const Request& q) {
  const GroupPosition own(q);
  const int root_group = own.floors.group_of(q.root);
  const Schedule flat = rabenseifner_reduce(own.between(root_group));
  const int width = flat.blocks;
  const int blocks = own.floors.largest() * width;
  const Buffer sum = q.rank == q.root ? Buffer::out : Buffer::tmp;
  Program program(q, Collective::reduce, "hierarchical_rabenseifner", blocks, own.floors.ordered());
  if (q.rank == q.root) program.copy(Buffer::out, Buffer::in, 0, blocks);
  Part inside{.rank = members(own.floors, own.group), .blocks = shares(own.floors, own.group, width)};
  inside.in = q.rank == q.root ? Buffer::out : Buffer::in;
  inside.out = inside.tmp = sum;
  append(program, reduce_scatter_inside(own.inside()), inside);
  const std::size_t here = program.size();
  for (int piece = own.first; piece < own.end; ++piece) {
    append(program, flat,
           {.rank = owners(own.floors, piece),
            .blocks = evenly(piece * width, 1),
            .level = own.scatter_rounds(),
            .in = sum,
            .out = sum,
            .tmp = sum});
  }
  program.interleave(here);
  if (own.group == root_group) {
    inside.in = sum;
    inside.level = own.scatter_rounds() + rounds_of_rabenseifner(Fold(own.floors.groups(), root_group));
    append(program, linear_gather(own.inside(own.floors.index(q.root))), inside);
  }
  return std::move(program).finish();
}

Schedule hierarchical_broadcast(const Request& q) {
  const GroupPosition own(q);
  const int groups = own.floors.groups();
  const int root_group = own.floors.group_of(q.root);
  const int root_index = own.floors.index(q.root);
  const Schedule flat = scatter_allgather_broadcast(own.between(root_group));
  const int width = flat.blocks;
  const int blocks = own.floors.largest() * width;
  const Buffer held = q.rank == q.root ? Buffer::in : Buffer::out;
  Program program(q, Collective::bcast, "hierarchical_scatter_allgather", blocks, true);
  if (q.rank == q.root) program.copy(Buffer::out, Buffer::in, 0, blocks);
  Part inside{.rank = members(own.floors, own.group), .blocks = shares(own.floors, own.group, width)};
  inside.in = inside.out = held;
  if (own.group == root_group) append(program, linear_scatter(own.inside(root_index)), inside);
  const std::size_t here = program.size();
  for (int piece = own.first; piece < own.end; ++piece) {
    append(program, flat,
           {.rank = owners(own.floors, piece),
            .blocks = evenly(piece * width, 1),
            .level = own.others(),
            .in = held,
            .out = held});
  }
  program.interleave(here);
  inside.level = own.others() + log2_ceil(groups) + groups - 1;
  if (own.group == root_group) inside.complete = root_index;
  append(program, allgather_inside(own.inside()), inside);
  return std::move(program).finish();
}

Schedule hierarchical_ring_reduce_scatter(const Request& q) {
  const GroupPosition own(q);
  return reduce_scatter(q, "hierarchical_ring", ring_reduce_scatter(own.between()));
}

Schedule hierarchical_ring_allgather(const Request& q) {
  const GroupPosition own(q);
  return allgather(q, "hierarchical_ring", ring_allgather(own.between()));
}

}  // namespace stretto::schedule
