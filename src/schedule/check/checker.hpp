// Proves the schedules of a collective right, by running all ranks' schedules together symbolically.
#pragma once

#include <span>

#include "base/status.hpp"
#include "schedule/schedule.hpp"

namespace stretto::schedule {

// `all` holds the schedules of ranks 0, 1, ..., p-1. ok means, for vectors of any length, every speed of ranks and network,
// and every execution that schedule.hpp allows:
//   result     every block that a caller expects ends in out with each contribution that it should have exactly once, combined in
//              rank order when keeps_order; a barrier lets no rank finish before all have started;
//   bits       all ranks that expect a block bracket its sum alike, up to the order of the two operands of one combination,
//              unless ranks_differ;
//   messages   each send meets a receive of the same blocks and level, and the other way round;
//   lanes      messages are in one lane at both ends, and no step waits for one of a later lane;
//   progress   no deadlock, even where a send ends only with its receive and steps are issued in list order;
//   buffers    in is never written, nothing is read before it is written, nothing lies outside the vector, out is touched only
//              where the caller expects a result, sends and receives of one level never conflict, and in and out may be one
//              memory (but for alltoall and reduce_scatter, where a block's place in the two differs).
// Otherwise Status::internal, with a message that names rank, step and block.
Status check(std::span<const Schedule> all);

}  // namespace stretto::schedule
