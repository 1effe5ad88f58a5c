// From the arguments of a collective to the blocks of its schedule.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/engine.hpp"

namespace stretto::engine {

// Buffers and counts as the caller of a collective gives them; counts and displacements in elements.
//
//                   in                            out
//   allreduce       count                         count
//   reduce          count                         count at the root (else null)
//   broadcast       count at the root (else null) count; the root may give one address for both
//   reduce_scatter  sum of counts                 counts[rank]
//   allgather       counts[rank]                  counts[i] at displacements[i]
//   gather          counts[rank]                  at the root: counts[i] at displacements[i]
//   scatter         root: counts[i] at displ.[i]  counts[rank]
//   alltoall        send_counts[i] at             counts[i] at displacements[i]
//                   send_displacements[i]
//   barrier         -                             -
//
// An empty `counts` stands for `count` elements a rank, an empty `displacements` for blocks one after another.
// In place: in == out, or in == null where the table names an `in`. Then the input lies where MPI_IN_PLACE wants it: for
// allgather and gather at the block's place in out; for alltoall as counts and displacements say; for scatter the root keeps its block in `in` (out == null).
struct Arguments {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  std::span<const std::size_t> counts{};
  std::span<const std::size_t> displacements{};
  std::span<const std::size_t>
      send_counts{};  // alltoall only, where `counts` has the lengths of received blocks; give both or none
  std::span<const std::size_t> send_displacements{};

  // Cuts between blocks that are ours to choose (allreduce, reduce, broadcast) fall on multiples of this. The codec's groups
  // have 1024 values and decide as a whole whether to store values as they are; groups that stay whole make results of
  // compressed sums independent of the number of blocks, to the last bit.
  std::size_t grain = 1024;
};

// First element of block b when `count` elements are cut into `blocks` nearly even blocks (b == blocks: count).
std::size_t first_of(std::size_t count, int blocks, int b, std::size_t grain) noexcept;

// Fills `blocks` for this schedule. invalid_argument when a needed buffer is null or the counts do not fit the schedule.
Status bind(const schedule::Schedule& schedule, payload::Type type, const Arguments& arguments,
            std::vector<Block>* blocks) noexcept;

}  // namespace stretto::engine
