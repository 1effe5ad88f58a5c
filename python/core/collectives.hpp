// One collective call, with the buffers that it borrows.
#pragma once

#include <cstddef>
#include <vector>

#include "place.hpp"
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
  Place place{};

  // Throws where a buffer is shorter than what the C function would read or write, where what is read and what is written overlap, or where blocks
  // are not one for each rank.
  void check_buffers(int rank, int size) const;

  // The C function, blocking where `request` is NULL. Of device memory a blocking one runs in the order of the place's stream, and one that is
  // started waits for what is on that stream now.
  stretto_status run(stretto_comm comm, const stretto_options* options, stretto_request* request) const noexcept;

 private:
  stretto_status run_on_stream(stretto_comm comm, const stretto_options* options) const noexcept;
  stretto_status run_on_host(stretto_comm comm, const stretto_options* options,
                             stretto_request* request) const noexcept;
};

}  // namespace stretto::python
