// One collective call with its borrowed buffers.
#pragma once

#include <cstddef>
#include <vector>

#include "place.hpp"
#include "stretto/stretto_call.h"
#include "view.hpp"

namespace stretto::python {

using Collective = stretto_collective;

// Number and position of each rank's elements; consecutive without displacements.
struct Blocks {
  std::vector<std::size_t> counts, displacements;

  const std::size_t* sizes() const noexcept { return counts.empty() ? nullptr : counts.data(); }
  const std::size_t* places() const noexcept { return displacements.empty() ? nullptr : displacements.data(); }
};

struct Call {
  Collective collective = STRETTO_BARRIER;
  stretto_type type;
  stretto_op op;
  int root;
  std::size_t count;  // in the unit of the C function
  bool send_in_place, recv_in_place;
  View send, recv;
  std::vector<View> contributions;     // of allreduce_multi
  std::vector<const void*> addresses;  // of these
  Blocks sent, received;
  Place place{};

  // Throws if read and written memory overlap.
  void check_overlap() const;

  // Throws if a buffer is shorter than the C function's accesses, or if the number of blocks differs from the number of
  // ranks. Depends on lengths and counts, not on addresses.
  void check_lengths(stretto_comm comm) const;

  // The C function, blocking where `request` is NULL. Of device memory a blocking one runs in the order of the place's
  // stream, and one that is started waits for what is on that stream now.
  stretto_status run(stretto_comm comm, const stretto_options* options, stretto_request* request) const noexcept;

 private:
  stretto_call record() const noexcept;
};

}  // namespace stretto::python
