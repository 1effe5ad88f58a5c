#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/engine.hpp"

namespace stretto::engine {

// The caller's buffers; counts and displacements in elements:
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
// Empty `counts`: `count` elements per rank; empty `displacements`: consecutive blocks. In place: in == out, or in ==
// null where the table has an `in`. The input then lies as for MPI_IN_PLACE: allgather and gather: at the block's place
// in out; alltoall: by counts and displacements; scatter: the root's block stays in `in` (out == null).
struct Arguments {
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  std::span<const std::size_t> counts{};
  std::span<const std::size_t> displacements{};
  std::span<const std::size_t> send_counts{};  // alltoall, with received lengths in `counts`; both or none
  std::span<const std::size_t> send_displacements{};

  // Blocks of allreduce, reduce and broadcast are cut at multiples of this. With whole groups of the codec, 1024
  // values, the bits of compressed sums do not depend on the number of blocks.
  std::size_t grain = 1024;

  std::span<const Part> parts{};  // of an allreduce: groups begin with each part
};

// Start of block b of `blocks` nearly even ones (b == blocks: count): a multiple of `grain` after the start of its
// part.
std::size_t first_of(std::size_t count, int blocks, int b, std::size_t grain,
                     std::span<const Part> parts = {}) noexcept;

// invalid_argument: a needed buffer is null, or counts do not fit.
Status bind(const schedule::Schedule& schedule, payload::Type type, const Arguments& arguments,
            std::vector<Block>* blocks) noexcept;

}  // namespace stretto::engine
