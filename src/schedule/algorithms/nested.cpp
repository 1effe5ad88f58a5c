#include "schedule/algorithms/nested.hpp"

#include "schedule/algorithms/builders.hpp"

namespace stretto::schedule {
namespace {

void block_of(const Floors& floors, int group, int piece, const Add& add) {
  const int owner = floors.owner(group, piece);
  if (floors.first_piece(group, floors.index(owner)) == piece) add(owner, 1);
}

Blocks lane(const Floors& floors, int piece) {
  return [&floors, piece](int first, int count, const Add& add) {
    for (int g = first; g < first + count; ++g) block_of(floors, g, piece, add);
  };
}

// By member: all groups' blocks of the pieces that it owns.
Blocks lanes(const Floors& floors, int group) {
  return [&floors, group](int first, int count, const Add& add) {
    for (int g = 0; g < floors.groups(); ++g) {
      for (int piece = floors.first_piece(group, first); piece < floors.first_piece(group, first + count); ++piece) {
        block_of(floors, g, piece, add);
      }
    }
  };
}

}  // namespace

Schedule reduce_scatter(const Request& q, std::string_view name, const Schedule& flat) {
  const GroupPosition own(q);
  Program program(q, Collective::reduce_scatter, name, q.ranks, flat.keeps_order && own.floors.ordered());
  append(program, reduce_scatter_inside(own.inside()),
         {.rank = members(own.floors, own.group),
          .blocks = lanes(own.floors, own.group),
          .in = Buffer::in,
          .out = Buffer::tmp});
  const std::size_t here = program.size();
  for (int piece = own.first; piece < own.end; ++piece) {
    append(program, flat,
           {.rank = owners(own.floors, piece),
            .blocks = lane(own.floors, piece),
            .level = own.scatter_rounds(),
            .in = Buffer::tmp});
  }
  program.interleave(here);
  return std::move(program).finish();
}

Schedule allgather(const Request& q, std::string_view name, const Schedule& flat) {
  const GroupPosition own(q);
  Program program(q, Collective::allgather, name, q.ranks, true);
  program.copy(Buffer::out, Buffer::in, q.rank, 1);
  const std::size_t here = program.size();
  for (int piece = own.first; piece < own.end; ++piece) {
    append(program, flat, {.rank = owners(own.floors, piece), .blocks = lane(own.floors, piece)});
  }
  program.interleave(here);
  append(program, allgather_inside(own.inside()),
         {.rank = members(own.floors, own.group),
          .blocks = lanes(own.floors, own.group),
          .level = own.floors.groups() - 1});
  return std::move(program).finish();
}

Schedule reduce_scatter_inside(const Request& q) {
  if (q.groups == nullptr) return linear_reduce_scatter(q);
  return reduce_scatter(q, "hierarchical_linear", linear_reduce_scatter(GroupPosition(q).between()));
}

Schedule allgather_inside(const Request& q) {
  if (q.groups == nullptr) return pairwise_allgather(q);
  return allgather(q, "hierarchical_pairwise", pairwise_allgather(GroupPosition(q).between()));
}

}  // namespace stretto::schedule
