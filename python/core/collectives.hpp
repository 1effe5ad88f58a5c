// One collective call, with the buffers that it borrows.
#pragma once

#include <cstddef>
#include <vector>

#include "stretto/stretto.h"
#include "stretto/stretto_nonblocking.h"
#include "view.hpp"

namespace stretto::python {

enum class Collective {
  allreduce,
  allreduce_multi,
  reduce,
  reduce_scatter_block,
  reduce_scatter,
  allgather,
  allgatherv,
  bcast,
  scatter,
  scatterv,
  gather,
  gatherv,
  alltoall,
  alltoallv,
  barrier
};

// Elements of each rank, and where they lie; without displacements end to end.
struct Blocks {
  std::vector<std::size_t> counts, displacements;

  const std::size_t* sizes() const noexcept { return counts.empty() ? nullptr : counts.data(); }
  const std::size_t* places() const noexcept { return displacements.empty() ? nullptr : displacements.data(); }
  std::size_t extent() const noexcept;
};

struct Call {
  Collective collective;
  stretto_type type;
  stretto_op op;
  int root;
  std::size_t count;  // as the C function takes it
  bool send_in_place, recv_in_place;
  View send, recv;
  std::vector<View> contributions;     // of allreduce_multi
  std::vector<const void*> addresses;  // of these
  Blocks sent, received;

  // Throws where a buffer is shorter than what the C function would read or write, where what is read and what is written overlap, or where blocks
  // are not one for each rank.
  void check_buffers(int rank, int size) const;

  // The C function, blocking where `request` is NULL.
  stretto_status run(stretto_comm comm, const stretto_options* options, stretto_request* request) const noexcept;
};

}  // namespace stretto::python
